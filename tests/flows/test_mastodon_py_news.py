"""Mastodon.py, unmodified: streams, notifications, read positions and one's own account."""

import queue
from contextlib import contextmanager

import pytest
from mastodon import MastodonNotFoundError, StreamListener

from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from tests.flows.clients import mastodon
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.pictures import picture
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.usefixtures("media"), pytest.mark.flows]

NEWS_SECONDS = 15


class Listener(StreamListener):
    """Keeps what it is told."""

    def __init__(self):
        self._told = queue.Queue()
        self.lives = lambda: False  # does the client still read for it?

    def on_update(self, status):
        self._told.put(("update", int(status.id), status.content))

    def on_status_update(self, status):
        self._told.put(("status.update", int(status.id), status.content))

    def on_delete(self, status_id):
        self._told.put(("delete", int(status_id), None))

    def on_notification(self, notification):
        self._told.put(("notification", notification.type, notification.account.acct))

    def on_abort(self, err):
        self._told.put(("abort", None, None))

    def told(self):
        """Whether there is more than it was asked for."""
        return not self._told.empty()

    def next(self):
        """What it is told next."""
        return self._told.get(timeout=NEWS_SECONDS)


@contextmanager
def listening(open_stream, *words):
    """A listener of a stream that is read by a thread of the client."""
    listener = Listener()
    handle = open_stream(*words, listener, run_async=True)
    try:
        wait_until(handle.is_receiving, "the stream is open")
        listener.lives = handle.is_alive
        yield listener
    finally:
        handle.close()


def test_it_listens_where_the_instance_says(streamed, alice, bob):
    program = mastodon(bob, streamed)
    assert program.instance_v2().configuration.urls.streaming != streamed
    assert program.stream_healthy() is True
    mine = delivered(bob, "Mine.")
    with (
        listening(program.stream_user) as home,
        listening(program.stream_hashtag, "tea") as tagged,
    ):
        post = delivered(alice, "News of #tea.")
        for listener in (home, tagged):
            assert listener.next()[:2] == ("update", post.pk)
        edit_post(alice, post.pk, body="Old news.")
        deliver()
        assert home.next() == ("status.update", post.pk, "<p>Old news.</p>")
        like_post(alice, mine.pk)
        deliver()
        assert home.next() == ("notification", "favourite", "alice")
        delete_post(post.pk, by=alice)
        deliver()
        assert home.next() == ("delete", post.pk, None)


def test_its_streams_end_with_its_token(streamed, alice, bob):
    program = mastodon(bob, streamed)
    tea = program.list_create("Tea")
    program.list_accounts_add(tea, [alice.pk])
    with (
        listening(program.stream_list, tea.id) as listed,
        listening(program.stream_public) as public,
    ):
        post = delivered(alice, "For all.")
        for listener in (listed, public):
            assert listener.next() == ("update", post.pk, "<p>For all.</p>")
        program.revoke_access_token()
        wait_until(lambda: not (listed.lives() or public.lives()), "both streams have ended")
        for listener in (listed, public):
            assert not listener.told()  # an end, no error


def test_notifications_one_by_one(served, alice, bob, carol):
    post = delivered(alice, "Mine.")
    follow_user(carol, alice)
    like_post(bob, post.pk)
    repost(carol, post.pk)
    answer = delivered(bob, "Hello @alice.", reply_to_id=post.pk)
    program = mastodon(alice, served)
    found = program.notifications()
    assert {(one.type, one.account.acct) for one in found} == {
        ("mention", "bob"), ("reblog", "carol"), ("favourite", "bob"), ("follow", "carol"), ("follow", "bob"),
    }  # fmt: skip
    assert [one.id for one in found] == sorted((one.id for one in found), key=int, reverse=True)
    assert program.notifications_unread_count().count == 5
    assert [one.account.acct for one in program.notifications(types=["follow"])] == ["carol", "bob"]
    assert {one.type for one in program.notifications(exclude_types=["follow", "mention"])} == {
        "reblog", "favourite",
    }  # fmt: skip
    assert {one.account.acct for one in program.notifications(account_id=bob.pk)} == {"bob"}
    [mention] = program.notifications(mentions_only=True)
    assert int(mention.status.id) == answer.pk
    assert program.notifications(mention.id).id == mention.id
    page = program.notifications(limit=3)
    assert [one.id for one in program.fetch_remaining(page)] == [one.id for one in found]
    groups = program.grouped_notifications().notification_groups
    assert sorted(group.type for group in groups) == ["favourite", "follow", "mention", "reblog"]
    program.notifications_dismiss(mention.id)
    with pytest.raises(MastodonNotFoundError):
        program.notifications(mention.id)
    program.notifications_clear()
    assert program.notifications() == []
    assert program.notifications_unread_count().count == 0


def test_read_positions(served, alice, bob):
    posts = [publish(alice, f"number {number}").pk for number in range(3)]
    deliver()
    program = mastodon(bob, served)
    assert program.markers_get(["home", "notifications"]) == {}
    program.markers_set("home", posts[1])
    assert program.markers_get("home")["home"].last_read_id == str(posts[1])
    program.markers_set("home", posts[2])
    marker = program.markers_get(["home"])["home"]
    assert (marker.last_read_id, marker.version) == (str(posts[2]), 2)


def test_its_account_as_others_see_it(served, alice, bob):
    program = mastodon(alice, served)
    me = program.account_update_credentials(
        display_name="Alice of the River", note="I write of rivers.", avatar=picture(),
        avatar_mime_type="image/png", header=picture(), header_mime_type="image/png",
        bot=True, discoverable=False, fields=[("Home", "The river"), ("Tea", "Green")],
        default_privacy="unlisted", default_sensitive=True, default_language="zh",
    )  # fmt: skip
    assert (me.source.privacy, me.source.sensitive, me.source.language) == ("unlisted", True, "zh")
    seen = mastodon(bob, served).account(alice.pk)
    assert (seen.display_name, seen.bot, seen.discoverable) == ("Alice of the River", True, False)
    assert "I write of rivers." in seen.note
    assert [(field.name, field.value) for field in seen.fields] == [
        ("Home", "The river"), ("Tea", "Green"),
    ]  # fmt: skip
    assert seen.avatar != seen.header
    assert program.preferences()["posting:default:visibility"] == "unlisted"
    written = program.status_post("By default.", sensitive=None)  # else it says False
    assert (written.visibility, written.sensitive, written.language) == ("unlisted", True, "zh")
    written = program.status_post("By hand.", visibility="private", language="en")
    assert (written.visibility, written.sensitive, written.language) == ("private", False, "en")
    again = program.account_update_credentials(note="Tea.")
    assert (again.bot, again.source.sensitive, again.source.language) == (True, True, "zh")


def test_a_locked_account_answers_requests(served, alice):
    mine, theirs = mastodon(alice, served), mastodon(make_user("dave"), served)
    assert mine.account_update_credentials(locked=True).locked is True
    assert theirs.account_follow(alice.pk).requested is True
    assert mine.account_verify_credentials().source.follow_requests_count == 1
    [asking] = mine.follow_requests()
    assert asking.acct == "dave"
    mine.follow_request_authorize(asking.id)
    assert theirs.account_relationships(alice.pk)[0].following is True
    assert mine.follow_requests() == []
