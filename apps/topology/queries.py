"""What the topology is and was."""

from apps.caches.servers import configured_topology
from apps.caches.topology import Topology
from apps.topology.models import TopologyVersion


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
