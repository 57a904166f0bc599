"""One client that listens: what it listens to, and the news that it has not been sent yet. Of one event loop."""

import asyncio
from dataclasses import dataclass

from apps.errors import NotAllowed
from apps.streaming.queries import News
from apps.streaming.streams import Stream


class EndedError(Exception):
    """The connection is at its end; the text says why."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """One event for one stream of a connection."""

    labels: list[str]  # how the client wrote the stream
    event: str
    payload: str


class Connection:
    """A client. Its queue is bounded: one that reads too slowly is cut off, and finds on its pages what it missed."""

    def __init__(
        self, listener_id: int, token: str, scopes: frozenset[str], *, maximum: int
    ) -> None:
        self.listener_id = listener_id
        self.token = token
        self._scopes = scopes
        self.streams: dict[Stream, list[str]] = {}
        self._most = maximum
        self._waiting: asyncio.Queue[Delivered | None] = asyncio.Queue()  # None wakes whoever waits
        self._why = ""

    def add(self, stream: Stream, labels: list[str]) -> None:
        """Listen to a stream, from now on. NotAllowed when the token is not for it."""
        if not self._scopes.issuperset(stream.scopes):
            raise NotAllowed("The access token is not for this stream.", code="insufficient_scope")
        self.streams[stream] = labels

    def drop(self, stream: Stream) -> None:
        """Listen to it no longer."""
        self.streams.pop(stream, None)

    def tell(self, news: News) -> None:
        """Queue what concerns the streams of this connection."""
        for stream in self.streams.keys() & news.streams:
            if self._waiting.qsize() >= self._most:
                self.end("too slow")
                return
            self._waiting.put_nowait(Delivered(self.streams[stream], news.event, news.payload))

    def end(self, why: str) -> None:
        """Cut the connection; what is still queued is not sent any more."""
        if not self._why:
            self._why = why
            self._waiting.put_nowait(None)

    async def next(self, *, seconds: float) -> Delivered | None:
        """The next event; None when none has come for so long. EndedError at the end."""
        try:
            told = await asyncio.wait_for(self._waiting.get(), seconds)
        except TimeoutError:
            told = None
        if self._why:
            raise EndedError(self._why)
        return told
