"""More publications than one process can take, for a minute: acknowledged ones are delivered, the rest is refused.

Requests are sent by the clock, each as soon as it is due, however many wait for their responses.
"""

import asyncio
import contextlib
import random
import time
from collections import Counter
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path

import orjson
from django.db.models import Exists, OuterRef

from apps.accounts.actions import issue_token
from apps.accounts.models import User
from apps.events.leases import State
from apps.posts.models import Post
from apps.timeline.models import FanoutChunk, FanoutJob
from runner.programs import QUEUES
from tools.bench import bars
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site.mix import STATUS, STATUSES
from tools.bench.site.systems import our_site
from tools.bench.site.visitor import percentile
from tools.bench.site.world import world
from tools.bench.timeline.workers import workers

RATE, SECONDS = 500, 60
DELIVERY_SECONDS, ANSWER_SECONDS = 30, 20
WRITERS, PROCESSES = 500, 2
REFUSALS = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
REST_SECONDS, LOOK_SECONDS = 5, 0.5
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def run(directory: Path) -> list[Line]:
    authors = random.Random(RATE).sample(world().people.busy, WRITERS)
    tokens = [issue_token(one, name="bench") for one in User.objects.filter(pk__in=authors)]
    own = directory / "overload"
    own.mkdir()
    with ExitStack() as stack:
        port = stack.enter_context(our_site(directory)).port
        stack.enter_context(workers(own, QUEUES, processes=PROCESSES))
        doing(f"{RATE} publications/s for {SECONDS} s")
        crowd = Crowd(port, tokens)
        asyncio.run(crowd.publish(RATE, SECONDS))
        doing("deliveries")
        waited, undelivered = _delivered_in(crowd.acknowledged)
    return [_line(crowd, waited, undelivered)]


class Crowd:
    """Clients that publish. `answers` are counted by status or kind of error, `acknowledged` has the ids of posts."""

    def __init__(self, port: int, tokens: list[str]) -> None:
        self.answers: Counter[int | str] = Counter()
        self.acknowledged: list[int] = []
        self.milliseconds: list[float] = []  # for acknowledged posts, from when they were due
        self.latest = 0.0  # maximum delay in seconds between due time and sending
        self._port = port
        self._idle: list[tuple[float, Connection]] = []  # each with the time when it became idle
        body = orjson.dumps(STATUS)
        self._requests = [
            (
                f"POST {STATUSES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            ).encode()
            + body
            for token in tokens
        ]

    async def publish(self, rate: int, seconds: int) -> None:
        """Send `rate` requests per second; returns when all are answered."""
        begin = time.perf_counter() + 0.1
        async with asyncio.TaskGroup() as tasks:
            for number in range(rate * seconds):
                due = begin + number / rate
                await asyncio.sleep(max(due - time.perf_counter(), 0))
                self.latest = max(self.latest, time.perf_counter() - due)
                tasks.create_task(self._publish(self._requests[number % len(self._requests)], due))
        for _since, (_reader, writer) in self._idle:
            await _close(writer)

    async def _publish(self, request: bytes, due: float) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status, body = await self._answer(request)
        except (OSError, EOFError, TimeoutError) as error:
            self.answers[type(error).__name__] += 1
            return
        self.answers[status] += 1
        if status == HTTPStatus.OK:
            self.acknowledged.append(int(orjson.loads(body)["id"]))
            self.milliseconds.append((time.perf_counter() - due) * 1000)

    async def _answer(self, request: bytes) -> tuple[int, bytes]:
        reader, writer = await self._connection()
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(length)
        except BaseException:
            await _close(writer)
            raise
        if b"connection: close" in head:
            await _close(writer)
        else:
            self._idle.append((time.monotonic(), (reader, writer)))
        return int(head.split(b" ", 2)[1]), body

    async def _connection(self) -> Connection:
        """An idle connection, unless the server may be about to close it; otherwise a new one."""
        while self._idle:
            since, (reader, writer) = self._idle.pop()
            if time.monotonic() - since < REST_SECONDS and not reader.at_eof():
                return reader, writer
            await _close(writer)
        return await asyncio.open_connection("127.0.0.1", self._port)

    @property
    def refused(self) -> int:
        return sum(self.answers[status] for status in REFUSALS)

    @property
    def errors(self) -> int:
        """Responses that neither acknowledge nor refuse."""
        return self.answers.total() - len(self.acknowledged) - self.refused


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):  # the server has closed it too
        await writer.wait_closed()


def _delivered_in(posts: list[int]) -> tuple[float, int]:
    """Seconds until all are delivered, and how many are not when the time is up."""
    begin = time.monotonic()
    left = undelivered(posts)
    while left and time.monotonic() - begin < DELIVERY_SECONDS:
        time.sleep(LOOK_SECONDS)
        left = undelivered(posts)
    return time.monotonic() - begin, left


def undelivered(posts: list[int]) -> int:
    """How many of these posts are not fully delivered according to the ledger."""
    open_chunks = FanoutChunk.objects.filter(job=OuterRef("pk")).exclude(state=State.DONE)
    jobs = FanoutJob.objects.filter(pk__in=posts, state=State.DONE).exclude(Exists(open_chunks))
    return len(posts) - jobs.count()


def _line(crowd: Crowd, waited: float, left: int) -> Line:
    lost = len(crowd.acknowledged) - Post.objects.filter(pk__in=crowd.acknowledged).count()
    others = {kind: number for kind, number in crowd.answers.items() if kind != HTTPStatus.OK}
    said = ", ".join(f"{number:,} with status {kind}" for kind, number in others.items())
    p95 = percentile(crowd.milliseconds, 95) if crowd.milliseconds else 0.0
    ended = (
        f"{left:,} undelivered after {waited:.0f} s"
        if left
        else f"all delivered after {waited:.0f} s"
    )
    return bars.OVERLOAD.line(
        "undelivered",
        Spread.exact(left),
        left,
        errors=crowd.errors + lost,
        note=f"{len(crowd.acknowledged):,} acknowledged ({len(crowd.acknowledged) / SECONDS:.0f}/s, p95 {p95:.0f} ms);"
        f" other responses: {said or 'none'}; {ended}; {lost} lost;"
        f" requests sent at most {crowd.latest * 1000:.0f} ms late",
        figures={
            "acknowledged": len(crowd.acknowledged),
            "refused": crowd.refused,
            "errors": crowd.errors,
            "lost": lost,
        },
    )
