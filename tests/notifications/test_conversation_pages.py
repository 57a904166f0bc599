"""Pages of conversations: seen, opened, taken off the list."""

import pytest
from django.test import Client

from apps.notifications.models import Conversation
from tests.support.factories import delivered
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(alice, bob):
    return delivered(alice, "@bob Between us.", visibility="mentioned")


def _of(user):
    return Conversation.objects.get(user=user)


def test_opening_one_reads_it(bob, talk, page_of):
    browser = page_of(bob)
    page = browser.get("/conversations").text
    assert "Between us." in page
    assert '<span class="new">New</span>' in page
    opened = browser.get(f"/conversations/{_of(bob).pk}")
    assert opened["Location"] == f"/@alice/{talk.pk}#p{talk.pk}"
    assert '<span class="new">New</span>' not in browser.get("/conversations").text
    fragment = browser.get("/conversations", headers={"HX-Request": "true"}).text
    assert "<html" not in fragment
    assert "Between us." in fragment


def test_only_looking_reads_nothing(bob, talk, page_of):
    page_of(bob).head(f"/conversations/{_of(bob).pk}")
    assert _of(bob).is_unread


def test_taken_off_the_list_until_something_is_said(alice, bob, talk, page_of):
    browser = page_of(bob)
    there = f"/conversations/{_of(bob).pk}/remove"
    assert browser.post(there)["Location"] == "/conversations"
    assert EMPTY in browser.get("/conversations").text
    delivered(alice, "@bob Still there?", visibility="mentioned", reply_to_id=talk.pk)
    assert "Still there?" in browser.get("/conversations").text


def test_conversations_of_others_are_not_there(bob, carol, talk, page_of):
    number = _of(bob).pk
    assert page_of(carol).get(f"/conversations/{number}").status_code == 404
    assert page_of(carol).post(f"/conversations/{number}/remove").status_code == 404
    assert "Between us." not in page_of(carol).get("/conversations").text
    assert _of(bob).is_unread
    assert Client().get("/conversations")["Location"].startswith("/login")
    assert page_of(bob).get(f"/conversations/{2**62}").status_code == 404
