"""What the streaming server does when something fails while a client connects, and the hub under overload."""

import asyncio
import logging
import threading

import pytest
from django.db import OperationalError

from apps.accounts.models import User
from apps.oauth.queries import Bearer
from apps.scopes import covered_by
from apps.streaming import hub as hub_module
from apps.streaming import queries, resuming
from apps.streaming import server as server_module
from apps.streaming.hub import Hub
from apps.streaming.known import Known
from apps.streaming.resuming import Position
from apps.streaming.server import Server

USER_STREAM = "/api/v1/streaming/user"


def scope_of(path, *more):
    headers = [(b"authorization", b"Bearer token"), *more]
    return {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}


async def status_of(server, path, *headers):
    """The status that a client gets who hangs up once the answer has begun."""
    started, statuses = asyncio.Event(), []

    async def receive():
        await started.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            started.set()

    # not through the whole application: it would start the hub, which subscribes to Redis
    await server._http(scope_of(path, *headers), receive, send)
    return statuses[0]


@pytest.fixture
def subscribed(monkeypatch):
    """Every hub is subscribed, and nobody has notifications or posts."""

    async def yes(_hub):
        return True

    monkeypatch.setattr(Hub, "is_subscribed", yes)
    monkeypatch.setattr(hub_module, "known_now", lambda _listener_id: Known(0))
    monkeypatch.setattr(
        resuming, "position_now", lambda _listener_id, _stream, known: Position(0, known)
    )


def bearer():
    return Bearer("key", "program", User(pk=1, handle="alice"), None, covered_by(["read"]))


def test_a_failed_connection_does_not_stay_registered(subscribed, settings, monkeypatch):
    """The database fails when the token is looked at again: the only stream of the user stays free."""
    settings.STREAMING_CONNECTIONS_PER_USER = 1
    answers = iter([bearer(), OperationalError("gone"), bearer(), bearer()])

    def listener_of(_token):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(server_module, "listener_of", listener_of)

    async def scene():
        server = Server()
        with pytest.raises(OperationalError):
            await status_of(server, USER_STREAM)
        assert await status_of(server, USER_STREAM) == 200

    asyncio.run(scene())


def test_a_token_that_is_revoked_meanwhile_is_refused(subscribed, settings, monkeypatch):
    settings.STREAMING_CONNECTIONS_PER_USER = 1
    answers = iter([bearer(), None, bearer(), None])
    monkeypatch.setattr(server_module, "listener_of", lambda _token: next(answers))

    async def scene():
        server = Server()
        assert [await status_of(server, USER_STREAM) for _ in range(2)] == [401, 401]

    asyncio.run(scene())


def test_a_stream_is_not_continued_over_and_over(subscribed, settings, monkeypatch):
    """New streams are not counted, and a refused one leaves its place."""
    settings.STREAMING_CONNECTIONS_PER_USER = 1
    settings.RATE_LIMITS = settings.RATE_LIMITS | {"resume": (2, 60)}
    monkeypatch.setattr(server_module, "listener_of", lambda _token: bearer())
    monkeypatch.setattr(resuming, "missed_ids", lambda *_arguments: None)

    async def scene():
        server, place = Server(), (b"last-event-id", b"1")
        assert [await status_of(server, USER_STREAM, place) for _ in range(3)] == [200, 200, 429]
        assert await status_of(server, USER_STREAM) == 200

    asyncio.run(scene())


def test_reading_what_was_missed_does_not_delay_tokens():
    """As many clients catch up as there are threads for it, and more wait; a token is looked at meanwhile."""

    async def scene():
        hub, goes_on = Hub(), threading.Event()
        waits = [asyncio.create_task(hub.catch_up(goes_on.wait)) for _ in range(10)]
        await asyncio.sleep(0)  # they begin
        try:
            assert await asyncio.wait_for(hub.run_in_thread(str, 1), 5) == "1"
        finally:
            goes_on.set()
        await asyncio.gather(*waits)

    asyncio.run(scene())


def test_whoever_listens_is_told_that_a_filter_of_theirs_changed(subscribed):
    async def scene():
        hub = Hub()
        mine = await hub.join(User(pk=1), "token", covered_by(["read"]))
        other = await hub.join(User(pk=2), "token", covered_by(["read"]))
        for connection in (mine, other):
            connection.add(queries.USER, ["user"])
        await hub._handle("filters_changed", {"user_id": 1})
        delivered = await mine.next(seconds=5)
        assert delivered is not None
        assert (delivered.event, delivered.payload) == ("filters_changed", "")
        assert await other.next(seconds=0.01) is None

    asyncio.run(scene())


def test_under_overload_clients_are_cut_off_and_the_log_says_why(subscribed, monkeypatch, caplog):
    async def subscribe():
        yield None
        for _ in range(3):
            yield b'["post_published",{"post_id":1}]'

    monkeypatch.setattr(hub_module, "subscribe", subscribe)
    monkeypatch.setattr(hub_module, "MAX_WAITING", 2)
    caplog.set_level(logging.WARNING)

    async def scene():
        hub = Hub()
        connection = await hub.join(User(pk=1), "token", covered_by(["read"]))
        listening = asyncio.create_task(hub._listen())
        with pytest.raises(Exception, match="may have been missed"):
            await connection.next(seconds=5)
        listening.cancel()

    asyncio.run(scene())
    [record] = [one for one in caplog.records if one.name == hub_module.__name__]
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert "overload" in record.getMessage()
