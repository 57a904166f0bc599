"""Bursts: when an L1 group is proposed, added and removed, and the bounds of staff."""

import pytest

from apps.errors import Invalid
from apps.operations import actions, bursts
from apps.operations.actions import Author
from apps.operations.bursts import Proposal
from apps.operations.models import BurstPolicy, TopologyVersion
from apps.operations.queries import topology_in_force
from feedcache.servers import hot_keys
from feedcache.servers.hot_keys import HotKey
from feedcache.topology import Node, Topology


def topology(*groups):
    return Topology(
        main=(Node("main-0", "10.0.0.1:1", 64),),
        l1=tuple((Node(f"l1 {url}", url, 16),) for url in groups),
    )


def judged(reads, *groups, spares="s:1\ns:2", peak=None, **rules):
    policy = BurstPolicy(spares=spares, most_reads=1000, **rules)
    keys = [HotKey("post:1", float(reads))] if reads else []
    return bursts.judge(policy, topology(*groups), keys, peak=reads if peak is None else peak)


@pytest.mark.parametrize(
    ("reads", "groups", "expected"),
    [
        (0, (), None),
        (1000, (), None),
        (1001, (), Proposal(add=("s:1", "s:2"))),
        (1900, ("a:1", "b:1"), None),
        (2001, ("a:1", "b:1"), Proposal(add=("s:1", "s:2"))),
        (3001, ("a:1", "b:1", "s:1"), Proposal(add=("s:2",))),
        (1600, ("a:1", "b:1", "s:1"), None),
        (999, ("a:1", "b:1", "s:1"), Proposal(remove=2)),
        (0, ("a:1", "b:1"), None),
    ],
)
def test_groups_follow_the_reads_of_the_hottest_key(reads, groups, expected):
    """They are needed above 1000 reads a second at a node, and not below half of it with one group less."""
    assert judged(reads, *groups).proposal == expected


def test_a_group_stays_until_it_has_not_been_needed_for_a_while():
    assert judged(10, "a:1", "s:1", peak=600).proposal is None
    assert judged(10, "a:1", "s:1", peak=400).proposal == Proposal(remove=1)


def test_more_than_staff_allow_is_only_told():
    found = judged(9000, "a:1", "b:1", most_groups=2)
    assert (found.proposal, found.is_short) == (None, True)
    found = judged(9000, "a:1", "s:1", "s:2")
    assert (found.proposal, found.is_short) == (None, True)
    assert not judged(10).is_short


class Reads:
    """Of the hottest key."""

    a_second = 9000.0


@pytest.fixture
def reads(db, settled, monkeypatch):
    made = Reads()
    monkeypatch.setattr(
        hot_keys, "hottest", lambda _number, seconds: [HotKey("post:1", made.a_second)]
    )
    monkeypatch.setattr(hot_keys, "peak", lambda seconds: made.a_second)
    return made


def test_nothing_is_done_unless_staff_say_so(reads, spare):
    BurstPolicy.objects.create(spares=spare().address)
    assert bursts.heat().proposal is not None
    assert bursts.act() is None
    assert not TopologyVersion.objects.exists()


def test_a_group_comes_with_a_burst_and_goes_with_it(reads, spare):
    node = spare()
    BurstPolicy.objects.create(is_automatic=True, spares=node.address, megabytes=7)
    added = bursts.act()
    assert added is not None
    assert (added.made_by, added.action) == ("the site", "add_l1")
    ((one,),) = topology_in_force().l1
    assert (one.url, one.megabytes) == (node.address, 7)
    assert bursts.act() is None, "there is no other spare node"
    reads.a_second = 10.0
    assert bursts.act() is not None
    assert topology_in_force().l1 == ()
    assert bursts.act() is None


def test_a_spare_node_that_is_dead_is_passed_over(reads, spare):
    alive, dead = spare(), "unix:/nothing-here.sock"
    policy = BurstPolicy.objects.create(is_automatic=True, spares=f"{dead}\n{alive.address}")
    assert bursts.act() is not None
    ((one,),) = topology_in_force().l1
    assert one.url == alive.address
    policy.spares = dead
    policy.save()
    with pytest.raises(Invalid):
        bursts.act()


def test_groups_of_staff_stay(reads, spare):
    actions.add_l1_group([spare().address], 16, by=Author("chief"))
    BurstPolicy.objects.create(is_automatic=True, spares=spare().address)
    reads.a_second = 0.0
    assert bursts.act() is None
