"""Streams end within two seconds of what lets them be:
told to a streaming server that looks by itself once a minute only.
"""

import json
import os
import re
import socket
import threading
from base64 import b64encode
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest
from django.test import Client

from apps.accounts.actions import issue_token
from apps.accounts.models import AccessToken, Login, User
from apps.oauth.actions import end_access, issue_access, register_application
from tests.support.factories import PASSWORD, suspend
from tests.support.streams import get, listening, streaming_server
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.flows]
SOON = 2.0
LATE = 30.0  # of the server that is told nothing, and looks every second


@pytest.fixture(scope="module")
def server(django_db_setup, tmp_path_factory):
    settings = {"STREAMING_CHECK_SECONDS": "60", "STREAMING_HEARTBEAT_SECONDS": "0.5"}
    with streaming_server(tmp_path_factory.mktemp("streaming"), **settings) as found:
        yield found


@pytest.fixture
def address(server, transactional_db):
    return server


@pytest.fixture
def member(alice):
    return logged_in()


def logged_in():
    browser = Client()
    assert browser.post("/login", {"username": "alice", "password": PASSWORD}).status_code == 303
    return browser


def ticket_of(member):
    return json.loads(member.get("/streams/ticket").content)["address"].partition("=")[2]


class Socket:
    """A WebSocket that says what it hears, in as much of the protocol as a test needs."""

    def __init__(self, address, token):
        place = urlsplit(address)
        self._socket = socket.create_connection((place.hostname, place.port), 10)
        key = b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET /api/v1/streaming?access_token={token}&stream=user HTTP/1.1\r\nHost: {place.netloc}\r\n"
            f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self._socket.recv(1) or b"\r\n\r\n"
        assert b" 101 " in head.partition(b"\r\n")[0], head
        self._socket.settimeout(60)
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        with suppress(OSError):
            while data := self._socket.recv(4096):
                if data[0] & 15 == 8:  # close
                    break
        self.ended.set()

    def close(self):
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._socket.close()


@contextmanager
def both(address, token):
    """The same token on both wires."""
    wire = Socket(address, token)
    try:
        with listening(address, "user", token) as stream:
            yield stream, wire
    finally:
        wire.close()


def ends_soon(streams):
    return all(one.ended.wait(SOON) for one in streams)


def test_logout_ends_the_streams_of_that_login_only(address, member):
    other = logged_in()
    ticket, theirs = ticket_of(member), ticket_of(other)
    with both(address, ticket) as streams, listening(address, "user", theirs) as elsewhere:
        member.post("/logout")
        assert ends_soon(streams)
        assert not elsewhere.ended.wait(0.2)
    assert get(address, "user", ticket)[0] == 401


def test_the_end_of_a_session_from_the_page_of_sessions(address, member):
    ticket = ticket_of(member)
    here = logged_in()
    with both(address, ticket) as streams:
        [end] = re.findall(r"/settings/sessions/\d+/end", here.get("/settings/account").text)
        here.post(end)
        assert ends_soon(streams)


def test_a_new_password_ends_them_all(address, member, alice):
    elsewhere = logged_in()
    program = register_application(name="Elephant", scopes="read").application
    given, _row = issue_access(alice, program, scopes=["read"])
    tokens = [ticket_of(elsewhere), issue_token(alice, name="script"), given]
    said = {
        "old_password": PASSWORD,
        "new_password1": "quite another one",
        "new_password2": "quite another one",
    }
    with both(address, tokens[0]) as one, both(address, tokens[1]) as two, both(address, given) as three:  # fmt: skip
        assert member.post("/password/change", said).status_code == 303
        assert ends_soon([*one, *two, *three])
    with listening(address, "user", ticket_of(member)):  # who changed it listens again
        pass


def test_a_suspension_ends_them_all(address, member, alice):
    with both(address, ticket_of(member)) as one, both(address, issue_token(alice, name="script")) as two:  # fmt: skip
        suspend(alice)
        assert ends_soon([*one, *two])


@pytest.mark.parametrize("how", ["by its program", "on the page", "by a code used twice"])
def test_the_end_of_an_applications_token(address, alice, how):
    back = "https://elephant.example/back"
    program = register_application(name="Elephant", redirect_uris=[back], scopes="read")
    who = {"client_id": program.application.client_id, "client_secret": program.secret}
    asked = {"response_type": "code", "scope": "read", "redirect_uri": back, "client_id": who["client_id"]}  # fmt: skip
    answer = logged_in().post("/oauth/authorize", {"allow": "1"}, query_params=asked)
    [code] = re.findall(r"[?&]code=([^&]+)", answer.headers["Location"])
    exchange = {**who, "grant_type": "authorization_code", "code": code, "redirect_uri": back}
    token = Client().post("/oauth/token", exchange).json()["access_token"]
    with both(address, token) as streams:
        if how == "by its program":
            Client().post("/oauth/revoke", {**who, "token": token})
        elif how == "on the page":
            end_access(alice.pk, application_id=program.application.pk)
        else:
            Client().post("/oauth/token", exchange)
        assert ends_soon(streams)


def test_when_nobody_could_be_told_the_server_finds_out_by_itself(
    member, alice, tmp_path, transactional_db
):
    """As after an announcement that Redis did not take: the rows have changed, and that is all."""
    ticket, token = ticket_of(member), issue_token(alice, name="script")
    elsewhere = ticket_of(logged_in())
    with streaming_server(tmp_path, STREAMING_CHECK_SECONDS="1") as server:
        with both(server, ticket) as one, both(server, token) as two:
            Login.objects.filter(session_key=member.session.session_key).delete()
            AccessToken.objects.filter(user=alice).delete()
            wait_until(
                lambda: all(each.ended.is_set() for each in (*one, *two)), "all streams have ended"
            )
        with listening(server, "user", elsewhere) as last:
            User.objects.filter(pk=alice.pk).update(is_active=False)
            assert last.ended.wait(LATE)
