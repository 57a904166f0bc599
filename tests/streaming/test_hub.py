"""The hub of a streaming process."""

import asyncio
import threading

from apps.streaming import hub as hub_module
from apps.streaming import queries
from apps.streaming.connections import Connection
from apps.streaming.hub import BATCH, Hub
from apps.streaming.queries import USER, StreamEvent


def test_the_first_listeners_do_not_wait_for_the_last(monkeypatch):
    heard, numbers = threading.Event(), []

    def events_of_post(_post_id, event, _listeners):
        for number in range(BATCH + 1):
            assert number < BATCH or heard.wait(20)
            yield StreamEvent(1, frozenset({USER}), event, "", number)

    def deliver(events):
        numbers.extend(event.number for event in events)
        heard.set()

    monkeypatch.setattr(queries, "events_of_post", events_of_post)

    async def publish():
        hub = Hub()
        hub._deliver = deliver
        connection = Connection(1, "a token", frozenset(), max_queue=1)
        connection.streams[USER] = ["user"]
        hub._by_listener[1].add(connection)
        await hub._handle("post_published", {"post_id": 17})

    asyncio.run(publish())
    assert numbers == list(range(BATCH + 1))


def test_the_last_progress_of_a_delivery_is_told_even_if_it_comes_at_once(monkeypatch):
    """Many announcements at the same time: the first is told at once, all others together a moment later."""
    monkeypatch.setattr(hub_module, "PROGRESS_SECONDS", 0.01)
    monkeypatch.setattr(queries, "event_of_delivery", lambda post_id: post_id)
    monkeypatch.setattr(hub_module, "author_of", lambda _post_id: 1)
    told = []

    async def publish():
        hub, is_told = Hub(), asyncio.Event()

        def deliver(events):
            told.append(list(events))
            is_told.set()

        hub._deliver = deliver
        hub._by_listener[1].add(Connection(1, "a token", frozenset(), max_queue=1))
        await hub._handle("delivered", {"post_id": 17})
        await is_told.wait()
        is_told.clear()
        for post_id in (17, 18, 17):
            await hub._handle("delivered", {"post_id": post_id})
        await is_told.wait()

    asyncio.run(publish())
    assert told == [[17], [17, 18]]
