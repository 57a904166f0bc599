"""A hot profile costs a read a second or two, and no reader who knows better is shown the old one."""

import os

import pytest

from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.pagination import Cursor
from apps.posts import cache
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.cache import MAX_HOT_POSTS, RECENT, HotAuthors, hot_authors
from apps.posts.recent import recent_posts
from feedcache.connections import timelines
from feedcache.local_cache import HotKeys, LocalCache
from feedcache.read_through import QueuedCommands
from feedcache.servers import topology_listener as listening
from feedcache.servers.topology_listener import Listener
from feedcache.topology import Topology
from tests.support.factories import publish
from tests.support.threads import together
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db

ALL = Cursor()
SOON = 2.0


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """The clock of the heads kept in this process, and of how often they are read."""
    clock = Clock()
    monkeypatch.setattr(cache, "LocalCache", lambda **options: LocalCache(**options, clock=clock))
    monkeypatch.setattr(cache, "HotKeys", lambda **options: HotKeys(**options, clock=clock))
    hot_authors.cache_clear()
    yield clock
    hot_authors.cache_clear()


@pytest.fixture
def star(alice, settings, clock, committed):
    """Alice, whom ten thousand follow and who has published three posts."""
    UserCounts.objects.filter(pk=alice.pk).update(followers=10_000)
    for number in range(3):
        committed(publish, alice, f"Number {number}")
    return known(alice)


@pytest.fixture
def committed(django_capture_on_commit_callbacks):
    def run(action, *args, **options):
        with django_capture_on_commit_callbacks(execute=True):
            return action(*args, **options)

    return run


@pytest.fixture
def elsewhere(monkeypatch):
    """Changes by another process: this one is not told directly."""

    class Elsewhere:
        def forget(self, _author_id):
            pass

        def on_message(self, message):
            hot_authors().on_message(message)

    monkeypatch.setattr(cache, "hot_authors", Elsewhere)


@pytest.fixture
def lost(monkeypatch):
    """The message is lost, and with it the write."""
    monkeypatch.setattr(type(RECENT), "queue_change", lambda *_args: QueuedCommands([], ""))


def known(user):
    return user_by_id(user.pk)


def bodies(author, count=20):
    return [post.body for post in recent_posts(author, ALL, count).posts]


def commands():
    """How many commands the Redis of the posts has run for readers."""
    stats = timelines().info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("hscan", "hget"))


def test_a_thousand_reads_of_a_hot_profile_are_a_few_of_redis(
    star, clock, django_assert_num_queries
):
    bodies(star)
    before = commands()
    with django_assert_num_queries(0):
        for _ in range(1000):
            assert bodies(star) == ["Number 2", "Number 1", "Number 0"]
            clock.now += 0.01  # ten seconds of a hundred reads each
    assert commands() - before <= 4 * 5  # a read of two weeks every two seconds


def test_an_author_of_few_readers_is_read_from_redis(alice, committed, clock):
    committed(publish, alice, "First.")
    author = known(alice)
    bodies(author)
    before = commands()
    for _ in range(5):
        bodies(author)
    assert commands() - before == 5 * 4


def test_an_author_becomes_hot_by_being_read(alice, committed, clock, settings):
    committed(publish, alice, "First.")
    author = known(alice)
    bodies(author)
    before = commands()
    for _ in range(settings.HOT_AUTHOR_READS_PER_SECOND * 5):
        bodies(author)
    assert commands() - before <= 4 * settings.HOT_AUTHOR_READS_PER_SECOND + 8


def test_the_own_process_knows_at_once(star, committed):
    bodies(star)
    post = committed(publish, star, "New.")
    assert bodies(star)[0] == "New."  # though this reader's counts are older
    committed(edit_post, star, post.pk, body="New, edited.")
    assert bodies(star)[0] == "New, edited."
    committed(delete_post, post.pk, by=star)
    assert bodies(star)[0] == "Number 2"


@pytest.mark.usefixtures("elsewhere", "lost")
def test_when_the_message_is_lost_a_head_is_old_for_the_time_to_live_at_most(
    star, clock, committed
):
    bodies(star)
    clock.now += 1.5
    committed(publish, star, "New.")
    assert bodies(star)[0] == "Number 2"
    clock.now += 0.5
    timelines().flushdb()  # the bucket missed the write as well
    assert bodies(star)[0] == "New."


@pytest.mark.usefixtures("elsewhere", "lost")
def test_who_knows_the_newer_revision_is_never_shown_the_old_head(star, committed):
    bodies(star)
    committed(publish, star, "New.")
    assert bodies(known(star))[0] == "New."
    assert bodies(star)[0] == "New."


@pytest.fixture
def listener(monkeypatch):
    """The listener of this process, running."""
    made = Listener(Topology(), role="test")
    monkeypatch.setattr(listening, "_listener", made)
    hot_authors.cache_clear()
    told: list[bytes | None] = []
    on_message = hot_authors().on_message

    def tell(message: bytes | None) -> None:
        on_message(message)
        told.append(message)

    made.subscribe_channel(RECENT.channel, tell)
    made.start()
    wait_until(lambda: told == [None], "the process listens, and has missed nothing since")
    yield made
    made.stop()
    hot_authors.cache_clear()


@pytest.mark.usefixtures("elsewhere")
def test_the_message_of_another_process_is_heard(star, listener, committed):
    """Time stands still here: only the message can bring the news."""
    bodies(star)
    post = committed(publish, star, "New.")
    wait_until(lambda: bodies(star)[0] == "New.", "the new post is seen")
    committed(edit_post, star, post.pk, body="New, edited.")
    wait_until(lambda: bodies(star)[0] == "New, edited.", "the edit is seen")
    committed(delete_post, post.pk, by=star)
    wait_until(lambda: bodies(star)[0] == "Number 2", "the deletion is seen")


@pytest.mark.usefixtures("elsewhere", "lost")
def test_what_may_have_been_missed_while_the_link_was_down_is_forgotten(star, listener, committed):
    bodies(star)
    committed(publish, star, "New.")
    timelines().delete(*timelines().keys("week:*"))
    assert bodies(star)[0] == "Number 2"
    listener.stop()
    listener.start()  # subscribes anew
    wait_until(lambda: bodies(star)[0] == "New.", "the new post is seen")


def test_a_message_that_is_no_id_is_no_harm(star):
    bodies(star)
    for message in (b"", b"x", b"-1", b"\xff" * 50, None, str(star.pk).encode()):
        hot_authors().on_message(message)
        assert len(bodies(star)) == 3


def test_pages_below_the_head_come_from_redis(star, committed, clock):
    for number in range(3, MAX_HOT_POSTS + 10):
        committed(publish, star, f"Number {number}")
    clock.now += 5
    author = known(star)
    everything = [f"Number {number}" for number in reversed(range(MAX_HOT_POSTS + 10))]
    assert bodies(author, MAX_HOT_POSTS + 10) == everything
    first = recent_posts(author, ALL, 40).posts
    before = commands()
    assert [post.body for post in first] == everything[:40]
    second = recent_posts(author, Cursor(max_id=first[-1].id), 40)
    assert [post.body for post in second.posts] == everything[40:]
    assert commands() > before
    up = recent_posts(author, Cursor(min_id=first[-1].id), 5)
    assert [post.body for post in up.posts] == everything[34:39][::-1]
    lowest = recent_posts(author, Cursor(min_id=second.posts[-1].id), 2)
    assert [post.body for post in lowest.posts] == ["Number 1", "Number 2"]


def test_what_cannot_be_had_is_not_kept(star, monkeypatch, committed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apps.posts.recent._both_weeks", lambda *_args: None)
        assert recent_posts(star, ALL, 20).complete_to is None
    assert len(bodies(star)) == 3


def test_only_so_many_are_kept(settings, clock):
    settings.HOT_AUTHORS_KEPT = 2
    made = HotAuthors()
    assert made._entries._maximum == 2


@pytest.mark.django_db(transaction=True)
def test_a_crowd_reads_once(alice, clock):
    UserCounts.objects.filter(pk=alice.pk).update(followers=10_000)
    publish(alice, "First.")
    author = known(alice)
    bodies(author)
    clock.now += 5
    before = commands()
    assert together(8, lambda _number: bodies(author)) == [["First."]] * 8
    assert commands() - before == 4


def test_a_forked_child_begins_anew(star):
    bodies(star)
    inherited = hot_authors()
    inherited._entries._lock.acquire()  # by a thread that the child does not have
    child = os.fork()
    if child == 0:  # nothing but this may happen here
        os._exit(0 if hot_authors() is not inherited and not len(hot_authors()._entries) else 1)
    inherited._entries._lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
