"""The connection of one streaming client: its subscriptions and its queue of unsent events, on one event loop."""

import asyncio
from dataclasses import dataclass

from apps.errors import NotAllowed
from apps.streaming.known import Known
from apps.streaming.queries import StreamEvent
from apps.streaming.streams import Stream


class EndedError(Exception):
    """The connection has ended; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Delivered:
    labels: list[str]  # the stream's name, and its argument as the client wrote it
    event: str
    payload: str
    number: int = 0  # the id of the event's new post or notification, as in `StreamEvent`


class Connection:
    """The connection of a client. Its queue is bounded: a client that reads too slowly is disconnected."""

    def __init__(
        self, listener_id: int, token: str, scopes: frozenset[str], *, max_queue: int
    ) -> None:
        self.listener_id = listener_id
        self.token = token
        self.notifications = Known(0)  # `Hub.join` sets the existing notifications
        self._scopes = scopes
        self.streams: dict[Stream, list[str]] = {}
        self._max_queue = max_queue
        # None wakes `next` when the connection ends
        self._queue: asyncio.Queue[Delivered | None] = asyncio.Queue()
        self._end_reason = ""

    def add(self, stream: Stream, labels: list[str]) -> None:
        """Subscribe to a stream. Raises NotAllowed if the token's scopes do not cover it."""
        if not self._scopes.issuperset(stream.scopes):
            raise NotAllowed(
                "The access token does not permit this stream.", code="insufficient_scope"
            )
        self.streams[stream] = labels

    def drop(self, stream: Stream) -> None:
        self.streams.pop(stream, None)

    def enqueue(self, item: StreamEvent) -> None:
        """Queue an event once for each subscribed stream that it belongs to."""
        for stream in self.streams.keys() & item.streams:
            if self._queue.qsize() >= self._max_queue:
                self.end("too slow")
                return
            self._queue.put_nowait(self.delivered(stream, item))

    def delivered(self, stream: Stream, item: StreamEvent) -> Delivered:
        return Delivered(self.streams[stream], item.event, item.payload, item.number)

    def end(self, reason: str) -> None:
        """End the connection and drop its queued events."""
        if not self._end_reason:
            self._end_reason = reason
            self._queue.put_nowait(None)

    def check(self) -> None:
        """Raise EndedError if the connection has ended."""
        if self._end_reason:
            raise EndedError(self._end_reason)

    async def next(self, *, seconds: float) -> Delivered | None:
        """The next event, or None if `seconds` pass without one. Raises EndedError once the connection has ended."""
        try:
            delivered = await asyncio.wait_for(self._queue.get(), seconds)
        except TimeoutError:
            delivered = None
        self.check()
        return delivered
