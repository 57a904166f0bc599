"""Serves a connection as server-sent events of one stream, or as a WebSocket on which clients subscribe."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any

import orjson
from django.conf import settings

from apps.errors import BadRequest, NotAllowed
from apps.streaming.connections import Connection, Delivered, EndedError
from apps.streaming.resuming import MISSED, Position
from apps.streaming.streams import Stream, StreamError

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

SEND_SECONDS = 10.0  # after this time, a client that does not read is disconnected
HEARTBEAT = b":thump\n\n"  # a comment that shows proxies and clients that the connection is alive
# a random wait, so that clients disconnected together do not reconnect together
RETRY_MS = 1000, 5000
MESSAGE_MAX_CHARACTERS = 2000
MAX_STREAMS = 50  # on one connection
GOING_AWAY, POLICY = 1001, 1008


async def serve_sse(
    connection: Connection,
    receive: Receive,
    send: Send,
    headers: Headers,
    *,
    position: Position,
    missed: AsyncIterator[Delivered],
) -> None:
    """Send the missed events, then new ones, until the client leaves or the connection ends."""
    start = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"), *headers]
    disconnect = asyncio.create_task(_wait_for_disconnect(connection, receive))
    try:
        await send({"type": "http.response.start", "status": 200, "headers": start})
        await _send_bytes(send, HEARTBEAT)
        async for earlier in missed:
            connection.check()
            await _send_bytes(send, event(earlier, position))
        while True:
            delivered = await connection.next(seconds=settings.STREAMING_HEARTBEAT_SECONDS)
            if delivered and position.has(delivered.event, delivered.number):
                continue
            await _send_bytes(send, event(delivered, position) if delivered else HEARTBEAT)
    except EndedError:
        with suppress(TimeoutError, OSError):
            pause = random.randint(*RETRY_MS)  # noqa: S311 -- no secret
            # no empty line follows: browsers still read `retry`, and Mastodon.py sees no broken event
            await _send_bytes(send, b"retry: %d\n" % pause, more=False)
    except (TimeoutError, OSError):
        connection.end("it does not read")
    finally:
        disconnect.cancel()


async def serve_websocket(
    connection: Connection, receive: Receive, send: Send, *, protocol: str | None
) -> None:
    """Send events until the connection ends. `protocol` is the subprotocol that the client offered, if any."""
    await send({"type": "websocket.accept", "subprotocol": protocol})
    receiver = asyncio.create_task(_receive_commands(connection, receive, send))
    code = POLICY
    try:
        while True:
            delivered = await connection.next(seconds=settings.STREAMING_HEARTBEAT_SECONDS)
            if delivered is not None:
                async with asyncio.timeout(SEND_SECONDS):
                    await _send_json(send, message(delivered))
    except EndedError:
        code = GOING_AWAY
    except (TimeoutError, OSError):
        connection.end("it does not read")
    finally:
        receiver.cancel()
        with suppress(Exception):  # the client may have left already
            await send({"type": "websocket.close", "code": code})


def event(delivered: Delivered, position: Position) -> bytes:
    """Format a server-sent event. New posts, messages and notifications are added to `position`, which is then the id
    of their event. MISSED also has the position as its id; other events have no id.
    """
    if delivered.number:
        position.add(delivered.event, delivered.number)
    is_news = delivered.number or delivered.event == MISSED
    number = f"id: {position}\n" if is_news else ""
    return f"{number}event: {delivered.event}\ndata: {delivered.payload}\n\n".encode()


def message(delivered: Delivered) -> dict[str, Any]:
    """An event as Mastodon sends it on WebSockets: the payload, which may itself be JSON, is sent as a string."""
    return {"stream": delivered.labels, "event": delivered.event, "payload": delivered.payload}


def handle_command(connection: Connection, text: str) -> None:
    """Execute a client's message, which subscribes or unsubscribes. Raises StreamError or NotAllowed."""
    command = _command(text)
    arguments = {key: str(value) for key, value in command.items()}
    stream = Stream.parse(arguments.get("stream", ""), arguments)
    if command.get("type") == "unsubscribe":
        connection.drop(stream)
    elif command.get("type") != "subscribe":
        raise StreamError("type must be subscribe or unsubscribe.")
    elif len(connection.streams) >= MAX_STREAMS:
        raise StreamError("There are too many streams on this connection.")
    else:
        connection.add(stream, stream.labels_of(arguments))


def _command(text: str) -> dict[str, Any]:
    if len(text) > MESSAGE_MAX_CHARACTERS:
        raise StreamError("The message is too long.")
    try:
        command = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise StreamError("The message is not JSON.") from None
    if not isinstance(command, dict):
        raise StreamError("The message must be an object.")
    return command


async def _receive_commands(connection: Connection, receive: Receive, send: Send) -> None:
    while True:
        received = await receive()
        if received["type"] == "websocket.disconnect":
            connection.end("the client has left")
            return
        try:
            handle_command(connection, received.get("text") or "")
        except (StreamError, NotAllowed) as error:
            status = NotAllowed.status if isinstance(error, NotAllowed) else BadRequest.status
            await _send_json(send, {"error": str(error), "status": status})


async def _wait_for_disconnect(connection: Connection, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    connection.end("the client has left")


async def _send_bytes(send: Send, body: bytes, *, more: bool = True) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await send({"type": "http.response.body", "body": body, "more_body": more})


async def _send_json(send: Send, body: dict[str, Any]) -> None:
    await send({"type": "websocket.send", "text": orjson.dumps(body).decode()})
