"""Streams of many accounts, which wait, and then hear of posts."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings

from apps.accounts.actions import TOKEN_PREFIX
from apps.accounts.models import AccessToken, User
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from runner import programs
from runner.checkout import ROOT
from runner.processes import Child, spawn
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site.clock import megabytes_of, seconds_of
from tools.bench.site.visitor import percentile
from tools.bench.site.web import child_environment, free_port
from tools.bench.timeline.people import SMALL, author, reader_ids
from tools.bench.timeline.workers import wait_until, workers

QUEUES = "sweep,default,fanout"
LISTENERS, PROCESSES = 20_000, 4  # 5,000 each, the default of STREAMING_CONNECTIONS
REST_SECONDS = 30
POSTS, HEAR_SECONDS = 5, 120
QUIET_POSTS = 30  # by an author whom no listener follows
SETTLE_SECONDS = 3
CLIENT_PROCESSES = 2  # a process may often open no more than 20,000 files
STOP_SECONDS = 15
BATCH = 1000
T = TypeVar("T")


def run(directory: Path) -> list[Line]:
    doing(f"an author with {LISTENERS:,} followers")
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    followed, quiet = author(LISTENERS), author(SMALL)
    tokens = _tokens(reader_ids(LISTENERS))
    with ExitStack() as stack:
        server = stack.enter_context(_streaming(directory))
        stack.enter_context(workers(directory, QUEUES))
        before = megabytes_of([server.child.pid])
        doing(f"opening {LISTENERS:,} streams")
        clients = stack.enter_context(_clients(server.port, tokens, directory))
        opened, taken, refused = clients.opened()
        time.sleep(SETTLE_SECONDS)
        memory = megabytes_of([server.child.pid])
        doing("waiting")
        idle, _nothing = _spent(server, lambda: time.sleep(REST_SECONDS))
        doing("posts for all of them")
        found = [_spent(server, lambda: clients.hear(followed)) for _post in range(POSTS)]
        doing("posts for none of them")
        unheard, _nothing = _spent(server, lambda: _publish(quiet, QUIET_POSTS))
    heard = [seconds for _cost, one in found for seconds in one.seconds]
    cost, still = sum(cost for cost, _one in found), found[-1][1].open
    expected = POSTS * LISTENERS
    return [
        Line(
            f"open streams in {PROCESSES} processes",
            "streams",
            Spread.exact(opened),
            bar=f"at least {LISTENERS:,}",
            passed=still >= LISTENERS,
            note=f"opened in {taken:.0f} s; refused: {', '.join(refused) or 'none'}; open at the end: {still:,}",
        ),
        Line(
            "memory of a stream",
            "KB",
            Spread.exact((memory - before) * 1024 / opened),
            note=f"{before:,.0f} MB without streams, {memory:,.0f} MB with all of them",
        ),
        Line(
            "streaming processes while nothing happens",
            "% of a core",
            Spread.exact(idle * 100 / (REST_SECONDS + SETTLE_SECONDS)),
            note=f"heartbeats every {settings.STREAMING_HEARTBEAT_SECONDS:.0f} s, and checks of all tokens",
        ),
        Line(
            "from publishing a post until a stream has it",
            "s",
            Spread.of(heard),
            {f"{share} % of them": Spread.exact(percentile(heard, share)) for share in (50, 95, 100)},
            bar="all of them",
            passed=len(heard) == expected,
            note=f"{POSTS} posts, one after another: {len(heard):,} of {expected:,} events;"
            f" {cost * 1000 / len(heard):.2f} ms of processor time for each",
        ),
        Line(
            "a post that no listener may see",
            "ms",
            Spread.exact(unheard * 1000 / QUIET_POSTS),
            note="processor time of all streaming processes",
        ),
    ]  # fmt: skip


def _tokens(user_ids: list[int]) -> list[str]:
    tokens = {TOKEN_PREFIX + secrets.token_urlsafe(32): user_id for user_id in user_ids}
    rows = [
        AccessToken(user_id=user_id, digest=AccessToken.digest_of(token), name="bench")
        for token, user_id in tokens.items()
    ]
    AccessToken.objects.bulk_create(rows, batch_size=BATCH)
    return list(tokens)


@dataclass(frozen=True, slots=True)
class _Server:
    child: Child
    port: int


@contextmanager
def _streaming(directory: Path) -> Iterator[_Server]:
    """Streaming processes on one socket. The kernel does not divide streams evenly, so each may have all of them."""
    port = free_port()
    command = [*programs.streaming(port=port), "--workers", str(PROCESSES)]
    environment = child_environment({"STREAMING_CONNECTIONS": str(LISTENERS)})
    child = spawn("streaming", command, log=directory / "streaming.log", environment=environment)
    try:
        wait_until(lambda: child.log.read_text().count("Started worker-") >= PROCESSES)
        yield _Server(child, port)
    finally:
        child.stop(STOP_SECONDS)


@dataclass(frozen=True, slots=True)
class _Heard:
    """How many streams are open, and the seconds after which each had the post."""

    open: int
    seconds: list[float]


class _Clients:
    def __init__(self, processes: "Sequence[subprocess.Popen[str]]") -> None:
        self._processes = processes

    def opened(self) -> tuple[int, float, list[str]]:
        """How many streams are open, the seconds that it took, and the answers to those that did not open."""
        found = self._read()
        refused = [
            f"{number} x {answer}" for one in found for answer, number in one["refused"].items()
        ]
        return sum(one["open"] for one in found), max(one["seconds"] for one in found), refused

    def hear(self, by: User) -> _Heard:
        """Publish a post, and wait until all clients have heard of it, or for `HEAR_SECONDS`."""
        begin = time.monotonic()
        _publish(by, 1)
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{begin} {HEAR_SECONDS}\n")
            process.stdin.flush()
        found = self._read()
        return _Heard(
            sum(one["open"] for one in found),
            [seconds for one in found for seconds in one["heard"]],
        )

    def _read(self) -> list[dict[str, Any]]:
        return [
            json.loads(process.stdout.readline()) for process in self._processes if process.stdout
        ]


@contextmanager
def _clients(port: int, tokens: Sequence[str], directory: Path) -> Iterator[_Clients]:
    with ExitStack() as stack:
        processes = []
        for number in range(CLIENT_PROCESSES):
            file = directory / f"tokens-{number}.txt"
            file.write_text("\n".join(tokens[number::CLIENT_PROCESSES]))
            command = [
                sys.executable,
                "-P",
                "-m",
                "tools.bench.streams.clients",
                str(port),
                str(file),
            ]
            process = subprocess.Popen(  # noqa: S603 -- our own
                command, env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            processes.append(stack.enter_context(process))
            stack.callback(process.terminate)
        yield _Clients(processes)


def _publish(by: User, number: int) -> None:
    for _ in range(number):
        publish_post(by, Draft(body="To all who listen."))


def _spent(server: _Server, work: Callable[[], T]) -> tuple[float, T]:
    """The processor seconds of the streaming processes during some work, and its result."""
    before = seconds_of([server.child.pid])
    found = work()
    time.sleep(SETTLE_SECONDS)
    return seconds_of([server.child.pid]) - before, found
