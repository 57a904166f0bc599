import pytest
from django.utils import timezone

from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.events import actions as events
from apps.events.leases import State
from apps.graph.actions import follow_user, unfollow_user
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.timeline.fanout import dispatch
from apps.timeline.fanout.backfill import follow_changed
from apps.timeline.fanout.dispatch import start_job
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob
from apps.timeline.sources.home_cache import HOME, INBOX, rebuild_home
from feedcache.connections import timelines
from feedcache.structures.home_window import mark_deleted
from tests.support.factories import deliver, delivered, make_user, publish, show_to_author
from tests.support.faults import dead_redis
from tests.support.threads import together
from tests.timeline.short_caches import shorten

pytestmark = pytest.mark.django_db


def receipts(post):
    rows = FanoutChunk.objects.filter(job=post.pk).order_by("pk")
    return list(rows.values_list("state", "expected", "delivered", "dormant"))


def windows(readers):
    return [HOME.ids(reader.pk) for reader in readers]


def inboxes(readers):
    return [INBOX.ids(reader.pk) for reader in readers]


def due_again():
    FanoutChunk.objects.update(state=State.PENDING, due_at=timezone.now())


def test_a_post_goes_out_in_chunks_whose_receipts_add_up(alice, readers):
    post = delivered(alice)
    assert windows(readers) == [[post.pk]] * 6 + [[]] * 4
    assert receipts(post) == [
        ("done", 3, 3, 0),
        ("done", 3, 3, 0),
        ("done", 3, 0, 3),
        ("done", 1, 0, 1),
    ]


def test_a_delivery_that_runs_twice_leaves_the_same(alice, readers):
    post = delivered(alice)
    before = windows(readers), receipts(post)
    start_job(post.pk)
    due_again()
    deliver()
    assert (windows(readers), receipts(post)) == before
    assert FanoutJob.objects.count() == 1


def test_a_chunk_whose_doorbell_was_lost_is_swept(alice, readers):
    post = publish(alice)
    start_job(post.pk)  # rings; nobody listens
    assert windows(readers)[0] == []
    while dispatch.run_due(limit=1):
        pass
    assert windows(readers)[0] == [post.pk]


def test_a_chunk_that_fails_is_tried_again_and_the_others_go_out(alice, readers, monkeypatch):
    post = publish(alice)
    start_job(post.pk)
    dispatch.run_splits(limit=1)
    broken, deliver_chunk = FanoutChunk.objects.order_by("pk")[1].pk, dispatch._deliver

    def moody(chunk):
        if chunk.pk == broken:
            raise RuntimeError("out of luck")
        return deliver_chunk(chunk)

    monkeypatch.setattr(dispatch, "_deliver", moody)
    dispatch.run_due(limit=9)
    assert [state for state, *_ in receipts(post)] == ["done", "pending", "done", "done"]
    monkeypatch.undo()
    FanoutChunk.objects.update(due_at=timezone.now())
    deliver()
    assert [state for state, *_ in receipts(post)] == ["done"] * 4
    assert windows(readers) == [[post.pk]] * 6 + [[]] * 4


def test_chunks_wait_for_a_dead_redis_without_losing_tries(alice, readers):
    post = publish(alice)
    start_job(post.pk)
    with dead_redis():
        for _ in range(7):
            FanoutChunk.objects.update(due_at=timezone.now())
            dispatch.run_due(limit=9)
    assert set(FanoutChunk.objects.filter(job=post.pk).values_list("state", "attempts")) == {
        ("pending", 0)
    }
    FanoutChunk.objects.update(due_at=timezone.now())
    deliver()
    assert {state for state, *_ in receipts(post)} == {"done"}


def test_a_deleted_post_is_owed_to_nobody(alice, readers):
    early, late = publish(alice), publish(alice)
    for post in (early, late):
        start_job(post.pk)
    delete_post(early.pk, by=alice)
    mark_deleted(late.pk)  # its delete is noticed by the script only
    while dispatch.run_due(limit=9):
        pass
    assert {tuple(row) for post in (early, late) for row in receipts(post)} == {("done", 0, 0, 0)}
    assert windows(readers) == [[]] * 10


def test_a_post_that_is_gone_before_its_delivery_makes_no_job(alice, readers):
    post = publish(alice)
    delete_post(post.pk, by=alice)
    start_job(post.pk)
    start_job(5)
    assert not FanoutJob.objects.exists()


def test_a_post_for_mentioned_people_goes_to_those_followers_it_names(alice, readers):
    post = publish(
        alice, f"hello @{readers[0].handle} @{make_user('stranger').handle}", visibility="mentioned"
    )
    deliver()
    assert inboxes(readers) == [[post.pk]] + [[]] * 9
    assert windows(readers) == [[]] * 10
    assert receipts(post) == [("done", 1, 1, 0)]  # no walk through the ten followers


@pytest.mark.slow
def test_an_edit_that_names_more_followers_brings_them_the_post(alice, readers):
    """The window kept by pushes equals the one rebuilt from PostgreSQL."""
    post = delivered(alice, f"hello @{readers[0].handle}", visibility="mentioned")
    edit_post(alice, post.pk, body=f"hello @{readers[0].handle} @{readers[1].handle}")
    deliver()
    kept = inboxes(readers[:3])
    for reader in readers[:3]:
        INBOX.drop(reader.pk)
        home_timeline(reader, Cursor())
    assert kept == inboxes(readers[:3]) == [[post.pk], [post.pk], []]


@pytest.mark.slow
def test_a_public_edit_pushes_nothing(alice, readers):
    post = delivered(alice)
    HOME.remove(readers[0].pk, [post.pk])
    edit_post(alice, post.pk, body=f"hello @{readers[0].handle}")
    deliver()
    assert HOME.ids(readers[0].pk) == []


def test_a_follow_during_a_rebuild_is_not_lost(alice, carol):
    """The snapshot was read before the follow, and the window is live after its event:
    the push must reach the builder.
    """
    post = delivered(alice)
    token = HOME.begin(carol.pk) or ""
    follow_user(carol, alice)
    follow_changed(carol.pk, alice.pk)
    assert HOME.swap(carol.pk, token, [], complete=True)
    assert HOME.ids(carol.pk) == [post.pk]


def test_a_new_followees_deleted_post_does_not_keep_the_others_out(alice, carol):
    kept, gone = publish(alice, "kept"), publish(alice, "gone")
    home_timeline(carol, Cursor())
    follow_user(carol, alice)
    mark_deleted(gone.pk)  # deleted between the look and the push
    follow_changed(carol.pk, alice.pk)
    assert HOME.ids(carol.pk) == [kept.pk]


@pytest.mark.slow
def test_a_follow_of_many_posts_keeps_the_window_contiguous(alice, carol, monkeypatch):
    short = type(HOME)("home:t", length=4, ttl_seconds=60)
    shorten(monkeypatch, HOME=short)
    own = [publish(carol).pk for _ in range(2)]
    home_timeline(carol, Cursor())
    theirs = [publish(alice).pk for _ in range(6)]
    follow_user(carol, alice)
    deliver()
    newest_first = sorted(own + theirs, reverse=True)
    assert short.ids(carol.pk) == newest_first[:4]
    assert [item.id for item in home_timeline(carol, Cursor()).items] == newest_first


def test_an_unfollow_during_a_rebuild_leaves_nothing_to_see(alice, bob):
    delivered(alice)
    token = HOME.begin(bob.pk) or ""
    snapshot = [post.id for post in home_timeline(bob, Cursor()).items]
    unfollow_user(bob, alice)
    deliver()
    HOME.swap(bob.pk, token, snapshot, complete=True)
    assert home_timeline(bob, Cursor()).items == []


def test_equal_jobs_at_once_make_one_ledger(transactional_db, settings):
    settings.FANOUT_CHUNK_SIZE = 2
    alice, readers = make_user(), [make_user() for _ in range(5)]
    for reader in readers:
        follow_user(reader, alice)
        rebuild_home(reader.pk)
    post = publish(alice)
    together(6, lambda _index: start_job(post.pk))
    together(4, lambda _index: [dispatch.run_due(limit=1) for _ in range(4)])
    assert receipts(post) == [("done", 2, 2, 0), ("done", 2, 2, 0), ("done", 1, 1, 0)]
    assert windows(readers) == [[post.pk]] * 5


def test_authors_see_their_post_before_any_worker_ran(alice):
    home_timeline(alice, Cursor())
    post = publish(alice)
    show_to_author(post)
    assert HOME.ids(alice.pk) == [post.pk]
    with dead_redis():
        show_to_author(post)
    assert timelines().ping()
    assert user_by_id(alice.pk).counts.posts == 1


def test_what_follows_a_plain_post_of_a_small_author_takes_few_statements(
    alice, django_assert_max_num_queries
):
    follow_user(make_user(), alice)
    deliver()
    post = publish(alice)
    with django_assert_max_num_queries(30):  # seven of them for apps.spam
        assert events.run_due(limit=20) > 5
    assert receipts(post) == [(State.DONE, 1, 0, 1)]


@pytest.mark.slow
def test_a_list_that_is_longer_than_its_count_says_is_cut_by_others(alice, settings):
    settings.FANOUT_CHUNK_SIZE = 2
    fans = [make_user() for _ in range(3)]
    for fan in fans:
        follow_user(fan, alice)
    deliver()
    UserCounts.objects.filter(pk=alice.pk).update(followers=1)
    post = publish(alice)
    start_job(post.pk)
    assert FanoutJob.objects.get(pk=post.pk).state == State.PENDING
    assert receipts(post) == []
    deliver()
    assert [expected for _, expected, _, _ in receipts(post)] == [2, 1]
