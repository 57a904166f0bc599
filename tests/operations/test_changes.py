"""Changes on values: what is placed or flushed anew never gets back to memory of an earlier time."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.operations import actions
from feedcache.topology import CLASSES, Node, Place, Pool, State, Topology, problems

MAIN_1 = Place(Pool.MAIN, 1)


def settled():
    return Topology(
        main=(Node("main-0", "a:1", 64), Node("main-1", "b:1", 64)),
        backup=(Node("backup-0", "c:1", 64),),
        l1=((Node("l1-0-0", "d:1", 16),), (Node("l1-1-0", "e:1", 16),)),
    )


def test_an_l1_group_is_added_at_the_end():
    after = actions.with_l1_group(settled(), ["f:1", "g:1"], 8, version=5)
    assert after.l1[:2] == settled().l1
    assert after.l1[2] == (Node("l1-v5-0", "f:1", 8, 5), Node("l1-v5-1", "g:1", 8, 5))
    assert (after.main, after.backup, after.version) == (settled().main, settled().backup, 5)


def test_a_replaced_node_keeps_the_slot_and_begins_a_generation():
    after = actions.replaced(settled(), MAIN_1, "x:1", None, version=3)
    assert after.main == (settled().main[0], Node("main-v3", "x:1", 64, 3))
    assert actions.replaced(settled(), MAIN_1, "x:1", 128, version=3).main[1].megabytes == 128


def test_the_same_node_again_is_an_empty_one():
    drained = actions.drained(settled(), MAIN_1, version=2)
    assert drained.main[1] == Node("main-1", "b:1", 64, 0, State.DRAINING)
    after = actions.replaced(drained, MAIN_1, "b:1", None, version=3)
    assert after.main[1] == Node("main-1", "b:1", 64, 3)


def test_a_group_is_taken_out():
    after = actions.without_l1_group(settled(), 0, version=2)
    assert after.l1 == settled().l1[1:]


def test_a_flush_concerns_one_class():
    name, other = CLASSES[:2]
    after = actions.flushed(settled(), name, version=4)
    assert (after.epoch_of(name), after.epoch_of(other)) == (4, 0)
    assert after.main == settled().main


def test_a_rollback_brings_no_old_memory_back():
    """The old node was not written while the new one served."""
    first = settled()
    second = actions.replaced(first, MAIN_1, "x:1", None, version=2)
    third = actions.rolled_back(second, first, version=3)
    assert third.main == (first.main[0], Node("main-1", "b:1", 64, 3))
    assert third.backup == first.backup


def test_a_rollback_undoes_no_flush():
    name = CLASSES[0]
    flushed = actions.flushed(settled(), name, version=2)
    assert actions.rolled_back(flushed, settled(), version=3).epoch_of(name) == 2


def test_a_pool_of_another_width_begins_generations_at_all_its_places():
    """Two, four and two nodes: half of what the first two held was changed on the others meanwhile."""
    wide = settled()
    narrow = replace(wide, main=wide.main[:1])
    assert actions.rolled_back(wide, narrow, version=3).main == (
        replace(wide.main[0], generation=3),
    )
    again = actions.rolled_back(narrow, wide, version=4)
    assert {node.generation for node in again.main} == {4}
    assert again.backup == wide.backup


def test_a_rollback_of_a_drain_begins_a_generation():
    drained = actions.drained(settled(), MAIN_1, version=2)
    assert actions.rolled_back(drained, settled(), version=3).main[1] == Node("main-1", "b:1", 64, 3)  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        lambda t: actions.replaced(t, Place(Pool.MAIN, 2), "x:1", None, version=2),
        lambda t: actions.replaced(t, Place(Pool.L1, 0, 9), "x:1", None, version=2),
        lambda t: actions.drained(t, Place(Pool.BACKUP, 1), version=2),
        lambda t: actions.without_l1_group(t, 2, version=2),
        lambda t: actions.without_l1_group(t, -1, version=2),
        lambda t: actions.flushed(t, "everything", version=2),
    ],
    ids=["main", "group", "backup", "last", "negative", "class"],
)
def test_what_is_not_there_cannot_be_changed(change):
    with pytest.raises(actions.ImpossibleError):
        change(settled())


ACTS = ["add", "replace", "again", "drain", "remove", "flush", "back"]


@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 50)), max_size=30))
def test_no_node_serves_twice_under_one_generation(steps):
    """Whatever staff do: a node that came into reading has a generation under which it was never read before."""
    history, now = [settled()], settled()
    serving = {(n.url, n.generation) for _p, n in now.places()}
    ever = set(serving)
    for number, (act, pick) in enumerate(steps):
        after = step(now, history, act, pick, version=number + 1)
        if after is None or problems(after):
            continue
        reads = {(n.url, n.generation) for _p, n in after.places() if n.is_read}
        assert not (reads - serving) & ever, act
        assert all(after.epoch_of(name) >= now.epoch_of(name) for name in CLASSES)
        assert after.version > now.version
        history.append(after)
        now, serving, ever = after, reads, ever | reads


def step(now, history, act, pick, *, version):
    places = list(now.places())
    place, node = places[pick % len(places)]
    try:
        return {
            "add": lambda: actions.with_l1_group(now, [f"n{pick}:1"], 16, version=version),
            "replace": lambda: actions.replaced(
                now, place, f"n{pick % 7}:1", None, version=version
            ),
            "again": lambda: actions.replaced(now, place, node.url, None, version=version),
            "drain": lambda: actions.drained(now, place, version=version),
            "remove": lambda: actions.without_l1_group(now, pick % 3, version=version),
            "flush": lambda: actions.flushed(now, CLASSES[pick % len(CLASSES)], version=version),
            "back": lambda: actions.rolled_back(now, history[pick % len(history)], version=version),
        }[act]()
    except actions.ImpossibleError:
        return None
