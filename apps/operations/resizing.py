"""Adds slots to Main and Backup, or removes slots, while the site runs. Staff begin a resize, and `advance` takes its
steps.

The next step begins when every process has reported the previous one and at least `STEP_SECONDS` have passed, after
which a process that hangs may no longer use Memcached.
docs/decisions/0171 shows why nothing outdated is read during a resize.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from apps.errors import Conflict, Invalid
from apps.operations import actions
from apps.operations.actions import Author, ImpossibleError, commit, reason_to_wait
from apps.operations.models import Action, TopologyVersion
from apps.operations.queries import latest, topology_in_force
from apps.sql import database_time
from feedcache import stats
from feedcache.connections import RedisError
from feedcache.servers import totals
from feedcache.servers.topology_listener import LEASE_SECONDS
from feedcache.slot_map import (
    BUCKETS,
    NOWHERE,
    SlotMap,
    even_map,
    moved,
    rebalanced,
    without_slots,
)
from feedcache.topology import Group, Node, Phase, Pool, Resize, Topology

# The least time between steps, so that no process is two steps behind.
STEP_SECONDS = LEASE_SECONDS + 2
FILLED = 0.02  # the new slots are filled when at most this share of the pool's hits comes from the old slots
MOVING_MOST_SECONDS = 600.0  # after this time in MOVING, keys left in the old slots become misses
NEXT = {Phase.JOINING: Phase.MOVING, Phase.MOVING: Phase.LEAVING}


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a resize. `buckets` is the share of the pool's keys that move.

    `old_answers` is the share of the pool's recent hits that came from the old slots; None if it is not known, and in
    all steps but MOVING, the only one that reads both old and new slots.
    `waits_for` is the reason why the next step is not due yet.
    """

    pool: Pool
    phase: Phase
    buckets: float
    old_answers: float | None
    seconds: float
    waits_for: str

    @property
    def step(self) -> int:
        return list(Phase).index(self.phase) + 1


def grow(pool: Pool, urls: Sequence[str], megabytes: int, *, by: Author) -> TopologyVersion:
    """Begin to add slots to Main or Backup. Raises Invalid or Conflict."""
    actions.require_answer(urls)
    return commit(
        Action.RESIZE,
        f"{pool} grows by {', '.join(urls)}, {megabytes} MB each",
        lambda now, version: growing(now, pool, urls, megabytes, version=version),
        by=by,
    )


def shrink(pool: Pool, slots: Collection[int], *, by: Author) -> TopologyVersion:
    """Begin to take slots out of Main or Backup. Raises Invalid, Conflict or NotFound."""
    numbers = ", ".join(str(slot) for slot in sorted(slots))
    return commit(
        Action.RESIZE,
        f"{pool} gives up slot {numbers}",
        lambda now, version: shrinking(now, pool, slots, version=version),
        by=by,
    )


def abort(pool: Pool, *, by: Author) -> TopologyVersion:
    """Go back to the old slots: immediately, or after one more step if the new slots are already being read.

    Raises Conflict if the pool is not being resized, or if the resize is in its last step.
    """
    resize = topology_in_force().resizes.get(pool)
    if resize is None:
        raise Conflict(_("This pool is not changing its slots."))
    if resize.phase is Phase.LEAVING:
        raise Conflict(_("The last step has begun: wait until it is done, and change the pool back."))  # fmt: skip
    return commit(
        Action.RESIZE,
        f"{pool} keeps its slots: given up",
        lambda now, version: aborted(now, pool, version=version),
        by=by,
    )


def usual_megabytes(topology: Topology, pool: Pool) -> int:
    """The default size of a new node: that of the pool's first node, or else half of Main's first node, or else 64."""
    if group := topology.group(pool):
        return group[0].megabytes
    return max(topology.main[0].megabytes // 2, 1) if topology.main else 64


def advance() -> TopologyVersion | None:
    """Take the next step of a resize if it is due. Called every few seconds; only one caller at a time takes it."""
    topology = topology_in_force()
    due = [one for one in _progress_in(topology) if not one.waits_for]
    if not due:
        return None
    pool, phase = due[0].pool, due[0].phase
    try:
        return commit(
            Action.RESIZE,
            _DETAILS[phase] % pool,
            lambda now, version: advanced(now, pool, version=version),
            by=Author("the site", seen=topology.version),
        )
    except Conflict:
        return None  # another caller was faster


_DETAILS = {
    Phase.JOINING: "%s: the new slots are read, then the old ones",
    Phase.MOVING: "%s: only the new slots are read",
    Phase.LEAVING: "%s has its new slots",
}


def progress() -> list[Progress]:
    """The resizes in progress."""
    return _progress_in(topology_in_force())


def _progress_in(topology: Topology) -> list[Progress]:
    return [_progress(pool, topology) for pool in topology.resizes]


def _progress(pool: Pool, topology: Topology) -> Progress:
    change, resize = latest(), topology.resizes[pool]
    assert change is not None  # only stored versions have resizes
    seconds = (database_time() - change.made_at).total_seconds()
    reason, old_answers = reason_to_wait(STEP_SECONDS), None
    if resize.phase is Phase.MOVING:
        old_answers, is_known = _old_answers(pool, change.made_at)
        is_filled = is_known and (old_answers or 0.0) <= FILLED
        if not reason and not is_filled and seconds < MOVING_MOST_SECONDS:
            reason = _("The new slots fill as keys are read.")
    buckets = moved(resize.old, resize.new) / BUCKETS
    return Progress(pool, resize.phase, buckets, old_answers, seconds, reason)


def _old_answers(pool: Pool, since: datetime) -> tuple[float | None, bool]:
    """The share of the pool's hits that came from the old slots (None without hits), and whether it is known yet."""
    try:
        counts = totals.since(since.timestamp() + 1)  # by then all processes read the new slots
    except RedisError:
        return None, False
    if counts is None:
        return None, False
    old = counts[f"tier:{pool} before", stats.HIT]
    found = counts[f"tier:{pool}", stats.HIT] + old
    return (old / found if found else None), True


# The functions below only compute the next topology, or raise ImpossibleError, Invalid or Conflict.


def growing(
    current: Topology, pool: Pool, urls: Sequence[str], megabytes: int, *, version: int
) -> Topology:
    _require_rest(current)
    group, old = current.group(pool), current.slot_map(pool)
    new = tuple(
        Node(f"{pool}-v{version}-{number}", url, megabytes, version)
        for number, url in enumerate(urls)
    )
    grown = (*group, *new)
    resize = Resize(Phase.JOINING, old, rebalanced(old, range(min(len(grown), NOWHERE))))
    return _with(current, pool, grown, resize, version=version)


def shrinking(current: Topology, pool: Pool, slots: Collection[int], *, version: int) -> Topology:
    _require_rest(current)
    group, old = current.group(pool), current.slot_map(pool)
    rest = [slot for slot in range(len(group)) if slot not in slots]
    if not slots or not set(slots) <= set(range(len(group))):
        raise ImpossibleError
    if pool is Pool.MAIN and not rest:
        raise Invalid(_("Main needs at least one slot."))
    return _with(
        current, pool, group, Resize(Phase.JOINING, old, rebalanced(old, rest)), version=version
    )


def advanced(current: Topology, pool: Pool, *, version: int) -> Topology:
    resize = _resize_of(current, pool)
    if resize.phase is Phase.LEAVING:
        return _done(current, pool, resize.new, version=version)
    following = replace(resize, phase=NEXT[resize.phase])
    return _with(current, pool, current.group(pool), following, version=version)


def aborted(current: Topology, pool: Pool, *, version: int) -> Topology:
    resize = _resize_of(current, pool)
    if resize.phase is Phase.JOINING:
        return _done(current, pool, resize.old, version=version)
    if resize.phase is Phase.LEAVING:
        raise ImpossibleError
    back = Resize(Phase.LEAVING, resize.new, resize.old)
    return _with(current, pool, current.group(pool), back, version=version)


def _require_rest(current: Topology) -> None:
    if current.resizes:
        raise Conflict(_("A pool is changing its slots. Cancel that first, or wait until it is done."))  # fmt: skip


def _resize_of(current: Topology, pool: Pool) -> Resize:
    if pool not in current.resizes:
        raise ImpossibleError
    return current.resizes[pool]


def _done(current: Topology, pool: Pool, slot_map: SlotMap, *, version: int) -> Topology:
    """End a resize: the pool has a single slot map again, and only the nodes that this map uses."""
    group, sizes = current.group(pool), Counter(slot_map)
    gone = [slot for slot in range(len(group)) if not sizes[slot]]
    rest = tuple(node for slot, node in enumerate(group) if slot not in gone)
    renumbered = without_slots(slot_map, gone) if rest else even_map(0)
    maps = {one: slots for one, slots in current.maps.items() if one != pool}
    if renumbered != even_map(len(rest)):
        maps[pool] = renumbered
    return replace(_with(current, pool, rest, None, version=version), maps=maps)


def _with(
    current: Topology, pool: Pool, group: Group, resize: Resize | None, *, version: int
) -> Topology:
    resizes = {one: known for one, known in current.resizes.items() if one != pool}
    if resize is not None:
        resizes[pool] = resize
    if pool is Pool.MAIN:
        return replace(current, version=version, main=group, resizes=resizes)
    return replace(current, version=version, backup=group, resizes=resizes)
