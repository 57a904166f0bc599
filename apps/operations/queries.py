"""The topology and its history, and the health of its servers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.operations.epoch import current_epoch
from apps.operations.models import TopologyVersion
from feedcache import connections, stats
from feedcache.connections import Redis, RedisError, configured_topology
from feedcache.redis_clients import Cluster, cluster_of
from feedcache.servers import topology_listener, totals
from feedcache.servers.health import (
    SERVERS,
    MemcachedStatus,
    RedisStatus,
    database_of,
    memcached_statuses,
)
from feedcache.servers.slots import Master, Move, SlotError, masters, moves
from feedcache.servers.topology_listener import Report, Stored
from feedcache.stats import Counts
from feedcache.topology import TENANTS, Finding, Node, Place, Pool, Tenant, Topology

REDIS = "redis "  # prefix of the classes of data among the backends of calls
TIER = "tier:"  # prefix of layers among the subjects of the counts; the others are classes of data
HITS = (stats.HIT, stats.NEGATIVE)  # a cached absence is a hit too
MISSES = (stats.MISS, stats.GARBAGE, stats.STALE)


@dataclass(frozen=True, slots=True)
class NodeStatus:
    place: Place
    node: Node
    health: MemcachedStatus

    @property
    def title(self) -> str:
        return place_name(self.place)

    @property
    def code(self) -> str:
        return place_code(self.place)


@dataclass(frozen=True, slots=True)
class Rate:
    """Hits of a class of data or of a layer within the last hour."""

    name: str
    answered: int
    asked: int

    @property
    def share(self) -> float:
        return self.answered / self.asked if self.asked else 0.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """The processes and their versions; None while Redis does not answer."""

    processes: list[Report] | None
    version: int

    @property
    def lagging(self) -> list[Report]:
        return [process for process in self.processes or [] if process.version != self.version]


def latest() -> TopologyVersion | None:
    """The newest change; None when staff have made none."""
    return TopologyVersion.objects.order_by("-version").first()


def stored() -> Stored:
    """For the thread of the listener: the newest version and the epoch, on a connection that ends with the query."""
    try:
        change = latest()
        return Stored(change.topology() if change else None, current_epoch())
    finally:
        connection.close()


def topology_in_force() -> Topology:
    """The newest version, else the one of the settings."""
    change = latest()
    return change.topology() if change else configured_topology()


def topology_of(version: int) -> Topology | None:
    """An earlier topology; 0 is the settings."""
    if version == 0:
        return configured_topology()
    change = TopologyVersion.objects.filter(pk=version).first()
    return change.topology() if change else None


def node_statuses(topology: Topology) -> list[NodeStatus]:
    """All nodes, each probed now."""
    health = memcached_statuses(node.url for _place, node in topology.places())
    return [NodeStatus(place, node, health[node.url]) for place, node in topology.places()]


def fleet(topology: Topology) -> Fleet:
    try:
        return Fleet(topology_listener.processes(), topology.version)
    except RedisError:
        return Fleet(None, topology.version)


def rates() -> tuple[list[Rate], list[Rate]]:
    """Hit rates of the classes and of the layers; empty while Redis does not answer."""
    try:
        counts = totals.last_hour()
    except RedisError:
        return [], []
    return _rates(counts)


def _rates(counts: Counts) -> tuple[list[Rate], list[Rate]]:
    names = sorted({subject for subject, _word in counts})
    classes = [_rate(counts, name) for name in names if ":" not in name]
    return classes, [_rate(counts, name) for name in names if name.startswith(TIER)]


def _rate(counts: Mapping[tuple[str, str], int], subject: str) -> Rate:
    outcomes = {outcome: number for (name, outcome), number in counts.items() if name == subject}
    answered = sum(outcomes.get(outcome, 0) for outcome in HITS)
    unanswered = sum(outcomes.get(outcome, 0) for outcome in MISSES)
    return Rate(subject, answered, answered + unanswered)


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of a backend, or requests of a class of interfaces, and how long they took."""

    name: str
    number: int
    microseconds: int
    failed: int
    slow: int = 0
    refused: int = 0

    @property
    def mean_ms(self) -> float:
        return self.microseconds / self.number / 1000 if self.number else 0.0

    @property
    def availability(self) -> float | None:
        """The share that was answered, neither refused nor failed; None without any."""
        return 1 - (self.failed + self.refused) / self.number if self.number else None


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """What all processes counted. `requests` are by class of interfaces; `total` is their sum."""

    requests: list[Calls]
    calls: list[Calls]
    classes: list[Rate]
    tiers: list[Rate]

    @property
    def total(self) -> Calls:
        return Calls("", *(sum(getattr(one, name) for one in self.requests) for name in _SUMMED))


_SUMMED = ("number", "microseconds", "failed", "slow", "refused")


def service_level(counts: Counts) -> ServiceLevel:
    """Of counts from `feedcache.servers.totals`."""
    return ServiceLevel(_calls(counts, stats.REQUESTS), _calls(counts, stats.CALL), *_rates(counts))


def _calls(counts: Counts, prefix: str) -> list[Calls]:
    names = sorted({subject for subject, _word in counts if subject.startswith(prefix)})
    return [
        Calls(
            name.removeprefix(prefix),
            *(counts[name, word] for word in (stats.CALLS, *_SUMMED[1:])),
        )
        for name in names
    ]


CLUSTERS: Mapping[str, Callable[[], Redis]] = {
    "timelines": connections.timelines,
    "graph": connections.graph,
    "existence": connections.existence,
    "limits": connections.limits,
}  # classes of data that may be on a Redis Cluster


@dataclass(frozen=True, slots=True)
class ClassStatus:
    """A class of data in Redis: where it is, and whether all its servers work."""

    name: str
    servers: list[RedisStatus]
    tenant: Tenant

    @property
    def can_move(self) -> bool:
        return self.name in TENANTS

    @property
    def database(self) -> int:
        """Its number, on a server that is not a cluster."""
        return database_of(SERVERS[self.name]())

    @property
    def is_well(self) -> bool:
        return all(server.is_well for server in self.servers)

    @property
    def holds(self) -> str:
        return str(_HOLDS[self.name])

    @property
    def without(self) -> str:
        """What people notice while its server does not answer."""
        return str(_WITHOUT[self.name])


@dataclass(frozen=True, slots=True)
class SlotMap:
    """Which server has which slots of a Redis Cluster, and which slots are moving. `error`: why that is unknown."""

    classes: list[str]
    masters: list[Master]
    moves: list[Move]
    error: str = ""


def class_statuses(servers: Sequence[RedisStatus], topology: Topology) -> list[ClassStatus]:
    """By class of data, of the servers that were just probed."""
    return [
        ClassStatus(
            name, [server for server in servers if name in server.classes], topology.tenant(name)
        )
        for name in SERVERS
    ]


def slot_maps() -> list[SlotMap]:
    """Of every Redis Cluster; [] when all data are on single servers."""
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
    """Calls of Redis within the last hour, by class of data; None while Redis does not answer."""
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
    "timelines": gettext_lazy("Home timelines of readers who are online, lists of posts, figures of this console"),
    "graph": gettext_lazy("Who follows, blocks and mutes whom"),
    "counters": gettext_lazy("Counts of posts and of accounts"),
    "existence": gettext_lazy("Filters that tell what somebody has never done"),
    "limits": gettext_lazy("How often somebody did something lately"),
    "cache": gettext_lazy("Sessions and other values of Django’s cache"),
    "broadcasts": gettext_lazy("News for open streams; nothing is stored"),
}  # fmt: skip
_WITHOUT = {
    "timelines": gettext_lazy("Pages come from PostgreSQL, more slowly. New posts are delivered later."),
    "graph": gettext_lazy("Relations come from PostgreSQL, more slowly."),
    "counters": gettext_lazy("Counts come from PostgreSQL, more slowly."),
    "existence": gettext_lazy("PostgreSQL is asked for every mark."),
    "limits": gettext_lazy("Each process counts for itself, so limits are less strict."),
    "cache": gettext_lazy("Sessions come from PostgreSQL, more slowly."),
    "broadcasts": gettext_lazy("Open pages hear of news late."),
}  # fmt: skip


_TEXTS = {
    "no_main": gettext_lazy("Main has no node. The other layers hang on it."),
    "empty_group": gettext_lazy("L1 group %(group)s has no node."),
    "too_many": gettext_lazy("%(count)s nodes are too many: at most %(most)s."),
    "bad_address": gettext_lazy(
        "“%(url)s” at %(place)s is not an address: give host:port or unix:/path."
    ),
    "bad_size": gettext_lazy("%(megabytes)s MB at %(place)s is not a size for a node."),
    "bad_name": gettext_lazy("The node at %(place)s needs a name of at most 60 characters."),
    "bad_redis": gettext_lazy(
        "“%(url)s” is not an address for “%(name)s”: give redis://host:port/db, unix:///path?db=1 or "
        "redis+cluster://host:port,host:port, without a login."
    ),
    "twice": gettext_lazy("%(url)s stands twice, at %(other)s and at %(place)s."),
    "main_unread": gettext_lazy("No node of Main would be read any more."),
    "l1_groups": gettext_lazy("%(count)s L1 groups: %(least)s to %(most)s work best, or none."),
    "l1_size": gettext_lazy(
        "L1 group %(group)s has %(megabytes)s MB: %(least)s to %(most)s MB fit this Main (a tenth to a sixth of it)."
    ),
    "backup_size": gettext_lazy("Backup has %(megabytes)s MB: at most half of Main, %(most)s MB."),
}
CODES = frozenset(_TEXTS)


def finding_texts(findings: Iterable[Finding]) -> list[str]:
    """Findings as sentences in the active language."""
    return [
        str(_TEXTS[finding.code]) % {**finding.values, **_places(finding)} for finding in findings
    ]


def place_name(place: Place) -> str:
    if place.pool is Pool.L1:
        return _("L1 group %(group)s, slot %(slot)s") % {"group": place.group, "slot": place.slot}
    name = "Main" if place.pool is Pool.MAIN else "Backup"  # terms of the trade, in every language
    return _("%(pool)s, slot %(slot)s") % {"pool": name, "slot": place.slot}


def place_code(place: Place) -> str:
    """A place in a URL, as in `main-0-1`: pool, group, slot."""
    return f"{place.pool}-{place.group}-{place.slot}"


def _places(finding: Finding) -> dict[str, str]:
    return {
        name: place_name(value)
        for name, value in finding.values.items()
        if isinstance(value, Place)
    }
