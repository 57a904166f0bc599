"""Tables of counts behind the counters: what PostgreSQL has is what Redis gets, and after the commit only."""

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.cache import USER_COUNTS, USER_COUNTS_TABLE
from apps.accounts.counts_store import CountsTable, put_after_commit, rebuild_after_commit
from apps.accounts.models import UserCounts
from apps.accounts.queries import AccountCounts, user_counts
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.posts.actions.publish import delete_post
from apps.posts.cache import POST_COUNTS, POST_COUNTS_TABLE
from apps.posts.models import PostCounts
from feedcache.connections import counters
from feedcache.structures.counters import maintenance
from feedcache.structures.counters.buckets import IdBuckets, TimeBuckets
from feedcache.structures.counters.records import Row
from tests.support.factories import deliver, make_user, publish
from tests.support.faults import dead_redis
from tests.support.threads import together

pytestmark = pytest.mark.django_db


def counts(user):
    return USER_COUNTS.get_many([user.pk])[user.pk]


def row_of(user):
    row = UserCounts.objects.get(pk=user.pk)
    return row.followers, row.following, row.posts


def test_a_change_raises_the_revision_and_gives_the_row_as_it_is(alice):
    first = USER_COUNTS_TABLE.change(alice.pk, {"posts": +3}, last_post_id=77)
    second = USER_COUNTS_TABLE.change(alice.pk, {"posts": -1, "followers": +1})
    assert (first, second) == (Row(alice.pk, (0, 0, 3), 1), Row(alice.pk, (1, 0, 2), 2))
    assert UserCounts.objects.get(pk=alice.pk).last_post_id == 77
    assert USER_COUNTS_TABLE.change(10**9, {"posts": 1}) is None
    USER_COUNTS.change(10**9, {"posts": 1})


def test_a_count_in_the_database_never_falls_below_zero(alice):
    with pytest.raises(IntegrityError), transaction.atomic():
        USER_COUNTS_TABLE.change(alice.pk, {"posts": -1})


def test_rows_are_found_by_ids_by_spans_and_in_order(alice, bob, carol):
    ids = [alice.pk, bob.pk]
    for pk in ids:
        USER_COUNTS_TABLE.change(pk, {"posts": 1})
    found = USER_COUNTS_TABLE.rows([*ids, carol.pk, 10**9])
    assert set(found) == {*ids, carol.pk}
    places = IdBuckets()
    spans = [places.span(place) for place in {places.place(pk)[0] for pk in ids}]
    assert sorted(USER_COUNTS_TABLE.rows_in(spans)) == sorted(
        found[pk] for pk in ids
    )  # carol was never counted
    assert USER_COUNTS_TABLE.rows_after(0, limit=9) == [found[pk] for pk in ids]
    assert USER_COUNTS_TABLE.rows_after(alice.pk, limit=9) == [found[bob.pk]]
    assert [row.id for row in USER_COUNTS_TABLE.all_rows_after(0, limit=9)] == [*ids, carol.pk]
    assert USER_COUNTS_TABLE.ends() == (alice.pk, carol.pk)


def test_spans_of_split_buckets_hold_every_second_author(alice, bob):
    posts = [publish(author) for author in (alice, bob)]
    for post in posts:
        POST_COUNTS_TABLE.change(post.pk, {"likes": 1})
    places = TimeBuckets(1, 2)
    for post in posts:
        (row,) = POST_COUNTS_TABLE.rows_in([places.span(places.place(post.pk)[0])])
        assert row.id == post.pk


def test_a_table_without_rows_ends_at_zero(db):
    assert CountsTable(PostCounts, ("likes",), rebuild="x").ends() == (0, 0)


def test_counted_values_only_rise(alice):
    post = publish(alice)
    assert POST_COUNTS_TABLE.raise_to("reads", {post.pk: 5, 10**15: 9}) == 1
    assert POST_COUNTS_TABLE.raise_to("reads", {post.pk: 3}) == 0
    POST_COUNTS_TABLE.add_to("reads", {post.pk: 2})
    row = PostCounts.objects.get(pk=post.pk)
    assert (row.reads, row.revision) == (7, 0)
    POST_COUNTS_TABLE.add_to("reads", {post.pk: -20})
    assert PostCounts.objects.get(pk=post.pk).reads == 0


# --- actions ----------------------------------------------------------------------------------------


def test_every_action_that_changes_counts_shows_at_once(alice, carol):
    follow_user(carol, alice)
    assert (counts(alice), counts(carol)) == ((1, 0, 0), (0, 1, 0))
    post = publish(alice)
    publish(carol, reply_to_id=post.pk)
    assert (counts(alice), counts(carol)) == ((1, 0, 1), (0, 1, 1))
    delete_post(post.pk, by=alice)
    unfollow_user(carol, alice)
    assert (counts(alice), counts(carol)) == ((0, 0, 0), (0, 0, 1))
    follow_user(alice, carol)
    block_user(carol, alice)
    assert (counts(alice), counts(carol)) == ((0, 0, 0), (0, 0, 1))
    for user in (alice, carol):
        assert counts(user) == row_of(user)


def test_counts_of_accounts_need_no_rows(alice, bob, django_assert_num_queries):
    with django_assert_num_queries(0):
        found = user_counts([alice.pk, bob.pk, 10**8])
    assert found == {
        alice.pk: AccountCounts(followers=1),
        bob.pk: AccountCounts(following=1),
        10**8: AccountCounts(),
    }


def test_what_is_rolled_back_is_not_put(alice, carol):
    with transaction.atomic():
        follow_user(carol, alice)
        transaction.set_rollback(True)
    assert counts(alice) == (0, 0, 0)
    follow_user(carol, alice)
    assert counts(alice) == (1, 0, 0)


@pytest.mark.slow
def test_many_at_once_leave_the_same_in_both(transactional_db):
    star, crowd = make_user(), [make_user() for _ in range(6)]

    def busy(index):
        for _ in range(4):
            follow_user(crowd[index], star)
            unfollow_user(crowd[index], star)
        follow_user(crowd[index], star)

    together(6, busy)
    for user in (star, *crowd):
        assert counts(user) == row_of(user)
    assert counts(star) == (6, 0, 0)


def test_counts_that_redis_did_not_take_are_put_by_an_event(alice, carol):
    with dead_redis():
        follow_user(carol, alice)
    assert set(
        Event.objects.filter(name="counts_missed").values_list("payload__kind", flat=True)
    ) == {"users"}
    for service in (USER_COUNTS, POST_COUNTS):  # as if that Redis had kept its data
        assert maintenance.rebuild(service)
    USER_COUNTS.store.put([Row(alice.pk, (5, 0, 0), 0)])
    deliver()
    assert (counts(alice), counts(carol)) == ((1, 0, 0), (0, 1, 0))
    assert not Event.objects.filter(name="counts_missed", state="pending").exists()


def test_a_loader_leaves_counts_to_the_database_until_they_are_rebuilt(alice, django_assert_num_queries):  # fmt: skip
    UserCounts.objects.filter(pk=alice.pk).update(posts=9, revision=1)
    assert counts(alice) == (0, 0, 0)
    rebuild_after_commit(USER_COUNTS)
    with django_assert_num_queries(1):
        assert counts(alice) == (0, 0, 9)
    assert maintenance.maintain(USER_COUNTS, seconds=9)
    with django_assert_num_queries(0):
        assert counts(alice) == (0, 0, 9)


def test_a_loader_does_not_mind_a_dead_redis(alice):
    with dead_redis():
        rebuild_after_commit(USER_COUNTS)


def test_a_put_of_a_lost_store_keeps_nothing(alice):
    counters().flushdb()
    put_after_commit(USER_COUNTS, [Row(alice.pk, (0, 0, 4), 2)])
    assert counters().dbsize() == 0


def test_a_lost_store_rings_now_and_then(alice, monkeypatch):
    rung: list[str] = []
    monkeypatch.setattr("apps.accounts.counts_store.enqueue", rung.append)
    monkeypatch.setattr("apps.accounts.counts_store._enqueued_at", {})
    counters().flushdb()
    for _ in range(5):
        counts(alice)
    assert rung == ["apps.accounts.tasks.maintain_counts"]


def test_a_rebuild_in_turns_gives_what_the_table_has(alice, monkeypatch):
    monkeypatch.setattr(maintenance, "ROWS", 3)
    users = [make_user() for _ in range(10)]
    for number, user in enumerate(users):
        UserCounts.objects.filter(pk=user.pk).update(posts=number, revision=number)
    counters().flushdb()
    turns = 1
    while not maintenance.rebuild(USER_COUNTS, seconds=0):
        turns += 1
    assert turns == 4
    assert maintenance.state(USER_COUNTS.store).is_complete
    assert [counts(user)[2] for user in users] == list(range(10))
