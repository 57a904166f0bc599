"""The cached message square: the same pages as PostgreSQL gives, whatever happens to the cache."""

import time
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from apps.accounts.models import User
from apps.errors import NotFound
from apps.graph.actions import block_user, mute_user, unblock_user, unmute_user
from apps.moderation.actions import restore_user
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.models import Post
from apps.timeline import publishing
from apps.timeline.handlers import deliver_post
from apps.timeline.public import public_timeline
from apps.timeline.sources import home_cache, sql, square
from apps.timeline.sources.square import EVERYBODY, SQUARE
from apps.timeline.tasks import repair_square
from feedcache.connections import timelines
from feedcache.structures.home_window import NO_MORE
from tests.support.factories import deliver, make_user, moderator, publish, suspend
from tests.support.faults import dead_redis
from tests.support.threads import together
from tests.timeline.short_caches import shorten

KEY = SQUARE.key(EVERYBODY)
LENGTH = 6


@pytest.fixture
def asked(monkeypatch):
    """The bounds of all reads of ids from PostgreSQL."""
    found, read = [], sql.public_ids

    def public_ids(cursor, count, **options):
        found.append(cursor)
        return read(cursor, count, **options)

    monkeypatch.setattr(sql, "public_ids", public_ids)
    return found


def ids(viewer=None, **cursor):
    return [item.id for item in public_timeline(viewer, Cursor(**cursor)).items]


def say(author, body="Hello.", **draft):
    """As a page or a program publishes."""
    return publishing.publish(author, Draft(body=body, **draft)).post


def walk(viewer, limit, *, up=False):
    """All ids, read page by page."""
    seen, cursor = [], Cursor(limit=limit, min_id=0 if up else None)
    while True:
        page = public_timeline(viewer, cursor)
        found = [item.id for item in page.items]
        seen = found + seen if up else seen + found
        end = page.newer if up else page.older
        if end is None:
            return seen
        cursor = replace(cursor, **{"min_id" if up else "max_id": end})


@pytest.mark.django_db
def test_a_warm_page_reads_no_ids_from_postgresql(
    alice, bob, asked, memcached, django_assert_num_queries
):
    posts = [say(alice).pk for _ in range(25)][::-1]
    ids()
    ids()
    del asked[:]
    with django_assert_num_queries(0):
        assert ids() == posts[:20]
        assert ids(max_id=posts[19]) == posts[20:]
        assert ids(min_id=posts[5]) == posts[:5]
    posts = sorted([say(bob).pk, *posts], reverse=True)
    assert ids(bob) == posts[:20]
    assert asked == []


@pytest.mark.django_db
def test_a_post_is_there_for_the_next_reader_and_once_more_by_its_event(alice, bob):
    first = say(alice)
    assert ids(bob) == [first.pk]
    second = say(alice)
    assert ids(bob) == [second.pk, first.pk]
    # as if the process had died before the push
    timelines().lrem(KEY, 1, str(2**63 - 1 - second.pk))
    assert ids(bob) == [first.pk]
    deliver_post({"post_id": second.pk})
    deliver_post({"post_id": second.pk})
    assert ids(bob) == [second.pk, first.pk]


@pytest.mark.django_db
def test_only_public_posts_that_are_no_reposts_enter(alice, bob):
    assert ids() == []
    public = say(alice)
    for visibility in ("unlisted", "followers", "mentioned"):
        say(alice, "hello @bob", visibility=visibility)
    publishing.repost(bob, public.pk)
    deliver()
    assert SQUARE.ids(EVERYBODY) == [public.pk]
    publishing.delete(public.pk, by=alice)
    assert ids() == []  # at once, by its row
    deliver()
    assert SQUARE.ids(EVERYBODY) == []
    deliver_post({"post_id": public.pk})
    assert SQUARE.ids(EVERYBODY) == []


@pytest.mark.django_db
def test_it_is_bounded_and_goes_on_below_its_end_from_postgresql(alice, monkeypatch, asked):
    shorten(monkeypatch, SQUARE=replace(SQUARE, length=LENGTH))
    posts = [say(alice).pk for _ in range(2 * LENGTH)][::-1]
    assert ids() == posts
    newest = say(alice).pk
    assert timelines().llen(KEY) == LENGTH
    assert walk(None, 4) == walk(None, 4, up=True) == [newest, *posts]
    del asked[:]
    assert ids(limit=3) == [newest, *posts[:2]]
    assert asked == []
    ids(limit=8)
    assert [cursor.max_id for cursor in asked] == [posts[LENGTH - 2]]  # below its last one only


@pytest.mark.django_db
def test_a_flush_or_garbage_changes_no_page(alice, bob):
    posts = [say(alice).pk for _ in range(5)][::-1]
    for spoil in (
        lambda: timelines().flushdb(),
        lambda: timelines().set(KEY, "garbage"),
        lambda: timelines().delete(KEY),
        lambda: (timelines().delete(KEY), timelines().rpush(KEY, "garbage")),
    ):
        assert ids(bob) == posts
        spoil()
        assert ids(bob) == posts
        assert SQUARE.ids(EVERYBODY) == posts
        assert timelines().lrange(KEY, -1, -1) == [NO_MORE]


@pytest.mark.django_db
def test_what_a_failover_of_redis_forgot_is_put_back(alice, monkeypatch):
    shorten(monkeypatch, SQUARE=replace(SQUARE, length=LENGTH))
    repair_square()
    assert not SQUARE.exists(EVERYBODY)  # it is built for readers only
    posts = [say(alice).pk for _ in range(2 * LENGTH)][::-1]
    ids()
    SQUARE.remove(EVERYBODY, posts[1:3])
    assert ids(limit=3) != posts[:3]
    for _ in range(2):
        repair_square()
        assert SQUARE.ids(EVERYBODY) == posts[:LENGTH]
    assert walk(None, 4) == posts


@pytest.mark.django_db
def test_without_redis_it_comes_from_postgresql_and_posts_are_published(alice):
    first = say(alice)
    with dead_redis():
        second = say(alice)
        assert ids() == [second.pk, first.pk]
    assert ids() == [second.pk, first.pk]


@pytest.mark.django_db
def test_what_an_id_names_is_checked_at_every_read(alice, bob):
    """Whatever the window says: restricted, deleted and unknown posts are on no page."""
    public, hidden, gone = say(alice), say(alice, visibility="followers"), say(bob)
    shared = publishing.repost(bob, public.pk)
    deliver()
    publishing.delete(gone.pk, by=bob)
    assert ids() == [public.pk]
    wrong = [hidden.pk, hidden.pk + 1, gone.pk, shared.pk]
    SQUARE.push([EVERYBODY], wrong)
    assert {*wrong, public.pk} == {*SQUARE.ids(EVERYBODY)}
    assert ids() == ids(bob) == [public.pk]


def test_twenty_readers_of_a_lost_square_are_one_rebuild(transactional_db, asked, monkeypatch):
    snapshot = square._snapshot

    def slow(reader_id):
        time.sleep(0.05)
        return snapshot(reader_id)

    monkeypatch.setattr(square, "_snapshot", slow)
    alice = make_user()
    posts = [publish(alice).pk for _ in range(3)][::-1]
    assert together(20, lambda _index: ids()) == [posts] * 20
    assert asked == [Cursor()]


@pytest.mark.django_db
def test_a_reader_who_cannot_wait_longer_is_served_from_postgresql(alice, monkeypatch):
    post = publish(alice)
    monkeypatch.setattr(home_cache, "WAIT_SECONDS", 0.05)
    SQUARE.begin(EVERYBODY)  # by somebody who has died
    assert ids() == [post.pk]
    assert not SQUARE.exists(EVERYBODY)


class History:
    """What people and staff do; the square may miss what is not delivered yet."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.people = [make_user() for _ in range(4)]

    def two(self):
        return self.random.sample(self.people, 2)

    def own(self):
        one, _other = self.two()
        posts = Post.objects.filter(author=one, source=None, deleted_at=None)
        return one, list(posts.order_by("pk"))

    def say(self):
        self.random.choice([say, say, publish])(self.two()[0])  # the last waits for its event

    def hide(self):
        say(self.two()[0], visibility=self.random.choice(["unlisted", "followers"]))

    def share(self):
        one, posts = self.own()
        public = [post for post in posts if post.visibility == "public"]
        if public:
            publishing.repost(one, self.random.choice(public).pk)

    def delete(self):
        one, posts = self.own()
        if posts:
            publishing.delete(self.random.choice(posts).pk, by=one)

    def edit(self):
        one, posts = self.own()
        if posts:
            publishing.edit(one, posts[-1].pk, body="Other words.")

    def suspend(self):
        one = User.objects.get(pk=self.two()[0].pk)
        if one.is_suspended:
            restore_user(one, by=moderator(), reason="A test.")
        else:
            suspend(one)

    def mute(self):
        self.random.choice([mute_user, unmute_user])(*self.two())

    def block(self):
        self.random.choice([block_user, unblock_user])(*self.two())

    def lose(self):
        SQUARE.drop(EVERYBODY)

    def deliver(self):
        deliver()

    def read(self):
        ids(self.random.choice([None, *self.people]))

    def step(self):
        ways = [self.say, self.say, self.say, self.hide, self.share, self.delete, self.edit]
        ways += [self.suspend, self.mute, self.block, self.lose, self.deliver, self.read]
        way = self.random.choice(ways)
        with suppress(NotFound):  # of what a suspended account says
            way()
        return way.__name__

    def compare(self, monkeypatch):
        """Everybody's pages in both directions, from the cache and from PostgreSQL alone."""
        deliver()
        for viewer in [None, *self.people]:
            limit = self.random.choice([2, 3, 7])
            found = [walk(viewer, limit, up=up) for up in (False, True)]
            with monkeypatch.context() as patch:
                patch.setattr(square, "ids", lambda _reader, *bounds: sql.public_ids(*bounds))
                assert found == [walk(viewer, limit, up=up) for up in (False, True)]


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(4))
def test_random_histories_give_the_pages_of_postgresql(seed, monkeypatch):
    shorten(monkeypatch, SQUARE=replace(SQUARE, length=LENGTH))
    history = History(seed)
    happened = set()
    for number in range(60):
        happened.add(history.step())
        if number % 6 == 5:
            history.compare(monkeypatch)
    assert len(happened) == 11
