"""A connection as a WebSocket: any number of streams, which the client subscribes to by messages."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import orjson
from django.conf import settings

from apps.errors import BadRequest, NotAllowed
from apps.streaming.connections import Connection, Delivered, EndedError
from apps.streaming.streams import Stream, StreamError

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

SEND_SECONDS = 10.0
MESSAGE_MAX_CHARACTERS = 2000
MAX_STREAMS = 50  # of one connection
GOING_AWAY, POLICY = 1001, 1008


async def serve(
    connection: Connection, receive: Receive, send: Send, *, protocol: str | None
) -> None:
    """Send events until the connection ends. `protocol` is
    the subprotocol the client offered, if any.
    """
    await send({"type": "websocket.accept", "subprotocol": protocol})
    receiver = asyncio.create_task(_receive_commands(connection, receive, send))
    code = POLICY
    try:
        await _send_events(connection, send)
    except EndedError:
        code = GOING_AWAY
    except (TimeoutError, OSError):
        connection.end("it does not read")
    finally:
        receiver.cancel()
        with suppress(Exception):  # it may be gone already
            await send({"type": "websocket.close", "code": code})


async def _send_events(connection: Connection, send: Send) -> None:
    while True:
        delivered = await connection.next(seconds=settings.STREAMING_HEARTBEAT_SECONDS)
        if delivered is not None:
            async with asyncio.timeout(SEND_SECONDS):
                await _send(send, message(delivered))


def message(delivered: Delivered) -> dict[str, Any]:
    """An event as Mastodon writes it: the payload is a JSON text inside the JSON."""
    return {"stream": delivered.labels, "event": delivered.event, "payload": delivered.payload}


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
            await _send(send, {"error": str(error), "status": status})


def handle_command(connection: Connection, text: str) -> None:
    """Subscribe or unsubscribe as a message asks. StreamError, NotAllowed."""
    command = _command(text)
    arguments = {key: str(value) for key, value in command.items()}
    stream = Stream.parse(arguments.get("stream", ""), arguments)
    if command.get("type") == "unsubscribe":
        connection.drop(stream)
    elif command.get("type") != "subscribe":
        raise StreamError("type is subscribe or unsubscribe.")
    elif len(connection.streams) >= MAX_STREAMS:
        raise StreamError("These are too many streams.")
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


async def _send(send: Send, body: dict[str, Any]) -> None:
    await send({"type": "websocket.send", "text": orjson.dumps(body).decode()})
