"""Changes to the cache topology. Each change is checked, stored as a new version, and published after the commit."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.errors import Conflict, Invalid, NotFound, Unavailable
from apps.operations.models import (
    ACTOR_MAX_CHARACTERS,
    DETAIL_MAX_CHARACTERS,
    Action,
    CacheNode,
    TopologyVersion,
)
from apps.operations.queries import (
    finding_texts,
    fleet,
    latest,
    topology_in_force,
    topology_of,
)
from apps.sql import database_time
from feedcache.connections import RedisError, client_at
from feedcache.servers import topology_listener
from feedcache.servers.flush import delete_keys, delete_outdated, outdated_keys
from feedcache.servers.health import probe
from feedcache.topology import (
    CLASSES,
    TENANTS,
    Finding,
    Group,
    Node,
    Place,
    Pool,
    Range,
    State,
    Tenant,
    Topology,
    is_address,
    is_redis_address,
    problems,
)

logger = logging.getLogger(__name__)

# The wait between the steps of a move. It is long enough for the reports of dead processes, and of processes that are
# cut off from the Redis with the topology, to expire.
SETTLE_SECONDS = topology_listener.REPORT_TTL_SECONDS + 2

Change = Callable[
    [Topology, int], Topology
]  # takes the current topology and the new version; returns the new topology


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a change. `seen` is the version that the author's page showed; an outdated one raises Conflict."""

    name: str
    seen: int | None = None


def add_l1_group(urls: Sequence[str], megabytes: int, *, by: Author) -> TopologyVersion:
    """Add a group of nodes to L1, to spread a burst of reads over more nodes. Raises Invalid or Conflict."""
    require_answer(urls)
    detail = f"L1 group of {', '.join(urls)}, {megabytes} MB each"
    return commit(
        Action.ADD_L1,
        detail,
        lambda now, version: with_l1_group(now, urls, megabytes, version=version),
        by=by,
    )


def replace_node(place: Place, url: str, megabytes: int | None = None, *, by: Author) -> TopologyVersion:  # fmt: skip
    """Put a node into a slot. If the node is already there, empty it and end its draining."""
    require_answer([url])
    return commit(
        Action.REPLACE,
        f"{place} is now {url}",
        lambda now, version: replaced(now, place, url, megabytes, version=version),
        by=by,
    )


def drain_node(place: Place, *, by: Author) -> TopologyVersion:
    """Stop reading a slot; the next layer is read instead until the node is replaced."""
    return commit(
        Action.DRAIN,
        f"{place} drained",
        lambda now, version: drained(now, place, version=version),
        by=by,
    )


def drain_l1_group(group: int, *, by: Author) -> TopologyVersion:
    return commit(
        Action.DRAIN,
        f"L1 group {group} taken out",
        lambda now, version: without_l1_group(now, group, version=version),
        by=by,
    )


def flush_class(name: str, *, by: Author) -> TopologyVersion:
    """Empty one class of data: its entries in Memcached are no longer read, and its keys in Redis are deleted.

    Raises NotFound or Conflict, and Unavailable if Redis fails: then some of its keys may be left.
    """
    row = commit(
        Action.FLUSH,
        f"{name} flushed",
        lambda now, version: flushed(now, name, version=version),
        by=by,
    )
    try:
        delete_keys(name)
    except RedisError as error:
        logger.warning("%s is flushed in Memcached only: %s", name, error)
        message = _(
            "“%(name)s” is flushed in Memcached only, because Redis does not answer. Flush it again."
        )
        raise Unavailable(message % {"name": name}) from None
    return row


def roll_back(version: int, *, by: Author) -> TopologyVersion:
    """Restore the nodes of a version (0: of the settings), as a new version. Raises NotFound, Conflict or Invalid."""
    earlier = topology_of(version)
    if earlier is None:
        raise NotFound(_("There is no version %(version)s.") % {"version": version})
    if earlier.resizes:
        message = _("In version %(version)s a pool was changing its slots. Choose another version.")
        raise Conflict(message % {"version": version})
    if topology_in_force().resizes:
        raise Conflict(_("A pool is changing its slots. Cancel that first, or wait until it is done."))  # fmt: skip
    return commit(
        Action.ROLLBACK,
        f"as in version {version}",
        lambda now, new: rolled_back(now, earlier, version=new),
        by=by,
    )


def join_server(name: str, url: str, *, by: Author) -> TopologyVersion:
    """Begin to move a class of data to the Redis server at `url` (if empty, the one in the settings): from now on,
    changes that no revision protects are also written there. Raises Invalid or Conflict.
    """
    if name not in TENANTS:
        message = _(
            "“%(name)s” can only be moved with a restart: change its address in the settings."
        )
        raise Invalid(message % {"name": name})
    if url and not is_redis_address(name, url):
        raise Invalid(" ".join(finding_texts([Finding("bad_redis", {"name": name, "url": url})])))
    tenant = topology_in_force().tenant(name)
    if tenant.is_moving or tenant.url == url:
        raise Conflict(
            _("“%(name)s” is there already, or is being moved elsewhere.") % {"name": name}
        )
    _require_no_outdated_keys(name, url)
    return commit(
        Action.MOVE,
        f"{name}: also written to {url or 'the address of the settings'}",
        lambda now, version: joined(now, name, url, version=version),
        by=by,
    )


def switch_server(name: str, *, by: Author) -> TopologyVersion:
    """The second step of a move: read from the other server. A second call switches back.

    Raises Conflict, Invalid or NotFound.
    """
    _require_settled()
    return commit(
        Action.MOVE,
        f"{name}: read from the other server",
        lambda now, version: switched(now, name, version=version),
        by=by,
    )


def leave_server(name: str, *, by: Author) -> TopologyVersion:
    """The last step of a move: stop writing to the server that is not read, and delete those of its keys that would be
    outdated if the data moved back. Before the switch, this cancels the move. Raises Conflict, Invalid or NotFound.
    """
    _require_settled()
    former = topology_in_force().tenant(name).also
    row = commit(
        Action.MOVE,
        f"{name}: the other server is left",
        lambda now, version: left(now, name, version=version),
        by=by,
    )
    try:
        delete_outdated(name, former or "")
    except RedisError as error:
        logger.warning("%s: could not delete the keys on the former server: %s", name, error)
    return row


def require_counter_address(url: str) -> None:
    """Raise Invalid if the URL is neither the address of a Redis server for counters nor "" (the settings)."""
    if url and not is_redis_address("counters", url):
        finding = Finding("bad_redis", {"name": "counters", "url": url})
        raise Invalid(" ".join(finding_texts([finding])))


def join_counters(kind: str, low: int, url: str, *, by: Author) -> TopologyVersion:
    """Like `join_server`, for a range of counters of one kind: the ids from `low` to the next range.

    Raises Invalid, Conflict or NotFound.

    `feedcache.structures.counters.moves` prepares the server before this call and fills it afterwards.
    """
    return commit(
        Action.MOVE,
        f"counters of {kind} from {low} on: also written to {url or 'the address of the settings'}",
        lambda now, version: counters_joined(now, kind, low, url, version=version),
        by=by,
    )


def switch_counters(kind: str, low: int, *, by: Author) -> TopologyVersion:
    """Like `switch_server`. The caller ensures that the other server has all counters. Raises Conflict or NotFound."""
    _require_settled()
    return commit(
        Action.MOVE,
        f"counters of {kind} from {low} on: read from the other server",
        lambda now, version: counters_switched(now, kind, low, version=version),
        by=by,
    )


def leave_counters(kind: str, low: int, *, by: Author) -> TopologyVersion:
    """Like `leave_server`, but the caller deletes the keys afterwards. Raises Conflict or NotFound."""
    _require_settled()
    return commit(
        Action.MOVE,
        f"counters of {kind} from {low} on: the other server is left",
        lambda now, version: counters_left(now, kind, low, version=version),
        by=by,
    )


def reason_to_wait(settle_seconds: float | None = None) -> str:
    """The reason why the next step of a move has to wait; "" if it may be taken now.

    Every process must have taken the previous step, which must be `settle_seconds` ago (default: `SETTLE_SECONDS`).
    """
    change = latest()
    if change is None:
        return ""
    processes = fleet(change.topology())
    if processes.processes is None:
        return _("Redis does not answer, so the state of the processes is unknown.")
    if number := len(processes.lagging):
        text = ngettext(
            "%(number)d process has not finished the previous step yet. Try again in a moment.",
            "%(number)d processes have not finished the previous step yet. Try again in a moment.",
            number,
        )
        return text % {"number": number}
    if settle_seconds is None:
        settle_seconds = SETTLE_SECONDS
    seconds = settle_seconds - (database_time() - change.made_at).total_seconds()
    # if more than `settle_seconds` seem to be left, the clock was ahead when the step was taken: do not wait
    if 0 < seconds <= settle_seconds:
        # wait even if all reports are current, because a process that hangs sends no report
        return _("The previous step is too recent. Try again in %(seconds)d s.") % {
            "seconds": ceil(seconds)
        }
    return ""


def _require_settled() -> None:
    if reason := reason_to_wait():
        raise Conflict(reason)


def _require_no_outdated_keys(name: str, url: str) -> None:
    try:
        client_at(name, url).ping()
        count = outdated_keys(name, url)
    except RedisError as error:
        message = _("The server %(url)s does not work: %(error)s.")
        raise Invalid(message % {"url": url, "error": error}) from None
    if count:
        message = _(
            "The server has %(count)d keys of “%(name)s” that are out of date: empty the server first."
        )
        raise Invalid(message % {"count": count, "name": name})


def republish() -> bool:
    """If Redis has lost the newest version, publish it again and return True. Raises RedisError."""
    change = latest()
    return change is not None and topology_listener.publish(change.topology())


def commit(action: Action, detail: str, change: Change, *, by: Author) -> TopologyVersion:
    """Store what `change` returns as the next version, and publish it. Raises Conflict, NotFound or Invalid."""
    try:
        with transaction.atomic():
            before = topology_in_force()
            if by.seen is not None and by.seen != before.version:
                raise Conflict(_changed_meanwhile())
            after = _next(before, change)
            row = TopologyVersion.objects.create(
                version=after.version,
                action=action,
                detail=detail[:DETAIL_MAX_CHARACTERS],
                made_by=by.name[:ACTOR_MAX_CHARACTERS],
                made_at=database_time(),
                before=before.to_json(),
                after=after.to_json(),
            )
            CacheNode.objects.all().delete()
            CacheNode.objects.bulk_create(
                CacheNode.at(place, node) for place, node in after.places()
            )
            transaction.on_commit(partial(_publish, after))
    except IntegrityError:
        # two simultaneous changes have the same version, and the table accepts only one of them
        raise Conflict(_changed_meanwhile()) from None
    return row


def _next(before: Topology, change: Change) -> Topology:
    try:
        after = change(before, _free_version(before))
    except ImpossibleError:
        raise NotFound(_("There is nothing like that in the topology.")) from None
    if findings := problems(after):
        raise Invalid(" ".join(finding_texts(findings)))
    return after


def _free_version(before: Topology) -> int:
    """A number above the newest version in the database and, if Redis answers, in Redis.

    Processes may have seen the version in Redis, so after a restore of the database, its number must not be reused.
    """
    try:
        published = topology_listener.published()
    except RedisError:
        published = None
    return max(before.version, published.version if published else 0) + 1


def _publish(topology: Topology) -> None:
    try:
        topology_listener.publish(topology)
    except RedisError as error:
        logger.warning(
            "could not publish topology %s, it will be published later: %s", topology.version, error
        )


def require_answer(urls: Sequence[str]) -> None:
    """Raise Invalid if a node does not answer. Malformed URLs are refused later, with their own message."""
    for url in filter(is_address, urls):
        if error := probe(url):
            message = _("The node %(url)s does not work: %(error)s.") % {"url": url, "error": error}
            raise Invalid(message)


def _changed_meanwhile() -> str:
    return _(
        "Somebody else changed the caches in the meantime. Check them, and repeat your change if you still want it."
    )  # fmt: skip


class ImpossibleError(ValueError):
    """The slot, class or range does not exist, or its move is at a different step."""


# The functions below only compute the next topology, or raise ImpossibleError.


def with_l1_group(
    current: Topology, urls: Sequence[str], megabytes: int, *, version: int
) -> Topology:
    """Add a group to L1. It is empty at first; reads fill it from Main."""
    group = tuple(Node(f"l1-v{version}-{slot}", url, megabytes, version) for slot, url in enumerate(urls))  # fmt: skip
    return replace(current, version=version, l1=(*current.l1, group))


def replaced(
    current: Topology, place: Place, url: str, megabytes: int | None, *, version: int
) -> Topology:
    """Put another node into a slot, or empty the node in it and start reading it again."""
    node = _at(current, place)
    name = node.name if url == node.url else f"{place.pool}-v{version}"
    new = Node(name, url, node.megabytes if megabytes is None else megabytes, version)
    return replace(current.with_node(place, new), version=version)


def drained(current: Topology, place: Place, *, version: int) -> Topology:
    node = _at(current, place)
    return replace(current.with_node(place, replace(node, state=State.DRAINING)), version=version)


def without_l1_group(current: Topology, group: int, *, version: int) -> Topology:
    if not 0 <= group < len(current.l1):
        raise ImpossibleError
    return replace(current, version=version, l1=current.l1[:group] + current.l1[group + 1 :])


def flushed(current: Topology, name: str, *, version: int) -> Topology:
    """Give the keys of a class a new epoch; entries under the old keys are evicted eventually."""
    if name not in CLASSES:
        raise ImpossibleError
    return replace(current, version=version, epochs={**current.epochs, name: version})


def joined(current: Topology, name: str, url: str, *, version: int) -> Topology:
    tenant = current.tenant(name)
    if tenant.is_moving or tenant.url == url:
        raise ImpossibleError
    return _with_tenant(current, name, replace(tenant, also=url), version=version)


def switched(current: Topology, name: str, *, version: int) -> Topology:
    tenant = current.tenant(name)
    if tenant.also is None:
        raise ImpossibleError
    return _with_tenant(current, name, Tenant(tenant.also, tenant.url), version=version)


def left(current: Topology, name: str, *, version: int) -> Topology:
    tenant = current.tenant(name)
    if tenant.also is None:
        raise ImpossibleError
    return _with_tenant(current, name, Tenant(tenant.url), version=version)


def _with_tenant(current: Topology, name: str, tenant: Tenant, *, version: int) -> Topology:
    return replace(current, version=version, tenants={**current.tenants, name: tenant})


def counters_joined(current: Topology, kind: str, low: int, url: str, *, version: int) -> Topology:
    """Begin to move a range. A new range starts on the server of the range that contained it."""
    ranges = {one.low: one.tenant for one in current.counters.get(kind, (Range(),))}
    tenant = ranges.get(low) or Tenant(ranges[max(one for one in ranges if one < low)].url)
    parent = ranges[max(one for one in ranges if one <= low)]
    if tenant.is_moving or parent.is_moving or tenant.url == url:
        raise ImpossibleError
    return _with_range(current, kind, Range(low, replace(tenant, also=url)), version=version)


def counters_switched(current: Topology, kind: str, low: int, *, version: int) -> Topology:
    tenant = moving_range(current, kind, low)
    moved = Range(low, Tenant(tenant.also or "", tenant.url))
    return _with_range(current, kind, moved, version=version)


def counters_left(current: Topology, kind: str, low: int, *, version: int) -> Topology:
    tenant = moving_range(current, kind, low)
    return _with_range(current, kind, Range(low, Tenant(tenant.url)), version=version)


def moving_range(current: Topology, kind: str, low: int) -> Tenant:
    """The servers of a range that is being moved; for any other range, raises ImpossibleError."""
    ranges = {one.low: one.tenant for one in current.counters.get(kind, ())}
    if low not in ranges or not ranges[low].is_moving:
        raise ImpossibleError
    return ranges[low]


def _with_range(current: Topology, kind: str, new: Range, *, version: int) -> Topology:
    others = (one for one in current.counters.get(kind, (Range(),)) if one.low != new.low)
    ranges = tuple(sorted((*others, new), key=lambda one: one.low))
    return replace(current, version=version, counters={**current.counters, kind: ranges})


def rolled_back(current: Topology, earlier: Topology, *, version: int) -> Topology:
    """Restore the nodes of an earlier topology. A node keeps its contents only if it is read at the same slot now,
    and the slots have the same keys.
    """
    return Topology(
        version=version,
        main=_pool_as_of(Pool.MAIN, earlier, current, version),
        backup=_pool_as_of(Pool.BACKUP, earlier, current, version),
        l1=tuple(
            _as_of(group, current.l1[number] if number < len(current.l1) else (), version)
            for number, group in enumerate(earlier.l1)
        ),
        epochs=current.epochs,
        tenants=current.tenants,  # Redis servers only change by moves
        counters=current.counters,
        maps=earlier.maps,
    )


def _pool_as_of(pool: Pool, earlier: Topology, current: Topology, version: int) -> Group:
    # with another slot map, a key may have been in another slot when it changed, so this node may have the old value
    is_same = pool not in current.resizes and earlier.slot_map(pool) == current.slot_map(pool)
    return _as_of(earlier.group(pool), current.group(pool) if is_same else (), version)


def _as_of(earlier: Group, current: Group, version: int) -> Group:
    # with a different number of nodes, keys were in other slots, so these nodes may have old values
    kept = current if len(current) == len(earlier) else ()
    serving = {(slot, node) for slot, node in enumerate(kept) if node.is_read}
    return tuple(
        node if (slot, node) in serving else replace(node, generation=version)
        for slot, node in enumerate(earlier)
    )


def _at(topology: Topology, place: Place) -> Node:
    node = topology.node_at(place)
    if node is None:
        raise ImpossibleError
    return node
