"""Streams end to end: a worker tells the streaming server, which tells real connections."""

import json
import time

import pytest

from apps.accounts.actions import issue_token, revoke_token
from apps.accounts.models import AccessToken
from apps.engagement.actions import like_post
from apps.graph.actions import block_user, follow_user
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.previews import actions as previews
from tests.previews.sites import PUBLIC, Site, article
from tests.support.factories import deliver, delivered, make_user, publish, suspend
from tests.support.streams import RefusedError, get, listening, streaming_server
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.flows]


@pytest.fixture(scope="module")
def server(django_db_setup, tmp_path_factory):
    settings = {
        "STREAMING_HEARTBEAT_SECONDS": "0.5",
        "STREAMING_CHECK_SECONDS": "1",
        "STREAMING_CONNECTIONS_PER_USER": "2",
        "LINK_PREVIEWS": "1",
    }
    with streaming_server(tmp_path_factory.mktemp("streaming"), **settings) as found:
        yield found


@pytest.fixture
def address(server, transactional_db):
    return server


def token_of(user):
    return issue_token(user, name="test")


@pytest.mark.gate
def test_a_follower_hears_of_a_post_its_edit_and_its_end(address, alice, bob):
    with listening(address, "user", token_of(bob)) as stream:
        post = delivered(alice, "Hello #river.")
        assert [(name, data["id"]) for name, data in stream.wait(1)] == [("update", str(post.pk))]
        edit_post(alice, post.pk, body="Goodbye.")
        deliver()
        name, status = stream.wait(2)[1]
        assert (name, status["content"]) == ("status.update", "<p>Goodbye.</p>")
        delete_post(post.pk, by=alice)
        deliver()
        assert stream.wait(3)[2] == ("delete", post.pk)


def test_a_stream_that_was_cut_off_continues_where_it_was(address, alice, bob, carol):
    """Of 100 posts 30 are written while it is read, 40 while it is cut off, and 30 while it continues."""
    follow_user(bob, carol)
    token, sent = token_of(bob), []

    def write(count):
        sent.extend(publish((alice, carol)[number % 3 == 0]).pk for number in range(count))
        deliver()

    with listening(address, "user", token) as stream:
        write(30)
        stream.wait(10)  # perhaps in the middle of them
    write(40)
    had = len(stream.events)
    with listening(address, "user", token, last_event_id=stream.last_id) as again:
        write(30)
        again.wait(100 - had)
        write(1)  # nothing comes twice before it
        again.wait(101 - had)
    told = [int(data["id"]) for name, data in stream.events + again.events if name == "update"]
    assert sorted(told) == sorted(sent)


@pytest.mark.long
@pytest.mark.waits(
    "the ids of posts and events are times of the clocks of PostgreSQL and the server"
)
def test_a_stream_cut_off_for_a_minute_continues_without_a_gap_or_a_double(
    address, alice, bob, carol
):
    """Two authors write 100 posts in the 60 seconds, and 10 before and after."""
    follow_user(bob, carol)
    token, sent = token_of(bob), []

    def write():
        sent.append(delivered((alice, carol)[len(sent) % 3 == 0]).pk)

    with listening(address, "user", token) as stream:
        for _number in range(10):
            write()
        stream.wait(10)
    cut_off = time.monotonic()
    for number in range(1, 101):
        write()
        time.sleep(max(0, cut_off + 0.6 * number - time.monotonic()))
    with listening(address, "user", token, last_event_id=stream.last_id) as again:
        again.wait(100)
        for _number in range(10):
            write()
        again.wait(110)
    told = [int(data["id"]) for name, data in stream.events + again.events if name == "update"]
    assert len(stream.events) == 10
    assert sorted(told) == sorted(sent)


def test_an_id_that_is_none_is_refused(address, bob):
    for place in ("user", "user?last_event_id=x"):
        headers = {} if "?" in place else {"Last-Event-ID": "x"}
        status, _headers, body = get(address, place, token_of(bob), **headers)
        assert (status, json.loads(body)["code"]) == (400, "bad_event_id")


def test_a_follower_hears_of_the_preview_of_a_post(address, alice, bob, settings):
    settings.LINK_PREVIEWS = True
    with (
        Site(PUBLIC, pages=article()).running() as site,
        listening(address, "user", token_of(bob)) as stream,
    ):
        delivered(alice, f"Look: http://news.example:{site.port}/tea")
        assert stream.wait(1)[0][1]["card"] is None
        previews.run_due(limit=1, network=site.network())
        name, status = stream.wait(2)[1]
        assert (name, status["card"]["title"]) == ("status.update", "Tea at the river")


def test_a_stream_lives_and_says_so(address, bob):
    with listening(address, "user", token_of(bob)) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        assert stream.headers["Access-Control-Allow-Origin"] == "*"
        wait_until(lambda: stream.comments >= 3, "three comments have come")


def test_notifications_come_to_both_streams_of_their_reader(address, alice, bob, carol):
    post = delivered(alice)
    with (
        listening(address, "user", token_of(alice)) as everything,
        listening(address, "user/notification", token_of(alice)) as only,
        listening(address, "user", token_of(carol)) as other,
    ):
        like_post(bob, post.pk)
        deliver()
        for stream in (everything, only):
            [(name, notification)] = stream.wait(1)
            assert (name, notification["type"]) == ("notification", "favourite")
            assert notification["account"]["acct"] == "bob"
        assert other.events == []


def test_conversations_come_to_the_stream_of_their_own(address, alice, bob, carol):
    with listening(address, "direct", token_of(bob)) as stream:
        publish(alice, "@carol not for bob", visibility="mentioned")
        publish(alice, "@bob hello")
        said = publish(alice, "@bob hello", visibility="mentioned")
        deliver()
        [(name, talk)] = stream.wait(1)
        assert (name, talk["last_status"]["id"], talk["unread"]) == ("conversation", str(said.pk), True)  # fmt: skip


def test_who_may_not_see_a_post_hears_nothing_of_it(address, alice, bob, carol):
    enemy = make_user()
    follow_user(enemy, alice)
    deliver()
    block_user(alice, enemy)
    deliver()
    with (
        listening(address, "user", token_of(bob)) as follower,
        listening(address, "user", token_of(enemy)) as blocked,
        listening(address, "public", token_of(enemy)) as blocked_in_public,
        listening(address, "public", token_of(carol)) as public,
        listening(address, "hashtag?tag=RIVER", token_of(carol)) as tagged,
    ):
        secret = publish(alice, "For you. #river", visibility="followers")
        unlisted = publish(alice, "Quiet. #river", visibility="unlisted")
        plain = publish(alice, "For all. #River")
        deliver()
        told = [int(data["id"]) for _name, data in follower.wait(3)]
        assert told == [secret.pk, unlisted.pk, plain.pk]
        for stream in (public, tagged):
            assert [int(data["id"]) for _name, data in stream.wait(1)] == [plain.pk]
        last = delivered(carol, "By another one. #river")
        assert [int(data["id"]) for _name, data in blocked_in_public.wait(1)] == [last.pk]
        assert blocked.events == []
        assert len(public.wait(2)) == 2


def test_a_stream_ends_with_its_token(address, alice, bob):
    tokens = {user: token_of(user) for user in (alice, bob)}
    with (
        listening(address, "user", tokens[alice]) as revoked,
        listening(address, "user", tokens[bob]) as suspended,
    ):
        revoke_token(alice, AccessToken.objects.get(user=alice).pk)
        suspend(bob)
        assert revoked.ended.wait(10)
        assert suspended.ended.wait(10)
    assert {get(address, "user", token)[0] for token in tokens.values()} == {401}


def test_a_lost_announcement_costs_the_time_between_two_looks(address, bob):
    token = token_of(bob)
    with listening(address, "user", token) as stream:
        AccessToken.objects.filter(user=bob).delete()  # nobody is told
        assert stream.ended.wait(10)


def test_one_user_may_open_so_many_streams(address, alice, bob):
    token = token_of(bob)
    with listening(address, "user", token), listening(address, "public", token) as second:
        status, headers, _body = get(address, "user", token)
        assert (status, headers["Retry-After"]) == (429, "5")
        assert _opens(address, token_of(alice))
        second.close()
        wait_until(lambda: _opens(address, token), "another stream may be opened")


def _opens(address, token):
    try:
        with listening(address, "user", token):
            return True
    except RefusedError:
        return False


REFUSED = {"user": 401, "nothing": 404, "hashtag": 400, "hashtag?tag=": 400, "list?list=x": 400, "": 404,
           "list?list=" + "9" * 2000: 400, "hashtag?tag=%FF": 400, "user?access_token=wrong": 401}  # fmt: skip


def test_a_token_opens_what_its_scopes_let_it(address, bob):
    token = issue_token(bob, name="test", scopes="read:notifications")
    status, _headers, body = get(address, "user", token)
    assert (status, json.loads(body)["code"]) == (403, "insufficient_scope")
    with listening(address, "user/notification", token):
        pass


def test_bad_addresses_are_refused_as_problems(address):
    for path, status in REFUSED.items():
        found, headers, body = get(address, path)
        assert (path, found) == (path, status)
        assert headers["Content-Type"] == "application/json"
        assert json.loads(body)["status"] == status
