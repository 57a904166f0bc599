"""The middle of a streaming process: hears what happened, asks what it means to whom, and passes it on.

Everything here runs on one event loop; questions to the servers are asked in a few threads. What happened to posts is worked
on one after the other, so that nobody hears of an edit before the post; the end of tokens does not wait for it.
"""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.conf import settings
from django.db import close_old_connections

from apps.accounts.models import User
from apps.errors import TooMany, Unavailable
from apps.events.live import read, subscribe
from apps.streaming import queries
from apps.streaming.connections import Connection
from apps.streaming.queries import News
from apps.streaming.streams import Stream
from feedcache.redis_servers.connections import RedisError

logger = logging.getLogger(__name__)

T = TypeVar("T")
THREADS = 4
PAUSE_SECONDS = 0.5  # before Redis is asked again
RETRY_AFTER_SECONDS = 5
MAX_WAITING = 10_000  # announcements that are not worked on yet; with more than that news are lost, and all begin anew

Announcement = tuple[str, Mapping[str, Any]]


class Hub:
    """All connections of this process."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="streaming")
        self._by_listener: dict[int, set[Connection]] = defaultdict(set)
        self._newest_notification: dict[int, int] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._is_hearing = asyncio.Event()
        self._news: asyncio.Queue[Announcement] = asyncio.Queue(MAX_WAITING)
        self._ends: asyncio.Queue[Announcement] = asyncio.Queue(MAX_WAITING)

    def start(self) -> None:
        """Begin to listen, once."""
        if not self._tasks:
            work = (self._hear(), self._check(), self._work(self._news), self._work(self._ends))
            self._tasks = [asyncio.create_task(one) for one in work]

    async def stop(self) -> None:
        """Cut everybody off and stop listening."""
        self._end(self._connections(), "the server is stopping")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def hears(self) -> bool:
        """Whether news come in; a process that has just started is waited for a moment."""
        try:
            await asyncio.wait_for(self._is_hearing.wait(), PAUSE_SECONDS * 2)
        except TimeoutError:
            return False
        return True

    async def ask(self, question: Callable[..., T], *args: Any) -> T:
        """The answer of a function that talks to the servers, from one of the threads."""

        def answered() -> T:
            try:
                return question(*args)
            finally:
                close_old_connections()  # gives the connection back to the pool

        return await asyncio.get_running_loop().run_in_executor(self._threads, answered)

    async def join(self, listener: User, token: str, scopes: frozenset[str]) -> Connection:
        """A new connection of somebody whose token is good, and for these scopes.

        TooMany or Unavailable when there are too many of them; Unavailable too while Redis does not answer.
        """
        mine = self._by_listener.get(listener.pk, ())
        if len(mine) >= settings.STREAMING_CONNECTIONS_PER_USER:
            raise TooMany("Too many streams are open.", retry_after=RETRY_AFTER_SECONDS)
        if len(self._connections()) >= settings.STREAMING_CONNECTIONS:
            raise Unavailable("Too many streams are open.", retry_after=RETRY_AFTER_SECONDS)
        connection = Connection(listener.pk, token, scopes, maximum=settings.STREAMING_QUEUE)
        self._by_listener[listener.pk].add(connection)
        try:
            await self._wait_for_news()
            newest = await self.ask(queries.newest_notification, listener)
        except BaseException:
            self.leave(connection)
            raise
        self._newest_notification.setdefault(listener.pk, newest)
        return connection

    async def _wait_for_news(self) -> None:
        if not await self.hears():
            raise Unavailable("There is no news just now.")

    def leave(self, connection: Connection) -> None:
        """Forget a connection."""
        mine = self._by_listener[connection.listener_id]
        mine.discard(connection)
        if not mine:
            del self._by_listener[connection.listener_id]
            self._newest_notification.pop(connection.listener_id, None)

    async def _hear(self) -> None:
        while True:
            try:
                async for message in subscribe():
                    if message is None:
                        self._is_hearing.set()
                    else:
                        name, ids = read(message)
                        queue = self._ends if name == "tokens_ended" else self._news
                        queue.put_nowait((name, ids))
            except (RedisError, OSError) as error:
                logger.warning("no news for the streams: %s", error)
            except Exception:
                logger.exception("the hub of the streams stumbled and goes on")
            # something may have been missed: clients that come again look at their pages first
            self._is_hearing.clear()
            self._end(self._connections(), "news may have been missed")
            await asyncio.sleep(PAUSE_SECONDS)

    async def _work(self, queue: asyncio.Queue[Announcement]) -> None:
        while True:
            await self._act_on(*await queue.get())

    async def _act_on(self, name: str, ids: Mapping[str, Any]) -> None:
        try:
            if name in {"post_published", "post_edited", "post_deleted"}:
                self._tell(await self.ask(self._news_of_post, name, ids["post_id"], self._heard()))
            elif name == "notified":
                await self._tell_notifications(ids["user_id"])
            elif name == "conversed":
                await self._tell_conversation(ids["user_id"], ids["post_id"])
            elif name == "tokens_ended":
                await self._end_streams_of(list(self._by_listener.get(ids["user_id"], ())))
        except Exception:
            logger.exception("%s was not told to the streams", name)

    def _news_of_post(self, name: str, post_id: int, heard: dict[Stream, list[int]]) -> list[News]:
        if not heard:
            return []
        if name == "post_deleted":
            return list(queries.news_of_delete(post_id, heard))
        event = "update" if name == "post_published" else "status.update"
        return list(queries.news_of_post(post_id, event, heard))

    def _heard(self) -> dict[Stream, list[int]]:
        found: dict[Stream, set[int]] = defaultdict(set)
        for connection in self._connections():
            for stream in connection.streams:
                found[stream].add(connection.listener_id)
        return {stream: list(listeners) for stream, listeners in found.items()}

    async def _tell_notifications(self, listener_id: int) -> None:
        after = self._newest_notification.get(listener_id)
        if after is None:
            return
        newest, news = await self.ask(queries.news_of_notifications, listener_id, after)
        if listener_id in self._newest_notification:
            self._newest_notification[listener_id] = newest
        self._tell(news)

    async def _tell_conversation(self, listener_id: int, post_id: int) -> None:
        mine = self._by_listener.get(listener_id, ())
        if any(queries.DIRECT in connection.streams for connection in mine):
            self._tell(await self.ask(queries.news_of_conversation, listener_id, post_id))

    def _tell(self, news: Iterable[News]) -> None:
        for one in news:
            for connection in self._by_listener.get(one.listener_id, ()):
                connection.tell(one)

    async def _check(self) -> None:
        """Cut off whoever's token has ended meanwhile; the announcement may have been lost."""
        while True:
            # not all processes at the same moment
            await asyncio.sleep(settings.STREAMING_CHECK_SECONDS * random.uniform(0.8, 1.0))  # noqa: S311 -- no secret
            try:
                await self._end_streams_of(self._connections())
            except Exception:
                logger.exception("the tokens of the streams were not looked at")

    async def _end_streams_of(self, connections: list[Connection]) -> None:
        tokens = {connection.token for connection in connections}
        ended = await self.ask(queries.ended_tokens, tokens)
        self._end((one for one in connections if one.token in ended), "the token has ended")

    def _connections(self) -> list[Connection]:
        return [one for mine in self._by_listener.values() for one in mine]

    def _end(self, connections: Iterable[Connection], why: str) -> None:
        for connection in connections:
            connection.end(why)
