"""Pages of messages: the list, the bubbles, the box, new messages, requests."""

import re
from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.graph.actions import follow_user
from apps.notifications.models import Conversation
from apps.posts.actions.uploads import upload_picture, withdraw_picture
from apps.posts.models import Post
from tests.support.factories import deliver, delivered, make_user, publish
from tests.support.pages import EMPTY, ERROR, QUESTION
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(alice, bob):
    return delivered(alice, "@bob Between us.", visibility="mentioned")


def _of(user):
    return Conversation.objects.get(user=user)


def _address(user):
    return f"/conversations/{_of(user).pk}"


def _bubbles(html):
    return re.findall(r'<li class="bubble[^"]*" id="m(\d+)"', html)


def _seen(html):
    return re.findall(r'name="seen" value="(\d+)"', html)[0]


@pytest.mark.slow
def test_opening_one_reads_it(bob, talk, page_of):
    browser = page_of(bob)
    page = browser.get("/conversations").text
    assert "Between us." in page
    assert '<span class="new">New</span>' in page
    opened = browser.get(_address(bob)).text
    assert _bubbles(opened) == [str(talk.pk)]
    assert "<p>Between us.</p>" in opened  # without the handle
    assert '<span class="new">New</span>' not in browser.get("/conversations").text
    fragment = browser.get("/conversations", headers={"HX-Request": "true"}).text
    assert "<html" not in fragment
    assert "Between us." in fragment


def test_only_looking_reads_nothing(bob, talk, page_of):
    page_of(bob).head(_address(bob))
    assert _of(bob).is_unread


def test_the_badge_counts_conversations(alice, bob, talk, page_of):
    browser = page_of(bob)
    delivered(alice, "@bob And more.", visibility="mentioned", reply_to_id=talk.pk)
    assert browser.get("/notifications/unread").text == "2\n1"
    browser.get(_address(bob))
    assert browser.get("/notifications/unread").text == "2\n"


@pytest.mark.slow
def test_taken_off_the_list_until_something_is_said(alice, bob, talk, page_of):
    browser = page_of(bob)
    assert browser.post(f"{_address(bob)}/remove")["Location"] == "/conversations"
    assert EMPTY in browser.get("/conversations").text
    delivered(alice, "@bob Still there?", visibility="mentioned", reply_to_id=talk.pk)
    assert "Still there?" in browser.get("/conversations").text


@pytest.mark.slow
def test_writing_in_one(alice, bob, talk, page_of):
    browser = page_of(bob)
    box = {"body": "Yes.", "seen": _seen(browser.get(_address(bob)).text), "pictures": "1"}
    answer = browser.post(_address(bob), {**box, "idempotency_key": "a"})
    post = Post.objects.get(author=bob)
    assert answer["Location"] == f"{_address(bob)}#m{post.pk}"
    assert (post.body, post.reply_to_id) == ("@alice Yes.", talk.pk)
    page = browser.get(_address(bob)).text
    assert "Sent</span>" in page
    page_of(alice).get(_address(alice))
    assert "Seen</span>" in browser.get(_address(bob)).text
    in_place = browser.post(_address(bob), box, headers={"HX-Request": "true"})
    assert in_place.status_code == 200
    assert "<html" not in in_place.text
    assert len(_bubbles(in_place.text)) == 3


def test_what_could_not_be_sent_stays_in_the_box(bob, carol, talk, page_of):
    browser, box = page_of(bob), {"body": "Ask @carol", "seen": talk.pk}
    answer = browser.post(_address(bob), box)
    assert answer.status_code == 422
    assert ERROR in answer.text
    assert "Ask @carol</textarea>" in answer.text
    assert browser.post(_address(bob), box, headers={"HX-Request": "true"}).status_code == 422
    assert not Post.objects.filter(author=bob).exists()


@pytest.mark.long
def test_older_messages_are_a_page_away(alice, bob, talk, page_of):
    for number in range(25):
        publish(alice, f"@bob {number}", visibility="mentioned", reply_to_id=talk.pk)
    deliver()
    page = page_of(bob).get(_address(bob)).text
    (older,) = set(re.findall(r'href="([^"]*\?max_id=\d+)"', page))
    above = page_of(bob).get(older).text
    assert not set(_bubbles(page)) & set(_bubbles(above))
    assert len({*_bubbles(page), *_bubbles(above)}) == 26
    assert 'id="box"' not in above


def test_a_new_message_by_search_without_scripts(alice, bob, carol, page_of):
    browser = page_of(bob)
    found = browser.get("/conversations/new?q=car").text
    assert 'href="/conversations/new?to=carol"' in found
    chosen = browser.get("/conversations/new?to=carol&q=ali").text
    assert 'href="/conversations/new?to=carol&amp;to=alice"' in chosen
    assert 'name="body"' in chosen
    sent = browser.post("/conversations/new", {"to": ["carol", "alice"], "body": "Dinner?"})
    assert sent["Location"] == _address(bob)
    assert Post.objects.get(author=bob).body == "@carol @alice Dinner?"
    assert (
        "<html" not in browser.get("/conversations/new?q=car", headers={"HX-Request": "true"}).text
    )


def test_the_button_of_a_profile_leads_to_the_conversation_there_is(alice, bob, talk, page_of):
    assert "/conversations/new?to=alice" in page_of(bob).get("/@alice").text
    assert "/conversations/new?to=bob" not in page_of(bob).get("/@bob").text
    assert "/conversations/new?to=alice" not in Client().get("/@alice").text
    assert page_of(bob).get("/conversations/new?to=alice")["Location"] == _address(bob)
    assert page_of(bob).get("/conversations/new?to=nobody").status_code == 404


@pytest.mark.long
def test_a_picture_is_a_message(bob, talk, page_of):
    sent = {"body": "", "seen": talk.pk, "file_1": _picture(), "file_1_alt": "A pot of tea"}
    assert page_of(bob).post(_address(bob), sent).status_code == 303
    assert 'alt="A pot of tea"' in page_of(bob).get(_address(bob)).text


def _picture():
    return SimpleUploadedFile("tea.png", picture(), "image/png")


@pytest.mark.usefixtures("media")
def test_a_message_does_not_go_out_without_a_picture_that_is_gone(bob, talk, page_of):
    one = upload_picture(bob, BytesIO(picture()))
    withdraw_picture(bob, one.pk)
    box = {"body": "Look.", "seen": talk.pk, "media_ids": [one.pk]}
    refused = page_of(bob).post(_address(bob), box)
    assert refused.status_code == 422
    assert ERROR in refused.text
    assert not Post.objects.filter(author=bob).exists()


@pytest.mark.usefixtures("media")
@pytest.mark.parametrize("place", ["/conversations/new?to=alice", None])
def test_a_file_sent_twice_is_one_message(bob, talk, page_of, place):
    browser, address = page_of(bob), place or _address(bob)
    box = {"body": "Tea?", "to": "alice", "seen": talk.pk, "idempotency_key": "a"}
    for _time in range(2):
        assert browser.post(address, {**box, "file_1": _picture()}).status_code == 303
    assert Post.objects.get(author=bob).attachments.count() == 1


def test_requests_are_apart(alice, carol, page_of, api_of):
    delivered(carol, "@alice You do not know me.", visibility="mentioned")
    browser = page_of(alice)
    (told,) = api_of(alice).get("/api/v1/conversations").json()
    assert told["feedsite"] == {"request": True, "muted": False}
    page = browser.get("/conversations").text
    assert "You do not know me." not in page
    assert "/conversations/requests" in page
    assert "You do not know me." in browser.get("/conversations/requests").text
    assert f"{_address(alice)}/accept" in browser.get(_address(alice)).text
    assert browser.post(f"{_address(alice)}/accept")["Location"] == _address(alice)
    assert "You do not know me." in browser.get("/conversations").text
    assert "/conversations/requests" not in browser.get("/conversations").text


def test_leaving_asks_first(bob, talk, page_of):
    browser, there = page_of(bob), _address(bob)
    assert QUESTION in browser.get(f"{there}/leave").text
    assert browser.post(f"{there}/leave")["Location"] == "/conversations"
    assert browser.get(there).status_code == 404


@pytest.mark.slow
def test_muting(bob, talk, page_of):
    browser, there = page_of(bob), _address(bob)
    for verb, other in (("mute", "unmute"), ("unmute", "mute")):
        assert browser.post(f"{there}/{verb}")["Location"] == there
        assert f"{there}/{other}" in browser.get(there).text


def test_conversations_of_others_are_not_there(bob, carol, talk, page_of):
    there = _address(bob)
    assert page_of(carol).get(there).status_code == 404
    assert page_of(carol).post(there, {"body": "Hm.", "seen": talk.pk}).status_code == 404
    for verb in ("remove", "mute", "unmute", "accept", "leave"):
        assert page_of(carol).post(f"{there}/{verb}").status_code == 404
    assert "Between us." not in page_of(carol).get("/conversations").text
    assert _of(bob).is_unread
    assert Client().get("/conversations")["Location"].startswith("/login")
    assert page_of(bob).get(f"/conversations/{2**62}").status_code == 404


@pytest.mark.long
def test_a_page_costs_the_same_for_many(alice, bob, page_of, django_assert_max_num_queries):
    """Of messages, of people, and of conversations."""
    people = [make_user(f"person{n}") for n in range(12)]
    for person in people:
        follow_user(bob, person)
    names = " ".join(f"@{person.handle}" for person in people)
    first = delivered(alice, f"@bob {names} all", visibility="mentioned")
    browser = page_of(bob)
    browser.get(_address(bob))
    for person in people:
        publish(person, f"@bob @alice {names}", visibility="mentioned", reply_to_id=first.pk)
    deliver()
    browser.get(_address(bob))
    with django_assert_max_num_queries(17):
        assert len(_bubbles(browser.get(_address(bob)).text)) == 13
    for person in people:
        publish(person, "@bob", visibility="mentioned")
    deliver()
    browser.get("/conversations")
    with django_assert_max_num_queries(11):
        assert browser.get("/conversations").text.count('class="talk') == 13
    deliver()
