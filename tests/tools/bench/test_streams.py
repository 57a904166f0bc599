"""The clients of many streams count what they hear."""

import asyncio

from tests.support.cases import each
from tools.bench.streams.clients import Client, Crowd

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n:thump\n\n"
UPDATE = b'id: 7.0.\nevent: update\ndata: {"id":"7"}\n\n'


def heard(*packets):
    async def listen():
        crowd = Crowd()
        client = Client(crowd, "token")
        for packet in packets:
            client.data_received(packet)
        return client.answered.result(), len(crowd.heard)

    return asyncio.run(listen())


@each("packets, number", [
    ((ANSWER,), 0),
    ((ANSWER, UPDATE), 1),
    ((ANSWER + UPDATE + UPDATE, UPDATE), 3),
    ((ANSWER, b"event: status.update\ndata: {}\n\n"), 0),
    ((ANSWER, *(UPDATE[at : at + 1] for at in range(len(UPDATE)))), 1),
    ((ANSWER, UPDATE[:20], UPDATE[20:], b":thump\n\n"), 1),
])  # fmt: skip
def test_every_event_is_counted_once_however_it_is_split(packets, number):
    assert heard(*packets) == ("HTTP/1.1 200 OK", number)
