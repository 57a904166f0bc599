"""The database side of bulk loading: accounts, both tables, counts, progress, locks."""

import threading

import pytest
from django.contrib.auth.hashers import is_password_usable
from django.db import connection

from apps.accounts.management.bulk import make_accounts
from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_by_handle
from apps.errors import Conflict
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.graph.management import bulk
from apps.graph.management.bulk import Edge
from apps.graph.models import Followee, Follower, GraphImport
from apps.graph.queries import mirror_faults
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.sources.home_cache import HOME
from tests.support.factories import deliver, make_user, publish

DIGEST = "d" * 64


@pytest.fixture
def load(db):
    """`load([("bob", "alice"), ...])`: the pairs as the next lines of a file."""
    bulk.begin_import(DIGEST)

    def next_lines(pairs):
        done = GraphImport.objects.get(digest=DIGEST).lines_done
        edges = [Edge(done + number, *pair) for number, pair in enumerate(pairs, start=1)]
        return bulk.load_edges(DIGEST, edges, after=done, upto=done + len(edges))

    return next_lines


def follows() -> set[tuple[str, str]]:
    return set(Followee.objects.values_list("owner__handle", "followee__handle"))


def counts(handle: str) -> tuple[int, int]:
    row = UserCounts.objects.get(user__handle=handle)
    return row.following, row.followers


def test_accounts_are_made_without_password_and_with_counts(load):
    loaded = load([("fan1", "star")])
    assert (loaded.accounts, loaded.edges, loaded.blocked_lines) == (2, 1, [])
    fan, star = User.objects.select_related("counts").order_by("handle")
    assert [fan.handle, star.handle] == ["fan1", "star"]
    assert not is_password_usable(fan.password)
    assert fan.password != star.password
    assert (fan.display_name, fan.email, fan.is_active, fan.is_staff) == ("", None, True, False)
    star.full_clean()


def test_both_tables_and_both_counts_hold_the_edge(load):
    load([("ann", "cat"), ("bee", "cat"), ("cat", "ann")])
    assert follows() == {("ann", "cat"), ("bee", "cat"), ("cat", "ann")}
    mirrored = set(Follower.objects.values_list("follower__handle", "owner__handle"))
    assert mirrored == follows()
    assert (counts("ann"), counts("bee"), counts("cat")) == ((1, 1), (1, 0), (1, 2))
    assert not any(mirror_faults().values())


def test_edges_lie_in_the_order_of_the_lines(load):
    load([("zoe", "star"), ("ann", "star"), ("moe", "star")])
    in_order = ["zoe", "ann", "moe"]
    assert list(Followee.objects.order_by("id").values_list("owner__handle", flat=True)) == in_order
    assert (
        list(Follower.objects.order_by("id").values_list("follower__handle", flat=True)) == in_order
    )


def test_an_edge_that_is_there_is_not_counted_again(load, alice, bob):
    loaded = load([("bob", "alice"), ("bob", "alice"), ("carl", "alice")])
    assert (loaded.accounts, loaded.edges) == (1, 1)
    assert counts("alice") == (0, 2)
    assert counts("bob") == (1, 0)


def test_accounts_of_people_are_used_and_left_alone(load, alice):
    load([("fan1", "alice")])
    after = user_by_handle("alice")
    assert (after.pk, after.display_name) == (alice.pk, "Alice Wen")
    assert after.check_password("a long enough passphrase")


@pytest.mark.parametrize("blocker", ["alice", "carol"])
def test_a_block_in_either_direction_refuses_the_line(load, alice, carol, blocker):
    owner, other = (alice, carol) if blocker == "alice" else (carol, alice)
    block_user(owner, other)
    loaded = load([("fan1", "alice"), ("carol", "alice"), ("carol", "fan1")])
    assert loaded.blocked_lines == [2]
    assert follows() == {("fan1", "alice"), ("carol", "fan1")}


def test_no_ids_are_used_up_by_accounts_that_exist(db):
    make_accounts(["ann", "bee"])
    make_accounts(["ann", "bee"] * 50)
    make_accounts(["cat"])
    first, last = User.objects.order_by("pk").values_list("pk", flat=True)[::2]
    assert last - first == 2


def test_a_batch_counts_as_done_together_with_its_edges(load, monkeypatch):
    monkeypatch.setattr(bulk, "record", _fail)
    with pytest.raises(ZeroDivisionError):
        load([("ann", "bee")])
    assert GraphImport.objects.get(digest=DIGEST).lines_done == 0
    assert follows() == set()
    assert not User.objects.exists()


def _fail(*_args, **_kwargs):
    raise ZeroDivisionError


def test_the_same_lines_are_never_loaded_by_two(load):
    load([("ann", "bee")])
    with pytest.raises(Conflict):
        bulk.load_edges(DIGEST, [Edge(1, "ann", "cat")], after=0, upto=1)
    assert follows() == {("ann", "bee")}


def test_a_batch_without_edges_is_progress_all_the_same(load):
    loaded = bulk.load_edges(DIGEST, [], after=0, upto=5)
    assert (loaded.accounts, loaded.edges) == (0, 0)
    assert GraphImport.objects.get(digest=DIGEST).lines_done == 5


def test_one_event_a_batch_names_only_who_gained_edges(load, bob, alice):
    load([("bob", "alice"), ("ann", "alice"), ("ann", "bob")])
    event = Event.objects.get(name="graph_loaded", subscriber__startswith="apps.timeline")
    assert event.payload == {"user_ids": [user_by_handle("ann").pk]}
    events = Event.objects.filter(name="graph_loaded")
    recorded = events.count()
    load([("bob", "alice")])
    assert events.count() == recorded


def test_a_reader_who_is_online_sees_the_new_followee(load, alice, bob, carol):
    first = publish(alice, "From Alice.")
    second = publish(carol, "From Carol.")
    deliver()
    assert [item.id for item in home_timeline(bob, Cursor()).items] == [first.pk]
    assert HOME.exists(bob.pk)
    load([("bob", "carol")])
    deliver()
    assert not HOME.exists(bob.pk)
    assert [item.id for item in home_timeline(bob, Cursor()).items] == [second.pk, first.pk]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_people_may_follow_and_unfollow_while_a_load_runs(load):
    people = [make_user(f"person{number}") for number in range(6)]
    pairs = [(one.handle, two.handle) for one in people for two in people if one != two]
    stop, errors = threading.Event(), []

    def click():
        try:
            while not stop.is_set():
                for one in reversed(people):
                    for two in people:
                        if one != two:
                            follow_user(one, two)
                            unfollow_user(one, two)
        except Exception as error:  # noqa: BLE001 -- shown by the assertion below
            errors.append(error)
        finally:
            connection.close()

    clicking = threading.Thread(target=click)
    clicking.start()
    try:
        for _round in range(10):
            load(pairs)
            load(reversed(pairs))
    finally:
        stop.set()
        clicking.join()
    assert errors == []
    assert not any(mirror_faults().values())
    load(pairs)
    assert Followee.objects.count() == len(pairs)
    assert not any(mirror_faults().values())
