"""Publications offered to a server that answers some, refuses some and fails on others; and what is delivered."""

import asyncio
import itertools

import pytest

from apps.events.leases import State
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.timeline.models import FanoutChunk, FanoutJob
from tests.support.factories import make_user
from tools.bench.population import deliver_owed
from tools.bench.site import overload
from tools.bench.site.overload import Crowd, undelivered

OK = b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{"id":"7"}'
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
MANY = b"HTTP/1.1 429 Many\r\nContent-Length: 0\r\n\r\n"
BROKEN = b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"
CLOSED = b""


async def offered(answers, *, rate=200, seconds=1):
    """What came of it, and over how many connections."""
    turn, connections = itertools.cycle(answers), itertools.count()

    async def serve(reader, writer):
        next(connections)
        handlers.append(asyncio.current_task())
        while await reader.readline():
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            answer = next(turn)
            writer.write(answer)
            await writer.drain()
            if answer in (BUSY, CLOSED):
                break
        writer.close()
        await writer.wait_closed()

    handlers = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    crowd = Crowd(server.sockets[0].getsockname()[1], ["one", "two"])
    async with server:
        await crowd.publish(rate, seconds)
        await asyncio.gather(*handlers, return_exceptions=True)
    return crowd, next(connections)


@pytest.mark.slow
def test_acknowledged_refused_and_failed_are_counted():
    crowd, _connections = asyncio.run(offered([OK, BUSY, MANY, BROKEN, CLOSED]))
    assert crowd.answers.total() == 200
    assert len(crowd.acknowledged) == len(crowd.milliseconds) == 40
    assert set(crowd.acknowledged) == {7}
    assert (crowd.refused, crowd.errors) == (80, 80)


@pytest.mark.slow
def test_connections_are_used_again():
    crowd, connections = asyncio.run(offered([OK]))
    assert (len(crowd.acknowledged), crowd.errors) == (200, 0)
    assert connections < 50


@pytest.mark.slow
def test_connections_that_rested_are_not_used_again(monkeypatch):
    monkeypatch.setattr(overload, "REST_SECONDS", 0)
    _crowd, connections = asyncio.run(offered([OK], rate=20))
    assert connections == 20


@pytest.mark.django_db(transaction=True)
def test_what_the_ledger_has_not_done_is_undelivered():
    author = make_user("alice")
    posts = [publish_post(author, Draft(body="Words.")).post.pk for _number in range(3)]
    assert undelivered(posts) == 3
    deliver_owed()
    assert undelivered(posts) == 0
    FanoutJob.objects.filter(pk=posts[0]).update(state=State.PENDING)
    chunk = FanoutChunk.objects.create(job_id=posts[1], first_edge=7, last_edge=7, expected=0)
    assert undelivered(posts) == 2
    FanoutChunk.objects.filter(pk=chunk.pk).update(state=State.DONE)
    assert undelivered(posts) == 1
