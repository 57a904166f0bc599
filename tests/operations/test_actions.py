"""Changes by staff: written with their history, refused in words, made known after the commit."""

import re

import pytest
from django.db import transaction

from apps.errors import Conflict, Invalid, NotFound, Unavailable
from apps.operations import actions
from apps.operations.actions import Author
from apps.operations.models import Action, CacheNode, TopologyVersion
from apps.operations.queries import CODES, topology_in_force
from feedcache.connections import timelines
from feedcache.servers import topology_listener
from feedcache.topology import Place, Pool, State, Topology
from tests.support.faults import dead_redis
from tests.support.threads import together

pytestmark = pytest.mark.django_db
commits = pytest.mark.django_db(transaction=True)  # what happens after the commit
STAFF = Author("chief")
MAIN_0 = Place(Pool.MAIN, 0)


def test_without_a_row_the_settings_are_in_force(settled):
    assert topology_in_force() == settled
    assert settled.version == 0
    assert not actions.republish()


@commits
def test_a_change_is_a_version_with_its_history(settled, spare):
    node = spare()
    row = actions.add_l1_group([node.address], 16, by=STAFF)
    assert (row.pk, row.action, row.made_by) == (1, Action.ADD_L1, "chief")
    assert Topology.from_json(row.before) == settled
    assert row.topology() == topology_in_force()
    assert topology_in_force().l1[0][0].url == node.address
    assert topology_listener.published() == topology_in_force()


def test_the_rows_of_nodes_are_those_of_the_newest_version(settled, spare):
    actions.add_l1_group([spare().address], 16, by=STAFF)
    actions.replace_node(MAIN_0, spare().address, by=STAFF)
    standing = dict(topology_in_force().places())
    rows = {Place(Pool(row.pool), row.slot, row.group): row for row in CacheNode.objects.all()}
    assert set(rows) == set(standing)
    for place, node in standing.items():
        row = rows[place]
        assert (row.name, row.url, row.megabytes) == (node.name, node.url, node.megabytes)
        assert (row.generation, row.state) == (node.generation, node.state.value)


def test_replace_drain_and_back(settled, spare):
    node = spare(64)
    actions.replace_node(MAIN_0, node.address, by=STAFF)
    assert topology_in_force().main[0].url == node.address
    actions.drain_node(MAIN_0, by=STAFF)
    assert topology_in_force().main[0].state is State.DRAINING
    row = actions.roll_back(0, by=STAFF)
    now = topology_in_force()
    assert (row.pk, row.action, now.version) == (3, Action.ROLLBACK, 3)
    assert [node.url for node in now.main] == [node.url for node in settled.main]
    assert now.main[0].generation == 3
    assert now.main[1] == settled.main[1]  # it served all the time, and keeps what it holds


def test_an_l1_group_is_taken_out(settled, spare):
    actions.add_l1_group([spare().address], 16, by=STAFF)
    actions.drain_l1_group(0, by=STAFF)
    assert topology_in_force().l1 == ()


def test_one_class_is_flushed(settled):
    actions.flush_class("outbox", by=STAFF)
    assert topology_in_force().epochs == {"outbox": 1}


def test_a_node_that_does_not_answer_is_refused(settled):
    with pytest.raises(Invalid, match="nothing-here.sock"):
        actions.add_l1_group(["unix:/nothing-here.sock"], 16, by=STAFF)
    with pytest.raises(Invalid, match="127.0.0.1:1"):
        actions.replace_node(MAIN_0, "127.0.0.1:1", by=STAFF)
    assert not TopologyVersion.objects.exists()


@commits
def test_a_topology_that_cannot_work_is_refused_in_plain_words(settled, spare):
    node = spare()
    with pytest.raises(Invalid, match="nowhere"):
        actions.add_l1_group(["nowhere"], 16, by=STAFF)
    with pytest.raises(Invalid, match=re.escape(settled.main[1].url)):
        actions.add_l1_group([settled.main[1].url], 16, by=STAFF)
    with pytest.raises(Invalid, match="0 MB at L1 group 0, slot 0 is not a size"):
        actions.add_l1_group([node.address], 0, by=STAFF)
    with pytest.raises(Invalid):
        actions.add_l1_group([], 16, by=STAFF)
    actions.drain_node(MAIN_0, by=STAFF)
    with pytest.raises(Invalid):
        actions.drain_node(Place(Pool.MAIN, 1), by=STAFF)
    assert TopologyVersion.objects.count() == 1
    assert topology_listener.published() == topology_in_force()


def test_what_is_not_there(settled):
    for act in (
        lambda: actions.drain_node(Place(Pool.MAIN, 9), by=STAFF),
        lambda: actions.drain_l1_group(0, by=STAFF),
        lambda: actions.flush_class("all", by=STAFF),
        lambda: actions.roll_back(9, by=STAFF),
    ):
        with pytest.raises(NotFound):
            act()


def test_a_change_on_top_of_an_unseen_one_is_refused(settled):
    actions.flush_class("content", by=Author("chief", seen=0))
    with pytest.raises(Conflict):
        actions.flush_class("outbox", by=Author("other", seen=0))
    actions.flush_class("outbox", by=Author("other", seen=1))


@commits
def test_changes_at_once_make_one_version_each_or_are_refused(settled):
    def flush(index):
        try:
            return actions.flush_class("content", by=Author(f"staff {index}")).pk
        except Conflict:
            return None

    made = [pk for pk in together(6, flush) if pk]
    assert sorted(made) == list(range(1, len(made) + 1))
    assert TopologyVersion.objects.count() == len(made) >= 1
    assert CacheNode.objects.count() == 3


@commits
def test_nothing_is_published_before_the_commit(settled):
    with transaction.atomic():
        actions.flush_class("content", by=STAFF)
        assert topology_listener.published() is None
        transaction.set_rollback(True)
    assert topology_listener.published() is None
    assert topology_in_force() == settled


@commits
def test_a_change_while_redis_is_down_is_published_later(settled):
    with dead_redis():
        actions.flush_class("outbox", by=STAFF)
    assert topology_listener.published() is None
    assert actions.republish()
    assert topology_listener.published() == topology_in_force()
    assert not actions.republish()


def test_a_flush_that_leaves_keys_in_redis_says_so(settled):
    with dead_redis(), pytest.raises(Unavailable):
        actions.flush_class("content", by=STAFF)
    assert topology_in_force().epochs == {"content": 1}


@commits
def test_a_database_that_was_restored_gives_no_version_out_twice(settled):
    for _ in range(3):
        actions.flush_class("content", by=STAFF)
    TopologyVersion.objects.filter(pk__gt=1).delete()
    assert actions.flush_class("outbox", by=STAFF).pk == 4
    assert topology_listener.published() == topology_in_force()


@commits
def test_garbage_in_redis_stops_no_change(settled):
    timelines().set(topology_listener.KEY, b"\x00{")
    actions.flush_class("content", by=STAFF)
    assert topology_listener.published() == topology_in_force()


def test_every_finding_has_words():
    codes = {
        "no_main", "empty_group", "too_many", "bad_address", "bad_size", "bad_name", "twice", "main_unread",
        "l1_groups", "l1_size", "backup_size", "bad_redis",
    }  # fmt: skip
    assert codes == CODES
