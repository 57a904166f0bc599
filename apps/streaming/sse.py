"""A connection as server-sent events: one stream, until the client leaves or is cut off."""

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
RETRY_MS = (1000, 5000)  # at random: clients that were cut off together reconnect apart


async def serve(connection: Connection, receive: Receive, send: Send, headers: Headers) -> None:
    start = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"), *headers]
    disconnect = asyncio.create_task(_wait_for_disconnect(connection, receive))
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await send({"type": "http.response.start", "status": 200, "headers": start})
            await _send(send, THUMP)
        await _send_events(connection, send)
    except EndedError:
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(SEND_SECONDS):
                pause = random.randint(*RETRY_MS)  # noqa: S311 -- no secret
                # no empty line: browsers read the field alone, Mastodon.py would see a broken event
                await _send(send, b"retry: %d\n" % pause, more=False)
    except (TimeoutError, OSError):
        connection.end("it does not read")
    finally:
        disconnect.cancel()


async def _send_events(connection: Connection, send: Send) -> None:
    while True:
        delivered = await connection.next(seconds=settings.STREAMING_HEARTBEAT_SECONDS)
        async with asyncio.timeout(SEND_SECONDS):
            await _send(send, event(delivered) if delivered else THUMP)


def event(delivered: Delivered) -> bytes:
    """One event as bytes. JSON has no line breaks, so it is one `data` line."""
    return f"event: {delivered.event}\ndata: {delivered.payload}\n\n".encode()


async def _wait_for_disconnect(connection: Connection, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    connection.end("the client has left")


async def _send(send: Send, body: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})
