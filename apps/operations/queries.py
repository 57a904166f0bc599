"""What the topology is and was, and how the servers in it are."""

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

TIER = "tier:"  # how a layer is called among the subjects of the counts; all others are classes of data
ANSWERS = ("hit", "negative")  # "there is nothing" is an answer too


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node where it stands, and how it is."""

    place: Place
    node: Node
    health: MemcachedStatus

    @property
    def title(self) -> str:
        """Where, in words."""
        return place_name(self.place)

    @property
    def code(self) -> str:
        """The place in an address."""
        return f"{self.place.pool}-{self.place.group}-{self.place.slot}"


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a class of data or a layer had what was asked of it, within the last hour."""

    name: str
    answered: int
    asked: int

    @property
    def share(self) -> float:
        """Of 1."""
        return self.answered / self.asked if self.asked else 0.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """The processes and the version each runs; None when Redis does not tell."""

    processes: list[Report] | None
    version: int

    @property
    def lagging(self) -> list[Report]:
        """Those that do not run the version in force."""
        return [one for one in self.processes or [] if one.version != self.version]


def latest() -> TopologyVersion | None:
    """The newest change; None when staff never changed anything."""
    return TopologyVersion.objects.order_by("-version").first()


def topology_in_force() -> Topology:
    """What every process should use: the newest version, else what the settings say."""
    change = latest()
    return change.topology() if change else configured_topology()


def topology_of(version: int) -> Topology | None:
    """An earlier topology; 0 is what the settings say."""
    if version == 0:
        return configured_topology()
    change = TopologyVersion.objects.filter(pk=version).first()
    return change.topology() if change else None


def node_statuses(topology: Topology) -> list[NodeStatus]:
    """All nodes, each probed now."""
    health = memcached_statuses(node.url for _place, node in topology.places())
    return [NodeStatus(place, node, health[node.url]) for place, node in topology.places()]


def fleet(topology: Topology) -> Fleet:
    """Which process runs which version."""
    try:
        return Fleet(topology_listener.processes(), topology.version)
    except RedisError:
        return Fleet(None, topology.version)


def rates() -> tuple[list[Rate], list[Rate]]:
    """Hit rates of the classes and of the layers; nothing while Redis does not answer."""
    try:
        counts = totals.total()
    except RedisError:
        return [], []
    found = [_rate(counts, subject) for subject in sorted({subject for subject, _word in counts})]
    classes = [rate for rate in found if not rate.name.startswith(TIER)]
    tiers = [rate for rate in found if rate.name.startswith(TIER)]
    return classes, tiers


def _rate(counts: Mapping[tuple[str, str], int], subject: str) -> Rate:
    of = {outcome: number for (name, outcome), number in counts.items() if name == subject}
    answered = sum(of.get(outcome, 0) for outcome in ANSWERS)
    return Rate(subject, answered, answered + of.get("miss", 0) + of.get("garbage", 0))
