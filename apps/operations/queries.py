"""The topology and its history, and the health of its servers."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.operations.models import TopologyVersion
from apps.operations.wording import place_name
from feedcache import totals
from feedcache.health import MemcachedStatus, memcached_statuses
from feedcache.memcached import topology_listener
from feedcache.memcached.topology_listener import Report
from feedcache.redis_servers.connections import RedisError, configured_topology
from feedcache.topology import Node, Place, Topology

TIER = "tier:"  # prefix of layers among the subjects of the counts; the others are classes of data
HITS = ("hit", "negative")  # a cached absence is a hit too


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
        """The place in a URL."""
        return f"{self.place.pool}-{self.place.group}-{self.place.slot}"


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
        counts = totals.total()
    except RedisError:
        return [], []
    by_subject = [
        _rate(counts, subject) for subject in sorted({subject for subject, _word in counts})
    ]
    classes = [rate for rate in by_subject if not rate.name.startswith(TIER)]
    tiers = [rate for rate in by_subject if rate.name.startswith(TIER)]
    return classes, tiers


def _rate(counts: Mapping[tuple[str, str], int], subject: str) -> Rate:
    outcomes = {outcome: number for (name, outcome), number in counts.items() if name == subject}
    answered = sum(outcomes.get(outcome, 0) for outcome in HITS)
    return Rate(subject, answered, answered + outcomes.get("miss", 0) + outcomes.get("garbage", 0))
