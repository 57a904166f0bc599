"""What caches say of a post, its author and its viewer is never older than what was acknowledged (decision 0019)."""

import re
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from apps.accounts import cache
from apps.accounts.actions import remove_avatar, update_profile
from apps.accounts.models import User
from apps.graph.actions import (
    block_user,
    follow_user,
    mute_user,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.moderation.actions import hide_post, restore_user, show_post
from apps.pagination import Cursor
from apps.posts import cache as post_cache
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.cache import CACHED_POSTS, REPOSTED
from apps.posts.content.post import State
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.publishing import undo_repost
from feedcache import memcached_node
from feedcache import memcached_tiers as module
from feedcache.connections import timelines
from feedcache.memcached_tiers import tiers
from feedcache.read_through import ReadThrough
from tests.support.factories import deliver, delivered, moderator, publish, repost, suspend
from tests.support.faults import frozen
from tests.support.memory import another, flush, forget
from tests.support.services import running

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _needs_memcached():
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    yield
    forget()  # no later test avoids a node that was frozen here


class Process:
    """One more process: what it knows of the nodes is its own, and nobody tells it of theirs."""

    def __init__(self):
        self.cache = another(tiers().topology)

    @contextmanager
    def at_work(self):
        before, module._current.cache = module._current.cache, self.cache
        try:
            yield
        finally:
            module._current.cache = before

    def sees(self, viewer, *posts):
        """The posts by the text that a viewer reads, "" for those that are not shown, and their authors' names."""
        with self.at_work():
            items = hydrate(viewer and viewer.pk, [post.pk for post in posts]).items
        shown = {item.id: f"{item.author.name}: {item.shown.post.body}" for item in items}
        return [shown.get(post.pk, "") for post in posts]

    def home(self, viewer):
        with self.at_work():
            return [item.id for item in home_timeline(viewer, Cursor()).items]


@pytest.fixture
def elsewhere():
    found = Process()
    yield found
    for node in found.cache.nodes():
        node.retire()


ACTS = {
    "edit": lambda alice, _bob, post: edit_post(alice, post.pk, body="After."),
    "delete": lambda alice, _bob, post: delete_post(post.pk, by=alice),
    "suspend": lambda alice, _bob, _post: suspend(alice),
    "rename": lambda alice, _bob, _post: update_profile(alice, display_name="Ada", bio=""),
    "block": lambda alice, bob, _post: block_user(alice, bob),
    "be blocked": lambda alice, bob, _post: block_user(bob, alice),
}
AFTER = {"edit": "Alice Wen: After.", "rename": "Ada: Before."}
# the writes to the caches that a writer who is killed after its commit does not come to
LOST = [
    (post_cache, "_store_tombstone"),
    (post_cache, "_replace_entry"),
    (cache, "forget_cards"),
    (post_cache, "forget_cards"),
    (post_cache, "_forget_reposted"),
]


@pytest.mark.parametrize("act", ACTS)
def test_another_process_sees_it_on_its_next_read(alice, bob, elsewhere, act):
    post = publish(alice, "Before.")
    for _ in range(2):
        assert elsewhere.sees(bob, post) == ["Alice Wen: Before."]
    ACTS[act](alice, bob, post)
    for _ in range(2):
        assert elsewhere.sees(bob, post) == [AFTER.get(act, "")]


def test_what_ends_is_seen_as_soon_as_what_begins(alice, bob, elsewhere):
    post = publish(alice, "Hello.")
    pairs = [
        (lambda: suspend(alice), lambda: restore_user(alice, by=moderator(), reason="A test.")),
        (lambda: block_user(alice, bob), lambda: unblock_user(alice, bob)),
        (
            lambda: hide_post(post.pk, by=moderator()),
            lambda: show_post(post.pk, by=moderator()),
        ),
    ]
    for begin, end in pairs:
        begin()
        assert elsewhere.sees(bob, post) == [""]
        end()
        assert elsewhere.sees(bob, post) == ["Alice Wen: Hello."]


def test_home_follows_follows_and_mutes_at_once(alice, bob, elsewhere):
    post = delivered(alice)
    pairs: list[tuple[Any, Any]] = [(unfollow_user, follow_user), (mute_user, unmute_user)]
    assert elsewhere.home(bob) == [post.pk]
    for end, begin in pairs:
        end(bob, alice)
        assert elsewhere.home(bob) == []
        begin(bob, alice)
        deliver()
        assert elsewhere.home(bob) == [post.pk]


def test_ones_own_reposts_are_known_at_once(alice, bob, elsewhere):
    post = publish(alice)

    def reposted():
        with elsewhere.at_work():
            return hydrate(bob.pk, [post.pk]).items[0].flags.reposted

    for _ in range(2):
        assert not reposted()
        repost(bob, post.pk)
        assert reposted()
        undo_repost(bob, post.pk)
    assert not reposted()


def test_reposts_of_posts_older_than_those_that_are_kept_are_asked_of_postgresql(
    alice, bob, monkeypatch
):
    monkeypatch.setattr(post_cache, "MAX_REPOSTED", 2)
    posts = [publish(alice) for _ in range(5)]
    for post in posts[::2]:
        repost(bob, post.pk)
    for _ in range(2):
        items = hydrate(bob.pk, [post.pk for post in posts]).items
        assert [item.flags.reposted for item in items] == [True, False, True, False, True]


@contextmanager
def overtaken(table, act):
    """Once, right after rows of a table were read, somebody changes them and is done before the reader goes on."""
    done = []

    def wrapper(execute, sql, params, many, context):
        answer = execute(sql, params, many, context)
        if not done and sql.lstrip().startswith("SELECT") and re.search(rf'FROM "?{table}\b', sql):
            done.append(True)
            act()
        return answer

    with connection.execute_wrapper(wrapper):
        yield done


@pytest.mark.parametrize(
    ("act", "table"),
    [("edit", "posts_post"), ("delete", "posts_post"), ("suspend", "accounts_user"),
     ("rename", "accounts_user"), ("block", "accounts_usercounts")],
)  # fmt: skip
def test_who_loaded_old_rows_does_not_keep_them(alice, bob, elsewhere, act, table):
    post = publish(alice, "Before.")
    flush()
    assert tiers().ping()
    with overtaken(table, lambda: ACTS[act](alice, bob, post)) as done:
        elsewhere.sees(bob, post)
    assert done
    assert elsewhere.sees(bob, post) == [AFTER.get(act, "")]


def test_a_repost_that_overtakes_whoever_loads_what_was_reposted(alice, bob):
    post = publish(alice)

    def load(user_ids):
        found = post_cache.load_reposted(user_ids)
        repost(bob, post.pk)
        return found

    assert not REPOSTED.get_many([bob.pk], load)[bob.pk].ids
    assert REPOSTED.get_many([bob.pk], post_cache.load_reposted)[bob.pk].ids == {post.pk}


def test_a_late_publication_does_not_bring_back_what_was_edited_meanwhile(
    alice, elsewhere, monkeypatch
):
    """Its writer is slow between the commit and the cache; the post was read, edited and deleted before it goes on."""
    kept = []
    prepare = ReadThrough.prepare
    monkeypatch.setattr(ReadThrough, "prepare", lambda *args: _later(kept, prepare(*args)))
    edited, deleted = publish(alice, "Before."), publish(alice, "Before.")
    edit_post(alice, edited.pk, body="After.")
    delete_post(deleted.pk, by=alice)
    for keep in kept:
        keep()
    assert elsewhere.sees(None, edited, deleted) == ["Alice Wen: After.", ""]


def _later(kept, keep):
    return lambda head: kept.append(lambda: keep(head))


def test_a_deleted_post_leaves_a_tombstone_and_a_restricted_one_nothing_to_read(
    alice, bob, elsewhere
):
    gone, hidden = publish(alice, "Gone."), publish(alice, "For some.", visibility="followers")
    delete_post(gone.pk, by=alice)
    assert elsewhere.sees(bob, gone, hidden) == ["", "Alice Wen: For some."]
    kept = CACHED_POSTS.peek_many([gone.pk, hidden.pk])
    assert [kept[post.pk].state for post in (gone, hidden)] == [State.GONE, State.RESTRICTED]
    assert not any(head.content for head in kept.values())


@pytest.mark.parametrize("act", ACTS)
def test_a_writer_killed_after_its_commit_is_made_up_for_by_the_event(
    alice, bob, elsewhere, act, monkeypatch
):
    post = delivered(alice, "Before.")
    assert elsewhere.sees(bob, post) == ["Alice Wen: Before."]
    with monkeypatch.context() as dying:
        for owner, name in LOST:
            dying.setattr(owner, name, lambda *_args: None)
        dying.setattr("apps.graph.actions.renew_graph_revisions", lambda *_args: None)
        dying.setattr("apps.graph.actions.apply_changes", lambda *_args: None)
        ACTS[act](alice, bob, post)
    deliver()
    assert elsewhere.sees(bob, post) == [AFTER.get(act, "")]


@pytest.mark.parametrize("act", ACTS)
def test_a_node_that_was_frozen_during_a_change_is_not_believed_when_it_is_back(
    alice, bob, elsewhere, act
):
    """I9. The reader saw no failure, and no second has passed in which it could hear of one."""
    for node in (*tiers().nodes(), *elsewhere.cache.nodes()):
        node.timeout = 0.2
    post = publish(alice, "Before.")
    for _ in range(2):
        assert elsewhere.sees(bob, post) == ["Alice Wen: Before."]
    with frozen(running().memcached[0]):
        ACTS[act](alice, bob, post)
    assert elsewhere.sees(bob, post) == [AFTER.get(act, "")]


@pytest.mark.parametrize("act", ACTS)
def test_without_redis_to_tell_of_missed_writes_postgresql_is_asked(
    alice, bob, elsewhere, act, monkeypatch
):
    post = publish(alice, "Before.")
    assert elsewhere.sees(bob, post) == ["Alice Wen: Before."]
    for owner, name in LOST:
        monkeypatch.setattr(owner, name, lambda *_args: None)
    monkeypatch.setattr("apps.graph.actions.renew_graph_revisions", lambda *_args: None)
    ACTS[act](alice, bob, post)
    monkeypatch.setattr("feedcache.read_through.batch.GENERATIONS_KEY", "no hash")
    timelines().set("no hash", "so that the question for the generations is refused")
    assert elsewhere.sees(bob, post) == [AFTER.get(act, "")]


def test_a_card_is_the_account(alice, bob, elsewhere):
    post = publish(alice)
    remove_avatar(alice)
    for _ in range(2):
        with elsewhere.at_work():
            (item,) = hydrate(bob.pk, [post.pk]).items
        row = User.objects.select_related("counts").get(pk=alice.pk)
        for name in ("pk", "handle", "display_name", "bio", "created_at", "suspended_at"):
            assert getattr(item.author, name) == getattr(row, name)
        assert item.author.avatar_url == row.avatar_url
        for name in ("followers", "following", "posts", "last_open_post_id"):
            assert getattr(item.author.counts, name) == getattr(row.counts, name)
        assert item.author.email == row.email  # what a card lacks is read when it is asked for


def test_every_missed_write_is_told_before_it_is_acknowledged():
    node = next(tiers().nodes())

    def lowest():
        return memcached_node.lowest_generations(by=timelines())[node.name]

    node.miss_write()
    first = lowest()
    node.miss_write()
    assert lowest() == first  # so soon it is not told by itself
    assert tiers().announce_missed()
    assert lowest() > first
