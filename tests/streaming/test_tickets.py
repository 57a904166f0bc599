"""Tickets of pages: good for as long as a login is."""

import json
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from apps.accounts.authentication.sessions import end_session
from apps.accounts.models import Login
from apps.streaming.queries import ended_tokens, listener_of
from apps.streaming.tickets import PREFIX, ticket_for
from tests.support.factories import PASSWORD, log_in, make_user, suspend

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(alice):
    alice.set_password(PASSWORD)
    alice.save()
    browser = Client()
    browser.post("/login", {"username": "alice", "password": PASSWORD})
    return browser


@pytest.fixture
def ticket(browser):
    address = json.loads(browser.get("/streams/ticket").content)["address"]
    return address.partition("access_token=")[2]


def test_the_page_is_told_where_to_listen(alice, browser, settings):
    settings.STREAMING_URL = "https://streams.example"
    answer = browser.get("/streams/ticket")
    assert "no-store" in answer.headers["Cache-Control"]
    address = json.loads(answer.content)["address"]
    assert address.startswith(f"https://streams.example/api/v1/streaming/user?access_token={PREFIX}")  # fmt: skip
    assert browser.session.session_key not in address
    page = browser.get("/")
    assert 'data-ticket="/streams/ticket"' in page.text
    assert "connect-src 'self' http" in page.headers["Content-Security-Policy"]


def test_a_ticket_is_for_listening_only(alice, ticket):
    bearer = listener_of(ticket)
    assert bearer is not None
    assert bearer.user == alice
    assert "read:statuses" in bearer.scopes
    assert not any(scope.startswith(("write", "follow", "push")) for scope in bearer.scopes)
    program = Client(headers={"Authorization": f"Bearer {ticket}"})
    assert program.get("/api/v1/timelines/home").status_code == 401


def test_it_ends_with_the_login(alice, ticket):
    assert not ended_tokens([ticket])
    end_session(alice, Login.objects.get(user=alice).pk)
    assert ended_tokens([ticket]) == {ticket}


def test_it_ends_with_the_session(browser, ticket):
    browser.post("/logout")
    assert listener_of(ticket) is None


@pytest.mark.parametrize("what", ["password", "suspension", "expiry"])
def test_what_else_ends_it(alice, ticket, what):
    if what == "password":
        alice.set_password("another long passphrase")
        alice.save()
    elif what == "suspension":
        suspend(alice)
    else:
        Session.objects.update(expire_date=timezone.now() - timedelta(minutes=5))
    assert listener_of(ticket) is None


@pytest.mark.parametrize("forged", ["", "x", "MQ:1abc:def", "é", "0" * 100])
def test_what_is_no_ticket(alice, ticket, forged):
    assert listener_of(PREFIX + forged) is None
    assert listener_of(ticket[:-1] + ("a" if ticket[-1] != "a" else "b")) is None


def test_an_old_one(ticket, monkeypatch):
    monkeypatch.setattr("apps.streaming.tickets.LIFETIME", timedelta(seconds=-1))
    assert listener_of(ticket) is None


def test_nobody_gets_none(alice, client, page_of):
    assert client.get("/streams/ticket").status_code == 204
    assert ticket_for(alice, "unknown") is None


def test_many_are_checked_in_two_queries(ticket, django_assert_num_queries):
    people = [make_user() for _number in range(3)]
    tickets = [ticket]
    for user in people:
        browser = Client()
        log_in(browser, user)
        tickets.append(str(ticket_for(user, browser.session.session_key)))
    end_session(people[0], Login.objects.get(user=people[0]).pk)
    suspend(people[1])
    ended = {tickets[1], tickets[2], f"{PREFIX}forged"}
    with django_assert_num_queries(2):
        assert ended_tokens({*tickets, *ended}) == ended
