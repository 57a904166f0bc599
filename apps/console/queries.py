"""Data for the console's pages about hot keys and Redis: keys, classes of data, slots of clusters, and calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext_lazy

from apps.operations.queries import CLUSTERS, Calls, service_level
from feedcache.connections import RedisError
from feedcache.redis_clients import Cluster, cluster_of
from feedcache.servers import totals
from feedcache.servers.health import SERVERS, RedisStatus, database_of
from feedcache.servers.hot_keys import HotKey
from feedcache.servers.slots import Master, Move, SlotError, masters, moves
from feedcache.slot_map import bucket_of
from feedcache.topology import TENANTS, Place, Pool, Tenant, Topology

REDIS = "redis "  # the prefix of the names of backends in Redis


def place_code(place: Place) -> str:
    """A place as it is written in a URL: pool, group and slot, for example `main-0-1`."""
    return f"{place.pool}-{place.group}-{place.slot}"


@dataclass(frozen=True, slots=True)
class DescribedKey:
    """A hot key with the kind of its value, and the address of the Main node that stores it."""

    name: str
    reads: float
    kind: str
    node: str


def described(keys: Sequence[HotKey], topology: Topology) -> list[DescribedKey]:
    slots = topology.slot_map(Pool.MAIN)
    found = []
    for key in keys:
        slot = slots[bucket_of(key.name.encode())]
        node = topology.main[slot].url if slot < len(topology.main) else ""
        found.append(DescribedKey(key.name, key.reads, key.name.partition(":")[0], node))
    return found


@dataclass(frozen=True, slots=True)
class ClassStatus:
    """A class of data in Redis, such as "timelines" or "counters": its servers, and whether all of them work."""

    name: str
    servers: list[RedisStatus]
    tenant: Tenant

    @property
    def can_move(self) -> bool:
        return self.name in TENANTS

    @property
    def database(self) -> int:
        """The number of the database that stores the class; 0 on a cluster."""
        return database_of(SERVERS[self.name]())

    @property
    def is_well(self) -> bool:
        return all(server.is_well for server in self.servers)

    @property
    def holds(self) -> str:
        return str(_HOLDS[self.name])

    @property
    def without(self) -> str:
        """The effect that people notice while the class's server does not answer."""
        return str(_WITHOUT[self.name])


@dataclass(frozen=True, slots=True)
class SlotMap:
    """The owners of a Redis Cluster's slots, and the slots being moved. `error` is the reason if they are unknown."""

    classes: list[str]
    masters: list[Master]
    moves: list[Move]
    error: str = ""


def class_statuses(servers: Sequence[RedisStatus], topology: Topology) -> list[ClassStatus]:
    """The status of each class of data. `servers` are the results of a probe that has just run."""
    return [
        ClassStatus(
            name, [server for server in servers if name in server.classes], topology.tenant(name)
        )
        for name in SERVERS
    ]


def slot_maps() -> list[SlotMap]:
    """The slots of every Redis Cluster; [] if all data are on single servers."""
    names: dict[str, list[str]] = {}
    clusters: dict[str, Cluster] = {}
    for name, client_of in CLUSTERS.items():
        if cluster := cluster_of(client_of()):
            names.setdefault(cluster.address.name, []).append(name)
            clusters[cluster.address.name] = cluster
    return [_slot_map(names[address], cluster) for address, cluster in clusters.items()]


def _slot_map(names: list[str], cluster: Cluster) -> SlotMap:
    try:
        nodes = masters(cluster)
        return SlotMap(names, nodes, moves(cluster, nodes))
    except (SlotError, RedisError) as error:
        return SlotMap(names, [], [], error=str(error))


def redis_calls() -> list[Calls] | None:
    """Calls to Redis within the last hour, by class of data; None while Redis does not answer."""
    try:
        level = service_level(totals.last_hour())
    except RedisError:
        return None
    return [
        replace(one, name=one.name.removeprefix(REDIS))
        for one in level.calls
        if one.name.startswith(REDIS)
    ]


_HOLDS = {
    "timelines": gettext_lazy("Home timelines of readers who are online, lists of posts, figures for this console"),
    "graph": gettext_lazy("Who follows, blocks and mutes whom"),
    "counters": gettext_lazy("Counts for each post and account (likes, followers and so on)"),
    "existence": gettext_lazy("Filters that show which actions somebody has never taken"),
    "limits": gettext_lazy("How often somebody did something recently"),
    "cache": gettext_lazy("Django’s cache, which no page uses"),
    "broadcasts": gettext_lazy("Updates for open streams; nothing is stored"),
}  # fmt: skip
_WITHOUT = {
    "timelines": gettext_lazy("Pages are read from PostgreSQL, which is slower. New posts are delivered late."),
    "graph": gettext_lazy("Relations are read from PostgreSQL, which is slower."),
    "counters": gettext_lazy("Counts are read from PostgreSQL, which is slower."),
    "existence": gettext_lazy("Likes, bookmarks and other marks are all read from PostgreSQL."),
    "limits": gettext_lazy("Each process counts for itself, so limits are less strict."),
    "cache": gettext_lazy("No effect."),
    "broadcasts": gettext_lazy("Open pages show new posts late."),
}  # fmt: skip
