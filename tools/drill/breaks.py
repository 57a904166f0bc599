"""Deliberate breaks: each switches off one mechanism, to see that the drill or a test notices (docs/drill.md).

They exist only here. A broken process finds `tools/drill/entry` on its path, and patches the named module right after
its import; so the same switch works for the processes of a drill and for pytest (`python -m tools.drill.breaks NAME --
pytest ...`).
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from runner.checkout import ROOT
from runner.terminal import LaunchError
from tools.drill.entry import on_the_path

SWITCH = "FEEDSITE_DRILL_BREAK"


@dataclass(frozen=True, slots=True)
class Break:
    """One break: what it switches off, in which module, and how."""

    about: str
    module: str
    apply: Callable[[Any], None]


def _reword(module: Any, name: str, old: str, new: str) -> None:
    """Replace a part of a script. LookupError if it is missing: then the break no longer has an effect."""
    text = getattr(module, name)
    if old not in text:
        raise LookupError(f"{module.__name__}.{name} has no {old!r}")
    setattr(module, name, text.replace(old, new))


def _replaced(name: str, old: str, new: str) -> Callable[[Any], None]:
    """A break that replaces a part of a script."""
    return lambda module: _reword(module, name, old, new)


def _nothing(*names: str) -> Callable[[Any], None]:
    """A break that makes functions do nothing."""

    def apply(module: Any) -> None:
        for name in names:
            getattr(module, name)  # raises an error if the name no longer exists
            setattr(module, name, lambda *_args, **_options: None)

    return apply


def _id_cursor(module: Any) -> None:
    """Rows of work are found by "id above the last one seen" instead of by their state."""
    original = module.claim
    seen: dict[Any, int] = {}

    def claim(model: Any, *, limit: int, only: list[int] | None = None) -> list[Any]:
        rows = original(model, limit=limit, only=only)
        rows = [row for row in rows if row.pk > seen.get(model, 0)]
        seen[model] = max([seen.get(model, 0), *(row.pk for row in rows)])
        return rows

    module.claim = claim


def _no_sweep(module: Any) -> None:
    """The sweep of events finds nothing; the task itself is already registered with Celery."""
    module.SWEEP_LIMIT, module.SWEEP_SECONDS = 0, 0.0


def _no_lease(module: Any) -> None:
    """Claimed rows are immediately due for everybody else."""
    module.LEASE = module.timedelta(0)


def _half_built(module: Any) -> None:
    """A window goes live with its first entries, and is filled up afterwards."""
    original = module.HomeWindows.swap

    def swap(self: Any, reader_id: int, token: str, post_ids: Sequence[int], **_end: bool) -> bool:
        done: bool = original(self, reader_id, token, post_ids[:3], complete=True)
        time.sleep(0.3)
        self.push([reader_id], list(post_ids[3:]))
        return done

    module.HomeWindows.swap = swap


def _wrong_sentinel(module: Any) -> None:
    """Every rebuilt window claims that nothing older exists."""
    original = module.HomeWindows.swap

    def swap(self: Any, reader_id: int, token: str, post_ids: Sequence[int], **_end: bool) -> bool:
        done: bool = original(self, reader_id, token, post_ids[: self.length // 4], complete=True)
        return done

    module.HomeWindows.swap = swap


def _no_building_key(module: Any) -> None:
    """A rebuild is not registered: posts pushed while its snapshot is read are lost."""
    _reword(module, "BEGIN", "redis.call('RPUSH', KEYS[2], '~~')", "")
    _reword(module, "SWAP", " or redis.call('EXISTS', building) == 0", "")
    _reword(module, "SWAP", "local cut = ", "redis.call('DEL', building)\nlocal cut = nil and ")


def _exists_then_add(module: Any) -> None:
    """A push does not check whether there is a window, as if a previous command had done so."""
    _reword(
        module,
        "PUSH",
        "if not head or head.err then return 0 end",
        "if head and head.err then return 0 end\nhead = head or '~'",
    )


def _no_own_push(module: Any) -> None:
    """Neither the author's home cache nor the outbox has a post before a worker has run."""
    module.dispatch.own_timeline_writes = lambda _post: lambda _batch: lambda: None
    module.outbox.additions = lambda _new: []


def _no_relation_fence(module: Any) -> None:
    """Relations in Redis are accepted whatever their revision."""
    vars(module)["_fence"] = lambda *_revision: -1


def _no_outbox_fence(module: Any) -> None:
    """Vectors are accepted whatever their revision."""
    original = module.ReadThrough.get_many

    def get_many(self: Any, keys: Any, load: Any, **options: Any) -> Any:
        options.pop("accept", None)
        return original(self, keys, load, **options)

    module.ReadThrough.get_many = get_many


def _no_generation(module: Any) -> None:
    """A Memcached node that returns is accepted with its old memory."""
    module.NodeHealth.miss_write = lambda _self: None
    module.NodeHealth.required_generation = lambda _self, stamp: (stamp or 1, 0)


def _before_commit(module: Any) -> None:
    """Caches are written inside the transaction."""
    module.transaction = _AtOnce(module.transaction)


class _AtOnce:
    """Django's `transaction` with an `on_commit` that runs at once."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def on_commit(self, act: Callable[[], object], **_options: object) -> None:
        act()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


SCRIPTS, LEASES = "feedcache.structures.home_window", "apps.events.leases"
BREAKS: dict[str, Break] = {
    "no-tombstone": Break(
        "late deliveries of deleted posts are not stopped",
        SCRIPTS,
        _replaced("PUSH", "redis.call('EXISTS', KEYS[m]) == 0", "true"),
    ),
    "no-building-key": Break(
        "a rebuild does not register a building key", SCRIPTS, _no_building_key
    ),
    "half-built": Break(
        "a window is live before it is whole", "feedcache.structures.home_window", _half_built
    ),
    "wrong-sentinel": Break(
        "rebuilt windows are cut and claim that nothing older exists",
        "feedcache.structures.home_window",
        _wrong_sentinel,
    ),
    "exists-then-add": Break(
        "a push creates a window for a reader without one", SCRIPTS, _exists_then_add
    ),
    "away-for-good": Break(
        "readers who return stay marked as away",
        SCRIPTS,
        _replaced("BEGIN", "if redis.pcall('GETBIT'", "if false and redis.pcall('GETBIT'"),
    ),
    "no-hole-guard": Break(
        "ids below the end of a window are added",
        SCRIPTS,
        _replaced(
            "PUSH",
            "if last ~= '~' and last ~= '~~' and member > last then return 1 end",
            "",
        ),
    ),
    "id-cursor": Break("work is claimed by id instead of by state", LEASES, _id_cursor),
    "no-lease": Break("work is claimed without a lease", LEASES, _no_lease),
    "no-event-sweeper": Break(
        "events whose message was lost are never handled", "apps.events.tasks", _no_sweep
    ),
    "no-own-push": Break(
        "authors do not see their own posts until a worker has run",
        "apps.timeline.publishing",
        _no_own_push,
    ),
    "no-backfill": Break(
        "follows and unfollows do not change any window",
        "apps.timeline.fanout.backfill",
        _nothing("follow_changed"),
    ),
    "no-relation-fence": Break(
        "cached relations of any revision are accepted",
        "feedcache.structures.longset",
        _no_relation_fence,
    ),
    "no-outbox-fence": Break(
        "cached vectors of any revision are accepted",
        "feedcache.read_through.cache",
        _no_outbox_fence,
    ),
    "no-generation": Break(
        "a Memcached node that returns is accepted with its old memory",
        "feedcache.memcached_node",
        _no_generation,
    ),
    "before-commit": Break(
        "caches are written before the commit", "apps.posts.cache", _before_commit
    ),
}


APPLIED: list[str] = []  # the breaks of this process that have been applied


class _AfterImport(importlib.abc.MetaPathFinder):
    """Imports one module as usual, then breaks it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._broken = BREAKS[name]
        self._is_looking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._broken.module or self._is_looking:
            return None
        self._is_looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._is_looking = False
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self._broken.apply(module)
                APPLIED.append(self._name)

            loader.exec_module = exec_module
        return spec


def install(name: str) -> None:
    """Break this process, before it imports the module to break."""
    sys.meta_path.insert(0, _AfterImport(name))


def switched_on(environment: Mapping[str, str], name: str) -> dict[str, str]:
    """The environment of a broken process. LaunchError for an unknown break."""
    if name not in BREAKS:
        raise LaunchError(f"there is no break {name!r}; choose from {', '.join(BREAKS)}")
    return {**environment, SWITCH: name, **on_the_path(environment)}


def main(command_line: list[str]) -> int:
    """`python -m tools.drill.breaks NAME -- COMMAND ...`: run a Python module such as pytest with a break."""
    name, _, *command = command_line
    environment = switched_on({**os.environ, "PYTHONPATH": str(ROOT)}, name)
    return subprocess.run([sys.executable, "-m", *command], env=environment, check=False).returncode  # noqa: S603 -- a developer's own


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
