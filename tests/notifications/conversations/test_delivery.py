"""Conversations: one entry for each thread, with what each may see."""

import pytest

from apps.api.entities.timeline import ConversationJson
from apps.events.leases import State
from apps.events.models import Event
from apps.graph.actions import block_user, mute_user
from apps.moderation.actions import hide_post, show_post
from apps.notifications.conversations.actions import remove_conversation
from apps.notifications.models import Conversation
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from tests.support.factories import deliver, moderator, publish

pytestmark = pytest.mark.django_db

CONVERSATIONS = "/api/v1/conversations"


def talk(author, names, **draft):
    text = " ".join(f"@{name}" for name in names) or "to nobody"
    return publish(author, text, visibility="mentioned", **draft)


@pytest.fixture
def listed(api_of):
    """`listed(user)`: (id of what was said last, with whom, unread) of each conversation."""

    def of(user):
        deliver()
        return [
            (
                int(one["last_status"]["id"]),
                [account["acct"] for account in one["accounts"]],
                one["unread"],
            )
            for one in api_of(user).get(CONVERSATIONS).json()
        ]

    return of


@pytest.mark.slow
def test_a_thread_is_one_conversation_of_each_of_its_people(alice, bob, carol, listed):
    first = talk(alice, ["bob", "carol"])
    assert listed(alice) == [(first.pk, ["bob", "carol"], False)]
    assert listed(bob) == [(first.pk, ["alice", "carol"], True)]
    answer = talk(bob, ["alice"], reply_to_id=first.pk)
    assert listed(alice) == [(answer.pk, ["bob"], True)]
    assert listed(bob) == [(answer.pk, ["alice"], False)]
    assert listed(carol) == [(first.pk, ["alice", "bob"], True)]  # not named in the answer


def test_other_posts_are_no_conversations(alice, bob, listed):
    publish(alice, "hello @bob")
    publish(alice, "hello @bob", visibility="followers")
    assert listed(alice) == listed(bob) == []


def test_a_note_to_oneself_is_with_oneself(alice, listed):
    post = talk(alice, [])
    assert listed(alice) == [(post.pk, ["alice"], False)]


@pytest.mark.slow
def test_the_newest_said_comes_first_and_pages_walk_to_the_end(alice, bob, api_of):
    posts = [talk(alice, ["bob"]) for _ in range(5)]
    deliver()
    api, seen, url = api_of(bob), [], f"{CONVERSATIONS}?limit=2"
    while url:
        answer = api.get(url)
        seen += [int(one["last_status"]["id"]) for one in answer.json()]
        link = answer.headers.get("Link", "")
        url = link.split(">")[0][1:] if 'rel="next"' in link else ""
    assert seen == [post.pk for post in reversed(posts)]


@pytest.mark.slow
def test_reading_and_removing(alice, bob, api_of, listed):
    post = talk(alice, ["bob"])
    assert listed(bob)[0][2] is True
    api = api_of(bob)
    (one,) = api.get(CONVERSATIONS).json()
    assert set(one) == ConversationJson.__required_keys__
    assert api.post(f"{CONVERSATIONS}/{one['id']}/read").json()["unread"] is False
    assert listed(bob)[0][2] is False
    assert api_of(alice).delete(f"{CONVERSATIONS}/{one['id']}").status_code == 404
    assert api_of(alice).post(f"{CONVERSATIONS}/{one['id']}/read").status_code == 404
    assert api.delete(f"{CONVERSATIONS}/{one['id']}").json() == {}
    assert listed(bob) == []
    answer = talk(alice, ["bob"], reply_to_id=post.pk)
    assert listed(bob) == [(answer.pk, ["alice"], True)]


@pytest.mark.slow
def test_a_deleted_last_word_gives_way_to_the_one_before(alice, bob, listed):
    first = talk(alice, ["bob"])
    answer = talk(alice, ["bob"], reply_to_id=first.pk)
    assert listed(bob)[0][0] == answer.pk
    delete_post(answer.pk, by=alice)
    assert listed(bob)[0][0] == first.pk
    delete_post(first.pk, by=alice)
    assert listed(bob) == []
    assert not Conversation.objects.exists()


@pytest.mark.slow
def test_a_hidden_last_word_gives_way_for_others_until_it_is_shown_again(alice, bob, listed):
    first = talk(alice, ["bob"])
    answer = talk(alice, ["bob"], reply_to_id=first.pk)
    assert listed(bob) == [(answer.pk, ["alice"], True)]
    hide_post(answer.pk, by=moderator())
    assert [said for said, _with, _unread in listed(bob)] == [first.pk]
    edit_post(alice, answer.pk, body="@bob And nicer.")
    assert [said for said, _with, _unread in listed(bob)] == [first.pk]
    assert listed(alice) == [(answer.pk, ["bob"], False)]
    show_post(answer.pk, by=moderator())
    assert [said for said, _with, _unread in listed(bob)] == [answer.pk]


@pytest.mark.slow
def test_a_conversation_of_hidden_words_only_comes_back_with_them(alice, bob, listed):
    post = talk(alice, ["bob"])
    hide_post(post.pk, by=moderator())  # before anybody got it
    assert listed(bob) == []
    assert listed(alice) == [(post.pk, ["bob"], False)]
    assert not Conversation.objects.filter(user=bob).exists()
    show_post(post.pk, by=moderator())
    assert listed(bob) == [(post.pk, ["alice"], True)]


@pytest.mark.slow
def test_an_edit_that_names_others_moves_the_conversation(alice, bob, carol, listed):
    post = talk(alice, ["bob"])
    deliver()
    edit_post(alice, post.pk, body="hello @carol")
    assert listed(bob) == []
    assert listed(carol) == [(post.pk, ["alice"], True)]
    assert listed(alice) == [(post.pk, ["carol"], False)]


def test_an_edit_brings_back_no_removed_conversation(alice, bob, carol):
    post = talk(alice, ["bob"])
    deliver()
    for user in (alice, bob):
        remove_conversation(user, Conversation.objects.get(user=user).pk)
    edit_post(alice, post.pk, body="hello @bob and @carol")
    deliver()
    assert [row.user for row in Conversation.objects.all()] == [carol]


@pytest.mark.slow
def test_the_blocked_and_muted_begin_none_and_a_block_hides_at_once(alice, bob, carol, listed):
    mute_user(bob, alice)
    talk(alice, ["bob"])
    assert listed(bob) == []
    post = talk(alice, ["carol"])
    assert listed(carol)[0][0] == post.pk
    block_user(carol, alice)
    assert listed(carol) == []


@pytest.mark.slow
def test_events_that_run_again_or_late_change_nothing(alice, bob, listed, api_of):
    first = talk(alice, ["bob"])
    answer = talk(alice, ["bob"], reply_to_id=first.pk)
    for event in Event.objects.filter(name="post_published").order_by("-pk"):
        event.due_at = event.created_at
        event.save()
    before = listed(bob)
    assert before == [(answer.pk, ["alice"], True)]
    number = api_of(bob).get(CONVERSATIONS).json()[0]["id"]
    api_of(bob).post(f"{CONVERSATIONS}/{number}/read")
    Event.objects.update(state=State.PENDING, attempts=0)
    assert listed(bob) == [(answer.pk, ["alice"], False)]


@pytest.mark.slow
def test_a_cursor_names_nothing_that_is_hidden(alice, bob, carol, api_of, listed):
    # within a second ids go by author: the hidden ones are the newest either way
    talks = [talk(author, ["carol"]) for author in (alice, bob, alice, bob, bob)]
    assert len(listed(carol)) == 5
    block_user(bob, carol)
    answer = api_of(carol).get(f"{CONVERSATIONS}?limit=1")
    assert [int(one["last_status"]["id"]) for one in answer.json()] == [talks[2].pk]
    below = api_of(carol).get(f"{CONVERSATIONS}?limit=1&max_id={talks[2].pk}")
    assert [int(one["last_status"]["id"]) for one in below.json()] == [talks[0].pk]
    links = answer["Link"] + below["Link"]
    assert not any(str(talks[number].pk) in links for number in (1, 3, 4))
