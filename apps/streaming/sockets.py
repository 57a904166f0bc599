"""A connection as a WebSocket: any number of streams, which the client adds and drops by messages."""

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
    """Tell a client what it asks to hear until its end. `protocol` is what it offered as a subprotocol, if it did."""
    await send({"type": "websocket.accept", "subprotocol": protocol})
    listening = asyncio.create_task(_obey(connection, receive, send))
    code = POLICY
    try:
        await _tell(connection, send)
    except EndedError:
        code = GOING_AWAY
    except (TimeoutError, OSError):
        connection.end("it does not read")
    finally:
        listening.cancel()
        with suppress(Exception):  # it may be gone already
            await send({"type": "websocket.close", "code": code})


async def _tell(connection: Connection, send: Send) -> None:
    while True:
        told = await connection.next(seconds=settings.STREAMING_HEARTBEAT_SECONDS)
        if told is not None:
            async with asyncio.timeout(SEND_SECONDS):
                await _send(send, message(told))


def message(told: Delivered) -> dict[str, Any]:
    """One event as Mastodon writes it: the payload is a text of its own."""
    return {"stream": told.labels, "event": told.event, "payload": told.payload}


async def _obey(connection: Connection, receive: Receive, send: Send) -> None:
    while True:
        received = await receive()
        if received["type"] == "websocket.disconnect":
            connection.end("the client has left")
            return
        try:
            change(connection, received.get("text") or "")
        except (StreamError, NotAllowed) as error:
            status = NotAllowed.status if isinstance(error, NotAllowed) else BadRequest.status
            await _send(send, {"error": str(error), "status": status})


def change(connection: Connection, text: str) -> None:
    """Do what a message of the client asks for. StreamError when there is no such thing, NotAllowed."""
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
