"""Reads the topology and its history, and the health of its servers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.operations.epoch import current_epoch
from apps.operations.models import TopologyVersion
from feedcache import connections, stats
from feedcache.connections import Redis, RedisError, configured_topology
from feedcache.servers import topology_listener, totals
from feedcache.servers.health import MemcachedStatus, memcached_statuses
from feedcache.servers.topology_listener import Report, Stored
from feedcache.stats import Counts
from feedcache.topology import Finding, Node, Place, Pool, Topology

SETTINGS = "settings"  # operators write this to mean the address in the settings
TIER = "tier:"  # subjects of counts with this prefix are tiers; those without a colon are classes of data
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


@dataclass(frozen=True, slots=True)
class Rate:
    """The hits (`answered`) and the hits and misses (`asked`) of a class of data or a tier, without failed reads."""

    name: str
    answered: int
    asked: int

    @property
    def share(self) -> float:
        return self.answered / self.asked if self.asked else 0.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """The processes (None while Redis does not answer), and the version that they should have."""

    processes: list[Report] | None
    version: int

    @property
    def lagging(self) -> list[Report]:
        return [process for process in self.processes or [] if process.version != self.version]


def latest() -> TopologyVersion | None:
    """The newest version; None if the topology has never been changed."""
    return TopologyVersion.objects.order_by("-version").first()


def stored() -> Stored:
    """The newest topology and the epoch. Called in the listener's thread, so it closes the database connection."""
    try:
        change = latest()
        return Stored(change.topology() if change else None, current_epoch())
    finally:
        connection.close()


def topology_in_force() -> Topology:
    """The newest version of the topology; if there is none, the topology in the settings."""
    change = latest()
    return change.topology() if change else configured_topology()


def topology_of(version: int) -> Topology | None:
    """The topology of a version, which is the one in the settings for version 0; None if there is no such version."""
    if version == 0:
        return configured_topology()
    change = TopologyVersion.objects.filter(pk=version).first()
    return change.topology() if change else None


def node_statuses(topology: Topology) -> list[NodeStatus]:
    """The status of each node, which is probed now."""
    health = memcached_statuses(node.url for _place, node in topology.places())
    return [NodeStatus(place, node, health[node.url]) for place, node in topology.places()]


def fleet(topology: Topology) -> Fleet:
    try:
        return Fleet(topology_listener.processes(), topology.version)
    except RedisError:
        return Fleet(None, topology.version)


def rates() -> tuple[list[Rate], list[Rate]]:
    """The hit rates of the classes and of the tiers in the last hour; both empty while Redis does not answer."""
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
    """Calls to a backend, or requests of an interface class (`apps.http.interfaces`), and how long they took."""

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
        """The share of calls that were neither refused nor failed; None if there were no calls."""
        return 1 - (self.failed + self.refused) / self.number if self.number else None


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """Counts of all processes. `requests` has one entry per interface class; `total` is the sum of these."""

    requests: list[Calls]
    calls: list[Calls]
    classes: list[Rate]
    tiers: list[Rate]

    @property
    def total(self) -> Calls:
        return Calls("", *(sum(getattr(one, name) for one in self.requests) for name in _SUMMED))


_SUMMED = ("number", "microseconds", "failed", "slow", "refused")


def service_level(counts: Counts) -> ServiceLevel:
    """Build a service level from counts of `feedcache.servers.totals`."""
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
}  # the classes of data that may be on a Redis Cluster


_TEXTS = {
    "no_main": gettext_lazy("Main has no node. The other layers depend on it."),
    "empty_group": gettext_lazy("L1 group %(group)s has no node."),
    "too_many": gettext_lazy("%(count)s nodes are too many: the maximum is %(most)s."),
    "bad_address": gettext_lazy(
        "“%(url)s” at %(place)s is not an address: give host:port or unix:/path."
    ),
    "bad_size": gettext_lazy("%(megabytes)s MB at %(place)s is not a size for a node."),
    "bad_name": gettext_lazy("The node at %(place)s needs a name of at most 60 characters."),
    "bad_redis": gettext_lazy(
        "“%(url)s” is not an address for “%(name)s”: give redis://host:port/db, unix:///path?db=1 or "
        "redis+cluster://host:port,host:port, without a login."
    ),
    "twice": gettext_lazy("%(url)s is listed twice: at %(other)s and %(place)s."),
    "main_unread": gettext_lazy("Main would have no node left to read."),
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
    name = "Main" if place.pool is Pool.MAIN else "Backup"  # technical terms, not translated
    return _("%(pool)s, slot %(slot)s") % {"pool": name, "slot": place.slot}


def _places(finding: Finding) -> dict[str, str]:
    return {
        name: place_name(value)
        for name, value in finding.values.items()
        if isinstance(value, Place)
    }
