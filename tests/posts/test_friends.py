"""Posts to friends: for those who follow the author and whom the author follows, at the moment of the read."""

import pytest

from apps.accounts.queries import user_by_id
from apps.audit.explain import explain
from apps.audit.oracle import Oracle
from apps.errors import NotAllowed, NotFound
from apps.graph.actions import block_user, follow_user, remove_follower, unblock_user, unfollow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import UserList
from apps.notifications.models import Notification
from apps.pagination import Cursor
from apps.posts.models import Post
from apps.posts.queries import visible_posts
from apps.timeline.fanout.backfill import friendship_changed
from apps.timeline.home import home_timeline
from apps.timeline.list import list_timeline
from apps.timeline.models import FanoutChunk
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.profile import ProfileFilter, profile_timeline
from apps.timeline.sources.home_cache import INBOX, rebuild_inbox
from feedcache.connections import timelines
from tests.support.factories import deliver, delivered, make_user, publish, repost

pytestmark = pytest.mark.django_db


@pytest.fixture
def friend(alice):
    """dora and alice follow each other; bob only follows alice, and carol is only followed by her."""
    dora = make_user("dora")
    follow_user(dora, alice)
    follow_user(alice, dora)
    deliver()
    return dora


@pytest.fixture
def everybody(alice, bob, carol, friend):
    follow_user(alice, carol)
    deliver()
    people = [alice, bob, carol, friend]
    for person in people:
        home_timeline(person, Cursor())
    return people


def to_friends(author, body="For friends.", **more):
    return delivered(author, body, visibility="friends", **more)


def readers(post, people):
    """Who reads a post: on its own, at home and on the profile, which must agree; and so says the oracle."""
    oracle = Oracle()
    found = set()
    for person in people:
        viewer = user_by_id(person.pk)
        sees = post.pk in visible_posts(viewer.pk, [post.pk]).posts
        assert sees == oracle.may_see(viewer.pk, post.pk), viewer.handle
        assert sees == Oracle.of_viewer(viewer.pk, also=[post.pk]).may_see(viewer.pk, post.pk)
        shown = ProfileFilter(replies=True)
        profile = profile_timeline(user_by_id(post.author_id), viewer, Cursor(), shown)
        for page in (home_timeline(viewer, Cursor()), profile):
            assert (post.pk in {item.id for item in page.items}) == sees, viewer.handle
        if sees:
            found.add(viewer.handle)
    return found


def test_friends_read_it_and_nobody_else(alice, everybody):
    post = to_friends(alice, "For friends, @bob and @carol too.")
    assert readers(post, everybody) == {"alice", "dora"}
    assert visible_posts(None, [post.pk]).posts == {}
    assert INBOX.ids(everybody[1].pk) == []
    assert not Notification.objects.filter(user__handle__in=["bob", "carol"], post=post.pk).exists()


def test_the_inbox_is_filled_by_one_chunk_and_rebuilt_alike(alice, everybody, friend):
    post = to_friends(alice)
    chunk = FanoutChunk.objects.get(job=post.pk)
    assert (chunk.first_edge, chunk.expected, chunk.delivered) == (0, 1, 1)
    for _time in range(2):
        assert INBOX.ids(friend.pk) == [post.pk]
        timelines().flushdb()
        assert rebuild_inbox(friend.pk)


@pytest.mark.long
@pytest.mark.gate
def test_the_end_of_a_friendship_hides_at_once_and_its_return_shows_again(
    alice, everybody, friend, subtests
):
    post = to_friends(alice)
    for end, act in {
        "unfollow": lambda: unfollow_user(friend, alice),
        "is unfollowed": lambda: unfollow_user(alice, friend),
        "remove": lambda: remove_follower(alice, friend),
        "block": lambda: block_user(friend, alice),
        "is blocked": lambda: block_user(alice, friend),
    }.items():
        with subtests.test(end=end):
            assert readers(post, everybody) == {"alice", "dora"}
            act()
            assert readers(post, everybody) == {"alice"}  # before any worker has run
            deliver()
            assert readers(post, everybody) == {"alice"}
            assert INBOX.ids(friend.pk) == []
            unblock_user(alice, friend)
            unblock_user(friend, alice)
            follow_user(alice, friend)
            follow_user(friend, alice)
            assert post.pk in visible_posts(friend.pk, [post.pk]).posts
            deliver()
            assert readers(post, everybody) == {"alice", "dora"}
            assert INBOX.ids(friend.pk) == [post.pk]


def test_who_is_followed_in_return_finds_what_was_said_to_friends(alice, bob, everybody):
    post = to_friends(alice)
    follow_user(alice, bob)
    deliver()
    assert INBOX.ids(bob.pk) == [post.pk]
    friendship_changed(bob.pk, alice.pk)  # twice is once
    assert INBOX.ids(bob.pk) == [post.pk]
    assert readers(post, everybody) == {"alice", "bob", "dora"}


@pytest.mark.parametrize(
    ("asked", "reach"),
    [("public", "friends"), ("followers", "friends"), ("friends", "friends"), ("mentioned", "mentioned")],
)  # fmt: skip
def test_an_answer_reaches_no_further(alice, friend, asked, reach):
    root = to_friends(alice)
    answer = publish(friend, "@alice yes", visibility=asked, reply_to_id=root.pk)
    assert Post.objects.get(pk=answer.pk).visibility == reach


def test_it_does_not_travel_and_is_not_there_for_others(alice, bob, friend):
    post = to_friends(alice)
    with pytest.raises(NotAllowed):
        repost(friend, post.pk)
    with pytest.raises(NotAllowed):
        publish(friend, "Look.", quote_of_id=post.pk)
    for act in (repost, lambda user, number: publish(user, "So?", reply_to_id=number)):
        with pytest.raises(NotFound):
            act(bob, post.pk)


def test_friends_who_asked_to_be_told_are_told(alice, bob, friend):
    for person in (bob, friend):
        follow_user(person, alice, notify=True)
    post = to_friends(alice)
    told = Notification.objects.filter(post=post.pk).values_list("user__handle", flat=True)
    assert list(told) == ["dora"]


def test_it_is_explained(alice, friend, everybody):
    post = to_friends(alice)
    found = explain(user_by_id(friend.pk), post.pk)
    assert (found.reason, found.on_home) == (Reason.FRIENDS, True)
    assert found.text == "It is for friends of @alice: you follow each other."


def test_on_a_list_it_is_for_friends_too(alice, bob, friend):
    post = to_friends(alice)
    found = {}
    for person in (bob, friend):
        made = create_group(UserList, person, name="Mine")
        add_members(UserList, person, made.pk, [alice.pk])
        found[person.handle] = [item.id for item in list_timeline(person, made, Cursor()).items]
    assert found == {"bob": [], "dora": [post.pk]}


def test_programs_say_friends_and_read_private(alice, friend, bob, api_of):
    statuses = "/api/v1/statuses"
    answer = api_of(alice).post(statuses, {"status": "Hi.", "visibility": "friends"}, format="json")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert (body["visibility"], body["feedsite"]["visibility"]) == ("private", "friends")
    deliver()
    assert api_of(friend).get(f"{statuses}/{body['id']}").status_code == 200
    assert api_of(bob).get(f"{statuses}/{body['id']}").status_code == 404


def test_the_composer_offers_it_and_the_card_says_so(alice, friend, bob, page_of):
    page = page_of(alice)
    assert '<option value="friends">Friends</option>' in page.get("/compose").text
    sent = {"body": "For us.", "visibility": "friends", "language": "en", "idempotency_key": "once"}
    assert page.post("/posts", sent).status_code == 303
    post = Post.objects.get()
    assert post.visibility == "friends"
    assert "<span>Friends</span>" in page_of(friend).get(f"/@alice/{post.pk}").text
    assert '<span class="sr">Friends</span>' in page_of(friend).get("/@alice").text
    assert page_of(bob).get(f"/@alice/{post.pk}").status_code == 404
