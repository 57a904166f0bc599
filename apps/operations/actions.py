"""Changes of the topology: checked, written with their history in one transaction, made known after the commit."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.errors import Conflict, Invalid, NotFound
from apps.operations import changes
from apps.operations.models import (
    ACTOR_MAX_CHARACTERS,
    DETAIL_MAX_CHARACTERS,
    Action,
    CacheNode,
    TopologyVersion,
)
from apps.operations.queries import latest, topology_in_force, topology_of
from apps.operations.wording import said
from feedcache.health import probe
from feedcache.memcached import topology_listener
from feedcache.redis_servers.connections import RedisError
from feedcache.redis_servers.flush import delete_keys
from feedcache.topology import Place, Topology, is_address, problems

logger = logging.getLogger(__name__)

Change = Callable[[Topology, int], Topology]  # the topology now, the new version


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes it. `seen` is the version they looked at: a change made meanwhile by somebody else is not undone blindly."""

    name: str
    seen: int | None = None


def add_l1_group(urls: Sequence[str], megabytes: int, *, by: Author) -> TopologyVersion:
    """Add a group to L1, to spread a burst over more nodes."""
    _refuse_silent(urls)
    detail = f"L1 group of {', '.join(urls)}, {megabytes} MB each"
    return _commit(
        Action.ADD_L1,
        detail,
        lambda now, version: changes.with_l1_group(now, urls, megabytes, version=version),
        by=by,
    )


def replace_node(place: Place, url: str, megabytes: int | None = None, *, by: Author) -> TopologyVersion:  # fmt: skip
    """Put another node into a slot. The same address again empties the node and ends its draining."""
    _refuse_silent([url])
    return _commit(
        Action.REPLACE,
        f"{place} is now {url}",
        lambda now, version: changes.replaced(now, place, url, megabytes, version=version),
        by=by,
    )


def drain_node(place: Place, *, by: Author) -> TopologyVersion:
    """Stop reading a slot; the next layer answers for it until its node is replaced."""
    return _commit(
        Action.DRAIN,
        f"{place} is read no more",
        lambda now, version: changes.drained(now, place, version=version),
        by=by,
    )


def drain_l1_group(group: int, *, by: Author) -> TopologyVersion:
    """Take a group out of L1."""
    return _commit(
        Action.DRAIN,
        f"L1 group {group} taken out",
        lambda now, version: changes.without_l1_group(now, group, version=version),
        by=by,
    )


def flush_class(name: str, *, by: Author) -> TopologyVersion:
    """Let one class of data begin anew, without touching the others: what Memcached and Redis hold of it is forgotten.

    Without Redis only the former: what Redis holds of it is then as it was, and the log says so.
    """
    flushed = _commit(
        Action.FLUSH,
        f"{name} begins anew",
        lambda now, version: changes.flushed(now, name, version=version),
        by=by,
    )
    try:
        delete_keys(name)
    except RedisError as error:
        logger.warning("%s is flushed in Memcached only: %s", name, error)
    return flushed


def roll_back(version: int, *, by: Author) -> TopologyVersion:
    """Go back to the nodes of an earlier version, as a new version. 0 is what the settings say."""
    earlier = topology_of(version)
    if earlier is None:
        raise NotFound(_("There is no version %(version)s.") % {"version": version})
    return _commit(
        Action.ROLLBACK,
        f"as in version {version}",
        lambda now, new: changes.rolled_back(now, earlier, version=new),
        by=by,
    )


def make_known() -> bool:
    """Publish the newest version again if Redis lost it; whether it had to be. RedisError is the caller's."""
    change = latest()
    return change is not None and topology_listener.publish(change.topology())


def _commit(action: Action, detail: str, change: Change, *, by: Author) -> TopologyVersion:
    """Make the next version and write it down; refused in plain words when it cannot work."""
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
                before=before.to_json(),
                after=after.to_json(),
            )
            CacheNode.objects.all().delete()
            CacheNode.objects.bulk_create(
                CacheNode.at(place, node) for place, node in after.places()
            )
            transaction.on_commit(partial(_publish, after))
    except IntegrityError:
        # two changes at once make the same version, and the table takes one of them
        raise Conflict(_changed_meanwhile()) from None
    return row


def _next(before: Topology, change: Change) -> Topology:
    try:
        after = change(before, _free_version(before))
    except changes.ImpossibleError:
        raise NotFound(_("There is nothing like that in the topology.")) from None
    if found := problems(after):
        raise Invalid(" ".join(said(found)))
    return after


def _free_version(before: Topology) -> int:
    """Above all that processes may have seen: a database that was restored must not give a number out twice."""
    try:
        known = topology_listener.published()
    except RedisError:
        known = None
    return max(before.version, known.version if known else 0) + 1


def _publish(topology: Topology) -> None:
    try:
        topology_listener.publish(topology)
    except RedisError as error:
        logger.warning("topology %s is published later: %s", topology.version, error)


def _refuse_silent(urls: Sequence[str]) -> None:
    """A node that does not answer now would only be another dead one. What is no address is refused later, as such."""
    for url in filter(is_address, urls):
        if error := probe(url):
            message = _("The node %(url)s does not work: %(error)s.") % {"url": url, "error": error}
            raise Invalid(message)


def _changed_meanwhile() -> str:
    return _("Somebody else changed the caches meanwhile. Look again, and repeat if it is still right.")  # fmt: skip
