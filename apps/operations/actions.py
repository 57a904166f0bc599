"""Changes the cache topology: checks a change, writes it with its
history in one transaction, publishes it after the commit.
"""

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
from apps.operations.wording import messages
from feedcache.health import probe
from feedcache.memcached import topology_listener
from feedcache.redis_servers.connections import RedisError
from feedcache.redis_servers.flush import delete_keys
from feedcache.topology import Place, Topology, is_address, problems

logger = logging.getLogger(__name__)

Change = Callable[[Topology, int], Topology]  # of the current topology and the new version


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes the topology. `seen` is the version they looked
    at: Conflict when it is no longer the current one.
    """

    name: str
    seen: int | None = None


def add_l1_group(urls: Sequence[str], megabytes: int, *, by: Author) -> TopologyVersion:
    """To spread a burst over more nodes."""
    _require_answer(urls)
    detail = f"L1 group of {', '.join(urls)}, {megabytes} MB each"
    return _commit(
        Action.ADD_L1,
        detail,
        lambda now, version: changes.with_l1_group(now, urls, megabytes, version=version),
        by=by,
    )


def replace_node(place: Place, url: str, megabytes: int | None = None, *, by: Author) -> TopologyVersion:  # fmt: skip
    """Put a node into a slot. The same URL again empties the node and ends its draining."""
    _require_answer([url])
    return _commit(
        Action.REPLACE,
        f"{place} is now {url}",
        lambda now, version: changes.replaced(now, place, url, megabytes, version=version),
        by=by,
    )


def drain_node(place: Place, *, by: Author) -> TopologyVersion:
    """Stop reading a slot; the next layer answers until its node is replaced."""
    return _commit(
        Action.DRAIN,
        f"{place} is read no more",
        lambda now, version: changes.drained(now, place, version=version),
        by=by,
    )


def drain_l1_group(group: int, *, by: Author) -> TopologyVersion:
    return _commit(
        Action.DRAIN,
        f"L1 group {group} taken out",
        lambda now, version: changes.without_l1_group(now, group, version=version),
        by=by,
    )


def flush_class(name: str, *, by: Author) -> TopologyVersion:
    """Forget what Memcached and Redis hold of one class of data.

    Without Redis only Memcached is flushed, and the log says so.
    """
    row = _commit(
        Action.FLUSH,
        f"{name} begins anew",
        lambda now, version: changes.flushed(now, name, version=version),
        by=by,
    )
    try:
        delete_keys(name)
    except RedisError as error:
        logger.warning("%s is flushed in Memcached only: %s", name, error)
    return row


def roll_back(version: int, *, by: Author) -> TopologyVersion:
    """Restore the nodes of an earlier version, as a new version; 0 is the settings. NotFound."""
    earlier = topology_of(version)
    if earlier is None:
        raise NotFound(_("There is no version %(version)s.") % {"version": version})
    return _commit(
        Action.ROLLBACK,
        f"as in version {version}",
        lambda now, new: changes.rolled_back(now, earlier, version=new),
        by=by,
    )


def republish() -> bool:
    """Publish the newest version again if Redis lost it; whether it had. RedisError."""
    change = latest()
    return change is not None and topology_listener.publish(change.topology())


def _commit(action: Action, detail: str, change: Change, *, by: Author) -> TopologyVersion:
    """Write the next version. Conflict, NotFound, Invalid."""
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
    if findings := problems(after):
        raise Invalid(" ".join(messages(findings)))
    return after


def _free_version(before: Topology) -> int:
    """Above every version a process may have seen: a restored database must not reuse one."""
    try:
        published = topology_listener.published()
    except RedisError:
        published = None
    return max(before.version, published.version if published else 0) + 1


def _publish(topology: Topology) -> None:
    try:
        topology_listener.publish(topology)
    except RedisError as error:
        logger.warning("topology %s is published later: %s", topology.version, error)


def _require_answer(urls: Sequence[str]) -> None:
    """Invalid when a node does not answer now. A malformed URL is refused later, as such."""
    for url in filter(is_address, urls):
        if error := probe(url):
            message = _("The node %(url)s does not work: %(error)s.") % {"url": url, "error": error}
            raise Invalid(message)


def _changed_meanwhile() -> str:
    return _("Somebody else changed the caches meanwhile. Look again, and repeat if it is still right.")  # fmt: skip
