"""Moves the slots of a Redis Cluster, a few seconds at a time."""

from django.utils.translation import gettext as _

from apps.errors import Invalid
from apps.operations.queries import CLUSTERS
from feedcache.connections import RedisError
from feedcache.redis_clients import cluster_of
from feedcache.servers.slots import SlotError, migrate

SLOT_SECONDS = 5.0  # after this time, a call starts no further batch of keys


def move_slot(name: str, slot: int, address: str) -> int:
    """Move keys of a slot to another node of the Redis Cluster with the data `name` (such as "timelines").

    Returns how many keys moved. Stops after SLOT_SECONDS: call it again until all keys have moved and the new node owns
    the slot. Raises Invalid.
    """
    cluster = cluster_of(CLUSTERS[name]())
    if cluster is None:
        message = _("“%(name)s” is not on a Redis Cluster: there are no slots.")
        raise Invalid(message % {"name": name})
    try:
        return migrate(cluster, slot, address, seconds=SLOT_SECONDS)
    except (SlotError, RedisError) as error:
        message = _("The slot was not moved: %(error)s.") % {"error": error}
        raise Invalid(message) from None
