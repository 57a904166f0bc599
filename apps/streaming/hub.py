"""The hub of a streaming process: turns announcements (Redis messages) into events for users who may see the change.

Everything runs on one event loop; queries run in a few threads. Posts are handled one after another, so that an edit
never arrives before its post. Revoked tokens have a separate queue, so that a revocation never waits behind posts.
"""

import asyncio
import logging
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from django.conf import settings
from django.db import close_old_connections

from apps.accounts.models import User
from apps.errors import TooMany, Unavailable
from apps.events.live import read, subscribe
from apps.streaming import queries
from apps.streaming.connections import Connection
from apps.streaming.known import Known, known_now
from apps.streaming.queries import StreamEvent
from apps.streaming.streams import Stream
from feedcache.connections import RedisError
from feedcache.ids import author_of

logger = logging.getLogger(__name__)

T = TypeVar("T")
THREADS = 4
# for reading missed events, which must not delay token checks and new events
CATCHING_UP_THREADS = 2
PAUSE_SECONDS = 0.5  # before subscribing again
SUBSCRIBE_SECONDS = 1.0  # the time that a process may need to subscribe after its start
RETRY_AFTER_SECONDS = 5
BATCH = 100  # events of one post; each takes some milliseconds to make
PROGRESS_SECONDS = 0.25  # between two delivery events for one author
# announcements in a queue; if it is full, all clients are disconnected and reconnect
MAX_WAITING = 10_000

Announcement = tuple[str, Mapping[str, Any]]


class Hub:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="streaming")
        self._catching_up = ThreadPoolExecutor(CATCHING_UP_THREADS, thread_name_prefix="catch-up")
        self._by_listener: dict[int, set[Connection]] = defaultdict(set)
        self._notifications: dict[int, Known] = {}  # by listener
        self._next_progress: dict[int, float] = {}  # by author
        self._waiting_progress: dict[int, set[int]] = defaultdict(set)  # author -> posts
        self._tasks: list[asyncio.Task[None]] = []
        self._is_subscribed = asyncio.Event()
        self._announcements: asyncio.Queue[Announcement] = asyncio.Queue(MAX_WAITING)
        self._revocations: asyncio.Queue[Announcement] = asyncio.Queue(MAX_WAITING)

    def start(self) -> None:
        """Start the tasks of the hub; a second call does nothing."""
        if not self._tasks:
            coroutines = (
                self._listen(),
                self._recheck_tokens(),
                self._consume(self._announcements),
                self._consume(self._revocations),
            )
            self._tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]

    async def stop(self) -> None:
        self._end(self._connections(), "the server is stopping")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def is_subscribed(self) -> bool:
        """Whether announcements arrive. Waits up to a second, because the process may have just started."""
        try:
            await asyncio.wait_for(self._is_subscribed.wait(), SUBSCRIBE_SECONDS)
        except TimeoutError:
            return False
        return True

    async def run_in_thread(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function that does blocking I/O in a thread, and return its result."""
        return await self._run(self._threads, function, *args)

    async def catch_up(self, function: Callable[..., T], *args: Any) -> T:
        """Like `run_in_thread`, but in separate threads, for reading the events that a client has missed."""
        return await self._run(self._catching_up, function, *args)

    async def _run(self, threads: ThreadPoolExecutor, function: Callable[..., T], *args: Any) -> T:
        def call() -> T:
            try:
                return function(*args)
            finally:
                close_old_connections()  # gives the connection back to the pool

        return await asyncio.get_running_loop().run_in_executor(threads, call)

    async def join(self, listener: User, token: str, scopes: frozenset[str]) -> Connection:
        """Register a connection for a user whose token is valid; `scopes` are the token's.

        Raises TooMany if the user has too many open streams; Unavailable if the process has too many, or Redis is down.
        """
        connections = self._by_listener.get(listener.pk, ())
        if len(connections) >= settings.STREAMING_CONNECTIONS_PER_USER:
            raise TooMany("Too many streams are open.", retry_after=RETRY_AFTER_SECONDS)
        if sum(map(len, self._by_listener.values())) >= settings.STREAMING_CONNECTIONS:
            raise Unavailable("Too many streams are open.", retry_after=RETRY_AFTER_SECONDS)
        connection = Connection(listener.pk, token, scopes, max_queue=settings.STREAMING_QUEUE)
        self._by_listener[listener.pk].add(connection)
        try:
            await self._require_subscription()
            notifications = await self.run_in_thread(known_now, listener.pk)
        except BaseException:
            self.leave(connection)
            raise
        connection.notifications = self._notifications.setdefault(listener.pk, notifications)
        return connection

    async def _require_subscription(self) -> None:
        if not await self.is_subscribed():
            raise Unavailable("Live updates are not available right now.")

    def leave(self, connection: Connection) -> None:
        connections = self._by_listener.get(connection.listener_id, set())
        connections.discard(connection)
        if not connections:
            self._by_listener.pop(connection.listener_id, None)
            self._notifications.pop(connection.listener_id, None)
            self._next_progress.pop(connection.listener_id, None)

    async def _listen(self) -> None:
        while True:
            try:
                async for message in subscribe():
                    if message is None:
                        self._is_subscribed.set()
                    else:
                        name, ids = read(message)
                        is_revocation = name == "tokens_ended"
                        queue = self._revocations if is_revocation else self._announcements
                        queue.put_nowait((name, ids))
            except (RedisError, OSError) as error:
                logger.warning("no announcements from Redis: %s", error)
            except asyncio.QueueFull:
                logger.warning("overload: %d announcements are waiting", MAX_WAITING)
            except Exception:
                logger.exception("unexpected error in the streaming hub; resubscribing")
            # announcements may have been missed; clients resume, or reload their pages, when they reconnect
            self._is_subscribed.clear()
            self._end(self._connections(), "announcements may have been missed")
            await asyncio.sleep(PAUSE_SECONDS)

    async def _consume(self, queue: asyncio.Queue[Announcement]) -> None:
        while True:
            await self._handle(*await queue.get())

    async def _handle(self, name: str, ids: Mapping[str, Any]) -> None:
        try:
            if name in {"post_published", "post_edited", "post_previewed", "post_deleted"}:
                loop = asyncio.get_running_loop()
                await self.run_in_thread(
                    self._deliver_post, name, ids["post_id"], self._listeners(), loop
                )
            elif name == "delivered":
                self._deliver_progress(ids["post_id"])
            elif name == "tokens_ended":
                await self._end_streams_of(list(self._by_listener.get(ids["user_id"], ())))
            else:
                await self._deliver_to_one(name, ids["user_id"], ids)
        except Exception:
            logger.exception("could not deliver %s to the streams", name)

    async def _deliver_to_one(self, name: str, listener_id: int, ids: Mapping[str, Any]) -> None:
        """Deliver an announcement that concerns one user."""
        if name == "notified":
            await self._deliver_notifications(listener_id)
        elif name in {"conversed", "seen"}:
            is_new = name == "conversed"
            await self._deliver_conversation(listener_id, ids["post_id"], is_new=is_new)
        elif name == "marked":
            await self._deliver_markers(listener_id)
        elif name == "filters_changed":
            self._deliver([queries.event_of_filters(listener_id)])

    def _deliver_post(
        self,
        name: str,
        post_id: int,
        listeners: dict[Stream, list[int]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Deliver the events of a post in batches, so that with many listeners the first do not wait for the last."""
        if not listeners:
            return
        if name == "post_deleted":
            events = queries.events_of_delete(post_id, listeners)
        else:
            event = "update" if name == "post_published" else "status.update"
            events = queries.events_of_post(post_id, event, listeners)
        while batch := list(islice(events, BATCH)):
            loop.call_soon_threadsafe(partial(self._deliver, batch))

    def _listeners(self) -> dict[Stream, list[int]]:
        listeners_by_stream: dict[Stream, set[int]] = defaultdict(set)
        for connection in self._connections():
            for stream in connection.streams:
                listeners_by_stream[stream].add(connection.listener_id)
        return {stream: list(user_ids) for stream, user_ids in listeners_by_stream.items()}

    async def _deliver_notifications(self, listener_id: int) -> None:
        known = self._notifications.get(listener_id)
        if known is None:
            return
        newest, events = await self.run_in_thread(
            queries.events_of_notifications, listener_id, known
        )
        if listener_id in self._notifications:
            self._notifications[listener_id] = newest
        self._deliver(events)

    async def _deliver_conversation(self, listener_id: int, post_id: int, *, is_new: bool) -> None:
        connections = self._by_listener.get(listener_id, ())
        streams = {queries.DIRECT, queries.USER}
        if any(not streams.isdisjoint(connection.streams) for connection in connections):
            find = partial(queries.events_of_conversation, is_new=is_new)
            self._deliver(await self.run_in_thread(find, listener_id, post_id))

    async def _deliver_markers(self, listener_id: int) -> None:
        if listener_id in self._by_listener:
            self._deliver(await self.run_in_thread(queries.events_of_markers, listener_id))

    def _deliver_progress(self, post_id: int) -> None:
        """Notify an author of a delivery's progress, at most every PROGRESS_SECONDS: many chunks may end at once.

        Announcements that arrive earlier than that are delivered together, at the end of this time.
        """
        author_id = author_of(post_id)
        if author_id not in self._by_listener:
            return
        if author_id not in self._waiting_progress:
            wait = self._next_progress.get(author_id, 0.0) - time.monotonic()
            asyncio.get_running_loop().call_later(max(wait, 0), self._end_wait, author_id)
        self._waiting_progress[author_id].add(post_id)

    def _end_wait(self, author_id: int) -> None:
        posts = self._waiting_progress.pop(author_id)
        if author_id in self._by_listener:
            self._next_progress[author_id] = time.monotonic() + PROGRESS_SECONDS
            self._deliver(queries.event_of_delivery(post_id) for post_id in sorted(posts))

    def _deliver(self, events: Iterable[StreamEvent]) -> None:
        for item in events:
            for connection in self._by_listener.get(item.listener_id, ()):
                connection.enqueue(item)

    async def _recheck_tokens(self) -> None:
        """Regularly end connections whose tokens have expired, or were revoked without an announcement."""
        while True:
            # at random moments, so that the processes do not all check together
            await asyncio.sleep(settings.STREAMING_CHECK_SECONDS * random.uniform(0.8, 1.0))  # noqa: S311 -- no secret
            try:
                await self._end_streams_of(self._connections())
            except Exception:
                logger.exception("the tokens of the streams could not be checked")

    async def _end_streams_of(self, connections: list[Connection]) -> None:
        tokens = {connection.token for connection in connections}
        ended = await self.run_in_thread(queries.ended_tokens, tokens)
        self._end(
            (connection for connection in connections if connection.token in ended),
            "the token has ended",
        )

    def _connections(self) -> list[Connection]:
        return [connection for found in self._by_listener.values() for connection in found]

    def _end(self, connections: Iterable[Connection], reason: str) -> None:
        for connection in connections:
            connection.end(reason)
