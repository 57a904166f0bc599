"""Writing messages: to whom, in which conversation; muting, leaving, accepting."""

import pytest

from apps.errors import Invalid, NotAllowed, NotFound
from apps.graph.actions import block_user
from apps.notifications.conversations import actions
from apps.notifications.conversations.actions import (
    MAX_PEOPLE,
    accept_request,
    answer,
    begin,
    leave_conversation,
    mark_read,
    mute_conversation,
    remove_conversation,
    unmute_conversation,
)
from apps.notifications.conversations.queries import (
    conversations_page,
    get_conversation,
    messages_page,
    seen_by,
    waiting_requests,
)
from apps.notifications.models import Conversation, Notification
from apps.notifications.queries import unread
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft, UnexpectedMentions
from apps.posts.models import Visibility
from apps.posts.queries import mentions_of
from tests.support.factories import deliver, delivered, make_user, suspend

pytestmark = pytest.mark.django_db


def _begin(author, *people, text="Hello.", key=""):
    return begin(author, people, Draft(text), idempotency_key=key)


def _answer(author, talk, text="Well.", seen=None, key=""):
    seen_id = (seen or get_conversation(author, talk).item).id
    return answer(author, talk, Draft(text), seen_id=seen_id, idempotency_key=key)


def _talk(user):
    return Conversation.objects.get(user=user).pk


def _told(post):
    return set(mentions_of(post))


def test_a_message_is_a_post_for_exactly_its_people(alice, bob, carol):
    post = _begin(alice, bob, carol, text="Dinner?")
    assert (post.body, post.visibility) == ("@bob @carol Dinner?", Visibility.MENTIONED)
    assert _told(post) == {"bob", "carol"}
    assert [talk.text for talk in conversations_page(bob, Cursor()).items] == ["Dinner?"]


def test_it_is_in_the_lists_before_any_worker_has_seen_it(alice, bob):
    _begin(alice, bob)
    assert get_conversation(alice, _talk(alice)).people == [bob]
    assert get_conversation(bob, _talk(bob)).is_unread
    deliver()
    assert Conversation.objects.count() == 2


def test_whoever_writes_to_the_same_people_goes_on_where_they_were(alice, bob, carol):
    first = _begin(alice, bob)
    assert _begin(alice, bob, text="And?").thread_id == first.thread_id
    assert _begin(bob, alice, text="Yes.").thread_id == first.thread_id
    assert _begin(alice, bob, carol).thread_id != first.thread_id
    assert _begin(alice, carol).thread_id != first.thread_id


def test_a_private_answer_below_a_public_post_is_not_gone_on_with(alice, bob):
    public = delivered(alice, "To all.")
    delivered(bob, "@alice psst", visibility="mentioned", reply_to_id=public.pk)
    assert _begin(bob, alice).thread_id != public.pk


def test_the_same_form_sent_twice_is_one_message(alice, bob):
    posts = {_begin(alice, bob, key="once").pk for _time in range(2)}
    talk = _talk(alice)
    last = get_conversation(alice, talk).item
    answers = {_answer(alice, talk, seen=last, key="again").pk for _time in range(2)}
    assert (len(posts), len(answers)) == (1, 1)


@pytest.mark.slow
def test_an_answer_goes_to_whom_its_author_saw(alice, bob, carol):
    first = _begin(alice, bob, carol)
    talk = _talk(bob)
    shown = get_conversation(bob, talk).item
    delivered(alice, "@bob only you", visibility="mentioned", reply_to_id=first.pk)
    assert _told(_answer(bob, talk, seen=shown)) == {"alice", "carol"}
    assert _told(_answer(bob, talk)) == {"alice", "carol"}


def test_an_answer_is_about_a_message_of_the_conversation(alice, bob):
    public = delivered(alice, "To all.")
    _begin(alice, bob)
    other = delivered(alice, "@bob elsewhere", visibility="mentioned")
    talk = Conversation.objects.get(user=bob, thread_id__lt=other.pk).pk
    for post in (public, other):
        with pytest.raises(NotFound):
            answer(bob, talk, Draft("Hm."), seen_id=post.pk, idempotency_key="")


def test_a_text_that_names_somebody_else_is_not_sent(alice, bob, carol):
    with pytest.raises(UnexpectedMentions):
        _begin(alice, bob, text="Ask @carol")
    assert not Conversation.objects.exists()


def test_the_handles_take_no_room_of_the_text(alice, settings):
    people = [make_user(f"person_with_a_long_handle_{n:04}") for n in range(MAX_PEOPLE - 1)]
    text = "x" * settings.POST_MAX_CHARACTERS
    post = _begin(alice, *people, text=text)
    assert len(_told(post)) == MAX_PEOPLE - 1
    with pytest.raises(Invalid):
        _begin(alice, *people, text=text + "x")


def test_a_group_has_twenty_people_at_most_and_a_message_something_in_it(alice, bob):
    people = [make_user(f"person{n}") for n in range(MAX_PEOPLE)]
    for wrong in ((people, "Hello."), ([], "Hello."), ([bob], " ")):
        with pytest.raises(Invalid):
            begin(alice, wrong[0], Draft(wrong[1]), idempotency_key="")


def test_nothing_is_written_across_a_block(alice, bob, carol):
    block_user(bob, alice)
    with pytest.raises(NotAllowed):
        _begin(alice, bob)
    assert _told(_begin(alice, bob, carol)) == {"carol"}


def test_what_a_stranger_begins_is_a_request_until_it_is_accepted(alice, carol):
    _begin(carol, alice)
    talk = _talk(alice)
    assert get_conversation(alice, talk).is_request
    assert unread(alice).unread_messages == 0
    accept_request(alice, talk)
    assert not get_conversation(alice, talk).is_request
    assert unread(alice).unread_messages == 1
    remove_conversation(alice, talk)
    _begin(carol, alice, text="Again.")
    assert not get_conversation(alice, _talk(alice)).is_request  # no stranger any more


def test_an_answer_accepts_a_request(alice, carol):
    _begin(carol, alice)
    _answer(alice, _talk(alice))
    _begin(carol, alice, text="Thanks.")
    assert not get_conversation(alice, _talk(alice)).is_request


def test_who_was_written_to_is_no_stranger(alice, carol):
    delivered(alice, "@carol hello", visibility="mentioned")
    delivered(carol, "@alice in a thread of its own", visibility="mentioned")
    assert not Conversation.objects.filter(user=alice, is_request=True).exists()


def test_a_muted_conversation_tells_nothing(alice, bob):
    _begin(alice, bob)
    talk = _talk(bob)
    mute_conversation(bob, talk)
    Notification.objects.all().delete()
    _begin(alice, bob, text="Still there?")
    deliver()
    assert get_conversation(bob, talk).is_muted
    assert tuple(unread(bob)) == (0, 0)
    unmute_conversation(bob, talk)
    assert unread(bob).unread_messages == 1


def _blocked_by(user, other):
    block_user(other, user)


def _without(_user, other):
    suspend(other)


@pytest.mark.parametrize("part", [block_user, _blocked_by])
def test_messages_that_a_block_hides_are_not_counted(alice, bob, part):
    _begin(alice, bob)
    assert unread(bob).unread_messages == 1
    part(bob, alice)
    deliver()
    assert conversations_page(bob, Cursor()).items == []
    assert unread(bob).unread_messages == 0


@pytest.mark.parametrize("part", [block_user, _without])
def test_requests_of_hidden_people_are_not_counted(bob, carol, part):
    _begin(carol, bob)
    assert waiting_requests(bob) == 1
    part(bob, carol)
    assert waiting_requests(bob) == 0


@pytest.mark.slow
def test_who_leaves_hears_nothing_and_is_written_to_no_more(alice, bob, carol):
    first = _begin(alice, bob, carol)
    talk = _talk(bob)
    leave_conversation(bob, talk)
    with pytest.raises(NotFound):
        get_conversation(bob, talk)
    assert _told(_answer(alice, _talk(alice))) == {"carol"}
    # a program names them nevertheless
    delivered(carol, "@alice @bob hey", visibility="mentioned", reply_to_id=first.pk)
    assert conversations_page(bob, Cursor()).items == []
    assert [person.handle for person in get_conversation(alice, _talk(alice)).people] == ["carol"]


def test_nobody_writes_to_nobody(alice, bob):
    _begin(alice, bob)
    leave_conversation(bob, _talk(bob))
    with pytest.raises(NotAllowed):
        _answer(alice, _talk(alice))


def test_who_left_can_be_written_to_anew(alice, bob):
    first = _begin(alice, bob)
    leave_conversation(bob, _talk(bob))
    again = _begin(alice, bob, text="Anew.")
    assert again.thread_id != first.thread_id
    assert [talk.item.id for talk in conversations_page(bob, Cursor()).items] == [again.pk]


def test_who_left_comes_back_by_writing(alice, bob, carol):
    first = _begin(alice, bob, carol)
    leave_conversation(bob, _talk(bob))
    delivered(bob, "@alice @carol I am back", visibility="mentioned", reply_to_id=first.pk)
    assert get_conversation(bob, _talk(bob)).is_group


@pytest.fixture
def seen(alice, bob):
    """`seen()`: whether alice is told that bob has seen her newest message, which he has read."""

    def look():
        post = _begin(alice, bob)
        mark_read(bob, _talk(bob))
        return seen_by(alice, get_conversation(alice, _talk(alice)), post.pk) == [bob]

    return look


def test_reading_is_told(alice, bob, seen):
    assert seen()
    post = _begin(alice, bob, text="And now?")
    assert seen_by(alice, get_conversation(alice, _talk(alice)), post.pk) == []


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_who_does_not_want_marks_neither_tells_nor_sees(alice, bob, seen, who):
    user = {"alice": alice, "bob": bob}[who]
    user.tells_seen = False
    user.save()
    assert not seen()


def test_what_was_read_without_marks_is_not_told_later(alice, bob, seen):
    bob.tells_seen = False
    bob.save()
    assert not seen()
    bob.tells_seen = True
    bob.save()
    newest = get_conversation(alice, _talk(alice))
    assert seen_by(alice, newest, newest.item.id) == []


def test_reading_is_not_told_if_a_later_message_arrives_meanwhile(alice, bob, monkeypatch):
    _begin(alice, bob)
    told = []

    def arrives(_reader):
        _begin(alice, bob, text="And now?")
        return True

    monkeypatch.setattr(actions, "announce", lambda name, **ids: told.append((name, ids)))
    monkeypatch.setattr(type(bob), "tells_seen", property(arrives, lambda _reader, _value: None))
    mark_read(bob, _talk(bob))
    assert told == []
    assert get_conversation(bob, _talk(bob)).is_unread


def test_looking_at_a_request_is_not_told(alice, carol):
    post = _begin(carol, alice)
    mark_read(alice, _talk(alice))
    assert seen_by(carol, get_conversation(carol, _talk(carol)), post.pk) == []


def test_only_ones_own_conversations_are_changed(alice, bob, carol):
    _begin(alice, bob)
    for act in (
        mark_read,
        accept_request,
        mute_conversation,
        leave_conversation,
        remove_conversation,
    ):
        with pytest.raises(NotFound):
            act(carol, _talk(bob))
    with pytest.raises(NotFound):
        _answer(carol, _talk(bob), seen=get_conversation(bob, _talk(bob)).item)


@pytest.mark.slow
def test_messages_come_in_order_and_only_those_the_viewer_may_see(alice, bob, carol):
    posts = [_begin(alice, bob, carol, text=f"Number {n}.") for n in range(3)]
    delivered(alice, "@carol aside", visibility="mentioned", reply_to_id=posts[0].pk)
    talk = get_conversation(bob, _talk(bob))
    page = messages_page(bob, talk, Cursor(limit=2))
    assert [message.item.id for message in page.items] == [post.pk for post in posts[1:]]
    older = messages_page(bob, talk, Cursor(limit=2, max_id=page.older))
    assert [message.item.id for message in older.items] == [posts[0].pk]
    assert older.older is None
    assert [message.html for message in older.items] == ["<p>Number 0.</p>"]
