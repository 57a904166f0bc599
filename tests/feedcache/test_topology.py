"""The topology as a value: sizes, refusals, text and back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache.slot_map import even_map
from feedcache.topology import (
    Node,
    Phase,
    Place,
    Pool,
    Resize,
    Sizes,
    State,
    Tenant,
    Topology,
    TopologyError,
    configured,
    is_address,
    is_redis_address,
    problems,
    warnings,
)


def make(main=2, backup=1, groups=4, *, sizes=(64, 64, 16), **fields):
    """Distinct nodes: Main, Backup, and L1 groups of one node each."""
    numbers = iter(range(20_000, 21_000))

    def nodes(count, megabytes):
        ports = [next(numbers) for _ in range(count)]
        return tuple(Node(f"node {port}", f"10.0.0.1:{port}", megabytes) for port in ports)

    return Topology(
        main=nodes(main, sizes[0]),
        backup=nodes(backup, sizes[1]),
        l1=tuple(nodes(1, sizes[2]) for _ in range(groups)),
        **fields,
    )


def codes(findings):
    return [finding.code for finding in findings]


def test_the_default_shape_has_nothing_to_complain_of():
    assert problems(make()) == []
    assert warnings(make()) == []


def test_two_layers_are_a_choice():
    assert problems(make(groups=0)) == warnings(make(groups=0)) == []


@pytest.mark.parametrize(
    ("groups", "fine"), [(1, False), (3, False), (4, True), (8, True), (9, False)]
)
def test_groups_of_l1_by_number(groups, fine):
    assert codes(warnings(make(groups=groups))) == ([] if fine else ["l1_groups"])


@pytest.mark.parametrize(
    ("megabytes", "fine"), [(11, False), (12, True), (15, True), (20, True), (21, False)]
)
def test_a_group_of_l1_has_a_sixth_to_a_tenth_of_main(megabytes, fine):
    found = codes(warnings(make(sizes=(60, 60, megabytes))))
    assert found == ([] if fine else ["l1_size"] * 4)


@pytest.mark.parametrize(("megabytes", "fine"), [(30, True), (64, True), (65, False)])
def test_backup_has_at_most_half_of_main(megabytes, fine):
    assert codes(warnings(make(sizes=(64, megabytes, 16)))) == ([] if fine else ["backup_size"])


def test_a_size_that_is_unusual_is_no_reason_to_refuse():
    assert problems(make(groups=1, sizes=(64, 640, 64))) == []


def test_what_cannot_work_is_refused():
    good = make()
    main = Place(Pool.MAIN, 1)
    assert codes(problems(good.with_node(main, good.main[0]))) == ["twice", "twice"]
    assert codes(problems(good.with_node(main, Node("a", good.main[0].url, 64)))) == ["twice"]
    assert codes(problems(good.with_node(main, Node(good.main[0].name, "a:1", 64)))) == ["twice"]
    assert codes(problems(good.with_node(main, Node("", "a:1", 64)))) == ["bad_name"]
    assert codes(problems(good.with_node(main, Node("a\n", "a:1", 64)))) == ["bad_name"]
    assert codes(problems(Topology())) == ["no_main"]
    assert codes(problems(good.with_node(main, Node("a", "nowhere", 64)))) == ["bad_address"]
    assert codes(problems(good.with_node(main, Node("a", "10.0.0.2:1", 0)))) == ["bad_size"]
    assert codes(problems(Topology(main=good.main, l1=((),)))) == ["empty_group"]
    assert codes(problems(make(main=65, backup=0, groups=0))) == ["too_many"]


def test_a_main_that_nobody_reads_is_refused():
    (node,) = make(main=1).main
    unread = Topology(main=(Node("a", node.url, 64, state=State.DRAINING),))
    assert codes(problems(unread)) == ["main_unread"]


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("127.0.0.1:11211", True),
        ("memcached-main:11211", True),
        ("[::1]:11211", True),
        ("unix:/run/m.sock", True),
        ("host", False),
        ("host:0", False),
        ("host:65536", False),
        ("unix:relative", False),
        ("unix:/a b", False),
        ("host:11211\n", False),
        ("http://host:11211", False),
        ("h" * 300 + ":1", False),
        ("", False),
    ],
)
def test_addresses(text, fine):
    assert is_address(text) is fine


def test_the_settings_are_version_0():
    sizes = Sizes(main=64, backup=60, l1=16)
    topology = configured(["a:1", "b:1"], ["c:1"], [["d:1"], ["e:1"]], sizes=sizes)
    assert (topology.version, topology.l1[1]) == (0, (Node("l1-1-0", "e:1", 16),))
    assert configured([], ["c:1"], [], sizes=sizes) == Topology()


def test_places_name_every_node_once():
    topology = make(groups=2)
    assert [str(place) for place, _node in topology.places()] == [
        "main 0", "main 1", "backup 0", "l1 0/0", "l1 1/0"
    ]  # fmt: skip
    for place, node in topology.places():
        assert topology.node_at(place) == node
        changed = topology.with_node(place, Node("new", "new:1", 1))
        assert [p for p, n in changed.places() if n.url == "new:1"] == [place]
    assert topology.node_at(Place(Pool.L1, 0, 7)) is None


def test_only_active_nodes_are_read():
    assert [state for state in State if Node("a", "a:1", 1, state=state).is_read] == [State.ACTIVE]


nodes = st.builds(
    Node,
    st.text(),
    st.text(),
    st.integers(0, 2**40),
    st.integers(0, 2**40),
    st.sampled_from(State),
)
groups = st.lists(nodes, max_size=3).map(tuple)
slot_maps = st.integers(0, 1).map(even_map)
topologies = st.builds(
    Topology,
    st.integers(0, 2**60),
    groups,
    groups,
    st.lists(groups, max_size=3).map(tuple),
    st.dictionaries(st.text(), st.integers(0, 2**40), max_size=3),
)


@st.composite
def resized(draw):
    """A pool by a map of its own, or on the way from one to another."""
    topology = draw(topologies)
    pools = [pool for pool in (Pool.MAIN, Pool.BACKUP) if topology.group(pool)]
    if not pools:
        return topology
    resize = st.builds(Resize, st.sampled_from(Phase), slot_maps, slot_maps)
    return replace(
        topology,
        maps=draw(st.dictionaries(st.sampled_from(pools), slot_maps)),
        resizes=draw(st.dictionaries(st.sampled_from(pools), resize)),
    )


@given(topologies | resized())
def test_text_and_back(topology):
    assert Topology.from_json(topology.to_json()) == topology
    problems(topology)
    warnings(topology)


@pytest.mark.long
@given(st.one_of(st.text(), st.binary()))
def test_garbage_is_refused_as_such(text):
    with pytest.raises(TopologyError):
        Topology.from_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "null",
        '{"version":1.0,"main":[],"backup":[],"l1":[],"epochs":{}}',
        '{"version":true,"main":[],"backup":[],"l1":[],"epochs":{}}',
        '{"version":-1,"main":[],"backup":[],"l1":[],"epochs":{}}',
        '{"version":1,"main":[["a","a:1",1,1]],"backup":[],"l1":[],"epochs":{}}',
        '{"version":1,"main":[["a","a:1",1,1,"asleep"]],"backup":[],"l1":[],"epochs":{}}',
        '{"version":1,"main":[["a","a:1","1",1,"active"]],"backup":[],"l1":[],"epochs":{}}',
        '{"version":1,"main":"abc","backup":[],"l1":[],"epochs":{}}',
        '{"version":1,"main":[],"backup":[],"l1":[],"epochs":{"content":"x"}}',
        '{"version":1,"main":[],"backup":[],"l1":[],"epochs":{},"maps":{"l1":"' + "A" * 840 + '"}}',
        '{"version":1,"main":[],"backup":[],"l1":[],"epochs":{},"maps":{"main":"'
        + "A" * 840
        + '"}}',
        '{"version":1,"main":[],"backup":[],"l1":[],"epochs":{},"maps":{"main":"'
        + "." * 839
        + '"}}',
        '{"version":1,"main":[],"backup":[],"l1":[],"epochs":{},"resizes":{"main":["joining"]}}',
        "[" * 100_000,
    ],
)
def test_what_looks_like_one_but_is_not(text):
    with pytest.raises(TopologyError):
        Topology.from_json(text)


def test_tenants_are_part_of_the_text_and_older_texts_have_none():
    moving = Topology(version=2, tenants={"timelines": Tenant("redis://10.0.0.7:6379/0", also="")})
    assert Topology.from_json(moving.to_json()) == moving
    older = '{"version":1,"main":[],"backup":[],"l1":[],"epochs":{}}'
    assert Topology.from_json(older).tenant("graph") == Tenant()
    for wrong in ('{"graph": ["a"]}', '{"graph": [1, null]}', '{"graph": "a"}', "[1]"):
        text = '{"version":1,"main":[],"backup":[],"l1":[],"epochs":{},"tenants":%s}'
        with pytest.raises(TopologyError):
            Topology.from_json(text % wrong)


@pytest.mark.parametrize(
    "url",
    [
        "redis://10.0.0.7:6379/0", "redis://cache.example", "rediss://[::1]:6380/12", "unix:///run/redis/redis.sock",
        "unix:///run/redis.sock?db=3", "redis+cluster://a:1,b:2,c:3",
    ],
)  # fmt: skip
def test_addresses_of_redis(url):
    assert is_redis_address("graph", url)
    assert problems(Topology(1, tenants={"graph": Tenant(url)})) == []


@pytest.mark.parametrize(
    "url",
    [
        "10.0.0.7:6379", "redis://user:secret@a:1/0", "redis://", "unix://relative", "redis://a:1/0?password=secret",
        "http://a", "redis+cluster://", "redis+cluster://u:p@a:1", "redis://a:1/0\n", "redis://" + "a" * 300,
    ],
)  # fmt: skip
def test_what_is_no_address_of_redis(url):
    assert not is_redis_address("graph", url)
    (finding,) = problems(Topology(1, tenants={"graph": Tenant("", also=url)}))
    assert finding.code == "bad_redis"


def test_broadcasts_need_one_server():
    assert is_redis_address("broadcasts", "redis://a:1/0")
    assert is_redis_address("broadcasts", "redis+cluster://a:1,b:2")
    assert not is_redis_address("counters", "redis+cluster://a:1,b:2")


def test_counters_and_filters_do_not_move():
    for name in ("counters", "existence", "cache", "x"):
        (finding,) = problems(Topology(1, tenants={name: Tenant("redis://a:1/0")}))
        assert finding.code == "bad_redis"
