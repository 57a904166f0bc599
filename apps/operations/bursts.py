"""Bursts (source 000): one key is read so often that more L1 groups are needed, until the burst is over.

Every L1 group stores the hottest keys, and each read queries one group. So with `n` groups, a node gets one n-th of a
key's reads. Staff, or the site automatically, add a group from the spare nodes that staff named, and remove it once it
has not been needed for a few minutes.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from apps.errors import Invalid
from apps.operations.actions import Author, add_l1_group, drain_l1_group
from apps.operations.models import BurstPolicy, TopologyVersion
from apps.operations.queries import topology_in_force
from feedcache.servers import hot_keys
from feedcache.servers.hot_keys import HotKey
from feedcache.topology import Topology

logger = logging.getLogger(__name__)

BURST_SECONDS = 20  # the reads of a key are measured over this time before a group is added
SHOWN = 20
# A group is removed if each node of the other groups would then get less than this share of `most_reads`.
SPARE_LOAD = 0.5
BY = "the site"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of L1: add a group of one node, the first at `add` that works, or remove the group number `remove`."""

    add: tuple[str, ...] = ()
    remove: int | None = None


@dataclass(frozen=True, slots=True)
class Heat:
    """The keys that are read most, and the proposed change. `is_short`: a group is needed, but cannot be added."""

    keys: list[HotKey]
    reads_per_node: float  # reads per second of the first key at its node in each L1 group
    proposal: Proposal | None
    is_short: bool


def burst_policy() -> BurstPolicy:
    """The rules that staff have saved, or else the defaults (unsaved)."""
    return BurstPolicy.objects.first() or BurstPolicy()


def spare_urls(policy: BurstPolicy) -> list[str]:
    return policy.spares.split()


def heat() -> Heat:
    """The keys that were read most within BURST_SECONDS, and the proposed change of L1. Raises RedisError."""
    policy, topology = burst_policy(), topology_in_force()
    keys = hot_keys.hottest(SHOWN, seconds=BURST_SECONDS)
    peak = hot_keys.peak(seconds=policy.calm_minutes * 60)
    return judge(policy, topology, keys, peak=peak)


def judge(policy: BurstPolicy, topology: Topology, keys: Sequence[HotKey], *, peak: float) -> Heat:
    """Propose a change of L1. `peak`: the most reads per second of any key in the last `calm_minutes`."""
    groups, spares = topology.l1, spare_urls(policy)
    reads = keys[0].reads / max(len(groups), 1) if keys else 0.0
    used = {node.url for _place, node in topology.places()}
    free = tuple(url for url in spares if url not in used)
    proposal, is_short = None, False
    if reads > policy.most_reads and topology.main:
        is_short = not free or len(groups) >= policy.most_groups
        proposal = None if is_short else Proposal(add=free)
    else:
        added = [
            number for number, group in enumerate(groups) if {node.url for node in group} <= set(spares)
        ]  # fmt: skip
        rest = max(len(groups) - 1, 1)
        if added and peak / rest < policy.most_reads * SPARE_LOAD:
            proposal = Proposal(remove=added[-1])
    return Heat(list(keys), reads, proposal, is_short)


def act() -> TopologyVersion | None:
    """Carry out the proposed change, if there is one and staff allow automatic changes.

    Raises DomainError or RedisError.
    """
    policy = burst_policy()
    if not policy.is_automatic:
        return None
    seen = topology_in_force().version  # before `heat`, so that a change in between is a conflict
    found = heat()
    if found.proposal is None:
        return None
    return carry_out(found.proposal, policy, by=Author(BY, seen=seen))


def carry_out(proposal: Proposal, policy: BurstPolicy, *, by: Author) -> TopologyVersion:
    """Make a proposed change. Raises Invalid, Conflict or NotFound."""
    if proposal.remove is not None:
        return drain_l1_group(proposal.remove, by=by)
    *others, last = proposal.add
    for url in others:
        try:
            return add_l1_group([url], policy.megabytes, by=by)
        except Invalid as error:
            logger.warning("a spare node cannot be added, the next one is tried: %s", error)
    return add_l1_group([last], policy.megabytes, by=by)
