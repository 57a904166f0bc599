"""`./run dev`: follows changes of the code during development.

Templates and styles are read for each page (DEBUG). Web, streams, workers and beat are restarted when Python code or
translations change. Missing migrations are reported, with the command that adds them.
"""

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from runner.checkout import ROOT
from runner.datadir import DataDir
from runner.preparation import manage_command
from runner.signals import StopRequested
from runner.terminal import LaunchError, complain, say

FOLDERS = ("apps", "feedcache", "feedsite", "locale")
LOOK_MILLISECONDS = 200  # between two checks of the processes
TRACEBACK_LINES = 6


def follow(
    data: DataDir,
    environment: Mapping[str, str],
    check: Callable[[], None],
    start_again: Callable[[], None],
) -> None:
    """Restart after each change, and keep calling `check`. Ends with StopRequested or an exception from `check`."""
    for changed in _changes():
        check()
        if not changed:
            continue
        started = time.monotonic()
        try:
            start_again()
        except LaunchError:
            complain(f"The old code keeps running:\n{_last_traceback(data.log / 'preload.log')}")
            continue
        others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        first = changed[0].relative_to(ROOT)
        say(f"{first}{others} changed: restarted in {time.monotonic() - started:.1f} s")
        if advice := _what_the_database_lacks(changed, environment):
            say(advice)


def _changes() -> Iterator[list[Path]]:
    """Yield the files that have changed, sorted; [] after LOOK_MILLISECONDS without a change. Raises StopRequested."""
    from watchfiles import PythonFilter, watch  # noqa: PLC0415 -- installed only for development

    python = PythonFilter(extra_extensions=[".po"])
    try:
        for found in watch(
            *(ROOT / folder for folder in FOLDERS), watch_filter=python,
            rust_timeout=LOOK_MILLISECONDS, yield_on_timeout=True,
        ):  # fmt: skip
            yield sorted(Path(path) for _change, path in found)
    except KeyboardInterrupt:  # watchfiles raises this for every signal that arrives while it waits
        raise StopRequested from None


def _what_the_database_lacks(changed: list[Path], environment: Mapping[str, str]) -> str:
    """The command to run after a change of models or migrations, or an empty text."""
    parts = {part for path in changed for part in (*path.parts, path.stem)}
    if not parts & {"models", "migrations"}:
        return ""
    written = _manage(environment, "makemigrations", "--check", "--dry-run")
    if written.returncode:
        return f"{written.stdout.strip()}\nWrite it with: ./run manage makemigrations"
    if _manage(environment, "migrate", "--check").returncode:
        return "Apply the new migration with: ./run manage migrate"
    return ""


def _manage(environment: Mapping[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        manage_command(*arguments), cwd=ROOT, env=dict(environment), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip


def _last_traceback(log: Path) -> str:
    lines = log.read_text(errors="replace").rpartition("Traceback")[2].strip().splitlines()
    return "\n".join(lines[-TRACEBACK_LINES:])
