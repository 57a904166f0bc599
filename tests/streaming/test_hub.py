"""The hub of a streaming process."""

import asyncio
import threading

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
