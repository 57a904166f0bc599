from functools import partial

import pytest
from django.db.models import F
from django.db.models.functions import Now
from redis.exceptions import ConnectionError as RedisConnectionError

from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.engagement.actions import bookmark_post
from apps.events import actions as events
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.graph.models import Followee
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.models import Kind, Post, PostCounts
from apps.timeline import handlers
from apps.timeline.handlers import (
    deliver_post,
    mark_deleted_post,
    update_home_caches,
)
from apps.timeline.history.unread import newer_candidate_count
from apps.timeline.home import home_timeline
from apps.timeline.list import bookmarks_timeline
from apps.timeline.sources import home
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.connections import timelines
from feedcache.ids import compose
from tests.support import pages
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.pages import ids


def walk(viewer, limit=7):
    return pages.walk(partial(home_timeline, viewer), limit)


def walk_up(viewer, limit=7):
    return pages.walk_up(partial(home_timeline, viewer), limit)


def test_a_post_reaches_followers_and_its_author_but_no_stranger(alice, bob, carol):
    for user in (alice, bob, carol):
        home_timeline(user, Cursor())  # everybody is online
    post = delivered(alice)
    assert ids(home_timeline(bob, Cursor())) == [post.pk]
    assert ids(home_timeline(alice, Cursor())) == [post.pk]
    assert ids(home_timeline(carol, Cursor())) == []


def test_a_follow_a_post_and_its_delivery_are_one_line_of_a_test(bob, carol):
    post = delivered(bob, to=[carol])
    assert ids(home_timeline(carol, Cursor())) == [post.pk]


def test_a_dormant_follower_is_not_pushed_to_and_rebuilds_on_return(alice, bob):
    post = delivered(alice)
    assert not HOME.exists(bob.pk)
    assert ids(home_timeline(bob, Cursor())) == [post.pk]
    assert HOME.exists(bob.pk)


def test_pushes_do_not_prolong_a_windows_life(alice, bob):
    home_timeline(bob, Cursor())
    timelines().expire(HOME.key(bob.pk), 100)
    delivered(alice)
    assert timelines().ttl(HOME.key(bob.pk)) <= 100
    home_timeline(bob, Cursor())
    assert timelines().ttl(HOME.key(bob.pk)) > 100


def test_following_brings_older_posts_and_unfollowing_takes_them_at_once(alice, carol):
    post = delivered(alice)
    home_timeline(carol, Cursor())
    follow_user(carol, alice)
    deliver()
    assert ids(home_timeline(carol, Cursor())) == [post.pk]
    unfollow_user(carol, alice)
    assert ids(home_timeline(carol, Cursor())) == []  # before any worker ran
    deliver()
    assert HOME.ids(carol.pk) == []


def test_unfollow_and_follow_that_arrive_in_the_wrong_order_leave_no_hole(alice, bob):
    post = delivered(alice)
    home_timeline(bob, Cursor())
    unfollow_user(bob, alice)
    follow_user(bob, alice)
    payload = {"follower_id": bob.pk, "followee_id": alice.pk}
    update_home_caches(payload)
    update_home_caches(payload)
    assert HOME.ids(bob.pk) == [post.pk]


def test_deletes_blocks_and_mutes_act_on_the_next_read(alice, bob):
    kept, deleted = publish(alice, "kept"), delivered(alice, "deleted")
    home_timeline(bob, Cursor())
    delete_post(deleted.pk, by=alice)
    assert ids(home_timeline(bob, Cursor())) == [kept.pk]
    mute_user(bob, alice)
    assert ids(home_timeline(bob, Cursor())) == []
    block_user(alice, bob)
    assert ids(home_timeline(bob, Cursor())) == []


def test_an_edit_shows_on_the_next_read(alice, bob):
    post = delivered(alice, "before")
    assert home_timeline(bob, Cursor()).items[0].post.body == "before"
    edit_post(alice, post.pk, body="after")
    assert home_timeline(bob, Cursor()).items[0].post.body == "after"


def test_a_late_delivery_of_a_deleted_post_comes_to_nothing(alice, bob):
    home_timeline(bob, Cursor())
    post = publish(alice)
    delete_post(post.pk, by=alice)
    mark_deleted_post({"post_id": post.pk})
    deliver_post({"post_id": post.pk})
    HOME.push([bob.pk], [post.pk])
    assert HOME.ids(bob.pk) == []


def test_many_reposts_of_a_deleted_post_take_several_runs_of_one_attempt(alice, monkeypatch):
    monkeypatch.setattr(handlers, "REPOSTS_AT_A_TIME", 2)
    source = publish(alice)
    for _ in range(5):
        repost(make_user(), source.pk)
    delete_post(source.pk, by=alice)
    subscriber = "apps.timeline.handlers.mark_deleted_post"
    event, runs = Event.objects.get(subscriber=subscriber, payload__post_id=source.pk), []
    for _run in range(3):
        Event.objects.filter(pk=event.pk).update(due_at=Now())
        events.run_due(limit=1, only=[event.pk])
        event.refresh_from_db()
        left = Post.objects.filter(kind=Kind.REPOST, deleted_at=None).count()
        runs.append((left, event.state, event.attempts))
    assert runs == [(3, "pending", 0), (1, "pending", 0), (0, "done", 1)]


def test_a_repost_shows_its_source_and_goes_with_it(alice, bob, carol):
    source = publish(carol, "worth sharing")
    wrapper = repost(alice, source.pk)
    deliver()
    item = home_timeline(bob, Cursor()).items[0]
    assert (item.id, item.is_repost, item.shown.id) == (wrapper.pk, True, source.pk)
    mute_user(bob, carol)
    assert ids(home_timeline(bob, Cursor())) == []
    delete_post(source.pk, by=carol)
    deliver()
    assert Post.objects.get(pk=wrapper.pk).deleted_at is not None


def test_restricted_posts_reach_those_they_are_for(alice, bob, carol):
    follow_user(carol, alice)
    deliver()
    home_timeline(bob, Cursor())
    for_followers = publish(alice, "for followers", visibility="followers")
    for_bob = publish(alice, "only @bob", visibility="mentioned")
    deliver()
    assert ids(home_timeline(bob, Cursor())) == [for_bob.pk, for_followers.pk]
    assert ids(home_timeline(carol, Cursor())) == [for_followers.pk]
    assert INBOX.ids(carol.pk) == [for_followers.pk]
    assert HOME.ids(carol.pk) == []


def bulk_posts(author, number, *, start=1_750_000_000, per_second=1):
    """Posts made long ago, without anything that publishing does."""
    made = [
        Post(
            id=compose(start + n // per_second, author.pk, n % per_second),
            author=author,
            body=f"post {n}",
            thread_id=0,
        )
        for n in range(number)
    ]
    Post.objects.bulk_create(made)
    PostCounts.objects.bulk_create(PostCounts(post=post) for post in made)
    UserCounts.objects.filter(pk=author.pk).update(
        posts=F("posts") + number, last_post_id=made[-1].pk
    )
    return [post.pk for post in reversed(made)]


@pytest.mark.parametrize("length", [3, 10, 11])
def test_walking_below_the_window_reaches_the_first_post_ever(alice, bob, monkeypatch, length):
    monkeypatch.setattr(home, "HOME", short := type(HOME)("home:t", length=length, ttl_seconds=60))
    monkeypatch.setattr("apps.timeline.sources.home_cache.HOME", short)
    expected = bulk_posts(alice, 10)
    assert walk(bob, limit=4) == expected
    assert walk_up(bob, limit=4) == expected
    assert walk(bob, limit=1) == expected


def test_five_hundred_posts_of_one_second_page_without_loss_or_repeat(alice):
    reader = make_user()
    authors = [make_user() for _ in range(40)]
    Followee.objects.bulk_create(Followee(owner=reader, followee=author) for author in authors)
    expected = sorted(
        (one for author in authors for one in bulk_posts(author, 13, per_second=13)), reverse=True
    )
    assert len(expected) == 520
    assert walk(reader, limit=40) == expected
    assert walk_up(reader, limit=40) == expected


def test_a_cursor_whose_post_was_deleted_works(alice, bob):
    posts = bulk_posts(alice, 10)
    page = home_timeline(bob, Cursor(limit=5))
    delete_post(posts[4], by=alice)
    assert page.older == posts[4]
    assert ids(home_timeline(bob, Cursor(max_id=page.older, limit=5))) == posts[5:]


def test_posts_that_arrive_while_reading_disturb_no_page(alice, bob):
    """The article's scenario: page one is read, an eleventh article is published, page two repeats nothing."""
    posts = bulk_posts(alice, 10)
    first = home_timeline(bob, Cursor(limit=5))
    delivered(alice)
    second = home_timeline(bob, Cursor(max_id=first.older, limit=5))
    assert ids(first) + ids(second) == posts


def test_a_page_is_topped_up_after_the_rules(alice, bob, carol):
    wanted = bulk_posts(alice, 10, start=1_740_000_000)
    bulk_posts(carol, 30)
    follow_user(bob, carol)
    deliver()
    home_timeline(bob, Cursor())
    mute_user(bob, carol)
    assert ids(home_timeline(bob, Cursor(limit=5))) == wanted[:5]


def test_the_walk_goes_on_when_everything_on_the_way_is_hidden(alice, bob, carol):
    wanted = bulk_posts(alice, 3, start=1_740_000_000)
    bulk_posts(carol, 60)
    follow_user(bob, carol)
    deliver()
    mute_user(bob, carol)
    assert walk(bob, limit=2) == wanted


def test_a_flush_of_redis_changes_no_page(alice, bob):
    expected = bulk_posts(alice, 30)
    assert walk(bob) == expected
    timelines().flushdb()
    assert walk(bob) == expected


def test_home_works_without_redis(alice, bob, monkeypatch):
    expected = bulk_posts(alice, 10)

    def broken(*_args, **_kwargs):
        raise RedisConnectionError  # what a server that is gone raises, for Celery too

    monkeypatch.setattr("redis.connection.ConnectionPool.get_connection", broken)
    monkeypatch.setattr("redis.connection.BlockingConnectionPool.get_connection", broken)
    assert walk(bob) == expected
    assert walk_up(bob) == expected


def test_the_sentinel_saves_the_database_at_the_end(alice, bob, django_assert_num_queries):
    bulk_posts(alice, 3)
    assert home.candidates(bob)(Cursor(), 21).ids
    with django_assert_num_queries(0):
        assert len(home.candidates(bob)(Cursor(), 21).ids) == 3


def test_an_empty_timeline_is_remembered_as_empty(carol, django_assert_num_queries):
    assert home.candidates(carol)(Cursor(), 21).ids == []
    with django_assert_num_queries(0):
        assert home.candidates(carol)(Cursor(), 21).ids == []


@pytest.mark.parametrize("number", [1, 5])
def test_a_warm_home_page_costs_the_same_queries_for_one_post_and_five(
    alice, bob, number, django_assert_num_queries, django_capture_on_commit_callbacks
):
    bulk_posts(alice, number)
    viewer = user_by_id(bob.pk)
    home_timeline(viewer, Cursor())
    # likes and bookmarks: their filters are not built here
    with django_assert_num_queries(1):
        assert len(home_timeline(viewer, Cursor()).items) == number


def test_new_posts_are_counted(alice, bob):
    old = bulk_posts(alice, 2)
    home_timeline(bob, Cursor())
    delivered(alice)
    assert newer_candidate_count(bob, old[0]) == 1


def test_bookmarks_are_paged_by_bookmark_and_skip_what_is_gone(alice, bob):
    posts = bulk_posts(alice, 5)
    for post_id in posts:
        bookmark_post(bob, post_id)
    first = bookmarks_timeline(bob, Cursor(limit=3))
    assert ids(first) == posts[::-1][:3]  # the newest bookmark is the last one made
    delete_post(posts[1], by=alice)
    rest = bookmarks_timeline(bob, Cursor(max_id=first.older, limit=3))
    assert ids(rest) == [posts[0]]
