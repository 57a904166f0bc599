"""A connection as server-sent events: one stream, told until the client leaves or is cut off."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any

from django.conf import settings

from apps.streaming.connections import Connection, Delivered, EndedError

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

SEND_SECONDS = 10.0  # for a client that does not read
THUMP = b":thump\n\n"  # a comment: proxies and clients see that the connection lives
COME_AGAIN_MS = (1000, 5000)  # those who were cut off together do not come again together


async def serve(connection: Connection, receive: Receive, send: Send, headers: Headers) -> None:
    """Send what a connection is told until its end."""
    start = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"), *headers]
    leaving = asyncio.create_task(_until_gone(connection, receive))
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await send({"type": "http.response.start", "status": 200, "headers": start})
            await _send(send, THUMP)
        await _tell(connection, send)
    except EndedError:
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(SEND_SECONDS):
                pause = random.randint(*COME_AGAIN_MS)  # noqa: S311 -- no secret
                # no empty line: browsers take the field as it comes, clients like Mastodon.py would see a broken event
                await _send(send, b"retry: %d\n" % pause, more=False)
    except (TimeoutError, OSError):
        connection.end("it does not read")
    finally:
        leaving.cancel()


async def _tell(connection: Connection, send: Send) -> None:
    while True:
        told = await connection.next(seconds=settings.STREAMING_HEARTBEAT_SECONDS)
        async with asyncio.timeout(SEND_SECONDS):
            await _send(send, event(told) if told else THUMP)


def event(told: Delivered) -> bytes:
    """One event as bytes. JSON has no line breaks, so it is one line."""
    return f"event: {told.event}\ndata: {told.payload}\n\n".encode()


async def _until_gone(connection: Connection, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    connection.end("the client has left")


async def _send(send: Send, body: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})
