"""The site under load for an hour: its memory every 30 seconds, its disks twice."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client

from apps.accounts.actions import issue_token
from apps.accounts.models import User
from apps.posts.models import Post
from feedcache.connections import timelines
from runner import programs
from runner.processes import spawn
from runner.services.redis import PERSISTENCE, Redis
from tools.bench.measure import Spread
from tools.bench.population import add_posts
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.servers import store_pids
from tools.bench.site.graph import load_graph, make_graph
from tools.bench.site.visitor import percentile
from tools.bench.site.web import child_environment, free_port, web
from tools.bench.site.world import analyse
from tools.bench.soak import disk, memory
from tools.bench.soak.load import MIX, RATE, Load, Person
from tools.bench.timeline.workers import is_ready, wait_until

PEOPLE, FOLLOWED, MOST_FOLLOWERS = 5_000, 2_000, 1_000
CROWD = 400  # the people who act: the most followed ones
POSTS_EACH, APART = 20, 97
LATEST = 400  # posts that are read, liked and answered
LOOK_SECONDS, LOOKS = 30.0, 48  # at most this long between two looks; at least this many
STOP_SECONDS = 15
WORKER_PROCESSES = 2
CACHE_MEGABYTES = 256  # TIMELINE_MAXMEMORY in deploy/small.env
REDIS_WITH_FILE = "Redis with a file"


def run(directory: Path, minutes: float) -> list[Line]:
    """Let people use the site for some minutes. Returns lines about memory, disks and responses."""
    doing("people and posts")
    crowd = _crowd()
    logs = directory / "soak"
    logs.mkdir()
    with ExitStack() as stack:
        with_file = stack.enter_context(_redis_with_file(directory / "kept"))
        roots, load = _site(logs, with_file, crowd, stack)
        assert with_file.child is not None
        watch = memory.Watch(roots, {**store_pids(), REDIS_WITH_FILE: [with_file.child.pid]})
        folders = {
            "append-only file of Redis": with_file.data,
            "media": Path(os.environ["MEDIA_ROOT"]),
            "logs": logs,
        }
        load.start()
        try:
            before, after, cold = _watched(watch, load, folders, minutes)
        finally:
            load.stop()
        limits = _limits()
    lines = [*memory.lines(watch, minutes, limits), *disk.lines(before, after)]
    return [*lines, *_answers(load, minutes * 2 / 3, cold), memory.curves(watch)]


def _watched(
    watch: memory.Watch, load: Load, folders: Mapping[str, Path], minutes: float
) -> tuple[disk.Disk, disk.Disk, str]:
    """Look at the memory until the end, and at the disks after a third of the time and at the end.

    Also returns what failed in the first third; later responses are counted by the load.
    """
    pause = min(LOOK_SECONDS, minutes * 60 / LOOKS)
    begin = time.monotonic()
    before, minute, number, cold = None, 0.0, 0, ""
    while minute < minutes:
        number += 1
        time.sleep(max(begin + number * pause - time.monotonic(), 0))
        minute = (time.monotonic() - begin) / 60
        watch.look(minute)
        load.latest = _latest()
        if before is None and minute >= minutes / 3:
            before, cold = disk.look(minute * 60, folders), load.count_again()
        if number % 10 == 1:
            doing(f"minute {minute:.0f} of {minutes:.0f}, {load.visitor.complaint}")
    assert before is not None
    return before, disk.look(minute * 60, folders), cold


def _crowd() -> list[Person]:
    """The people who act, of a small graph in which everybody else has followees and posts too."""
    ids = load_graph(make_graph(PEOPLE, FOLLOWED, MOST_FOLLOWERS)).tolist()
    begin = int(time.time()) - (POSTS_EACH + 2) * APART
    add_posts(ids[:FOLLOWED], range(1, POSTS_EACH + 1), begin=begin, apart=APART)
    analyse()
    found = []
    for user in User.objects.filter(pk__in=ids[:CROWD]):
        client = Client()
        client.force_login(user)
        cookie = f"sessionid={client.cookies['sessionid'].value}"
        found.append(Person(user.pk, user.url, issue_token(user, name="soak"), cookie))
    return found


def _latest() -> list[tuple[int, str]]:
    newest = Post.objects.exclude(kind="repost").select_related("author").order_by("-pk")
    return [(post.pk, f"{post.author.url}/{post.pk}") for post in newest[:LATEST]]


@contextmanager
def _redis_with_file(directory: Path) -> Iterator[Redis]:
    """The Redis for data that must not be lost, as `redis-broker` in docker-compose.yml."""
    directory.mkdir()
    server = Redis(directory / "data", directory, directory, persistence=PERSISTENCE)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _site(
    logs: Path, with_file: Redis, crowd: list[Person], stack: ExitStack
) -> tuple[dict[str, int], Load]:
    """Start all processes of the site. Returns their pids by name, and a load on them that has not begun."""
    evicting: Any = timelines()
    evicting.config_set("maxmemory", f"{CACHE_MEGABYTES}mb")
    evicting.config_set("maxmemory-policy", "volatile-lru")
    own = {
        "CELERY_BROKER_URL": f"redis+socket://{with_file.socket}?virtual_host=0",
        "REDIS_COUNTERS_URL": f"unix://{with_file.socket}?db=1",
        "REDIS_EXISTENCE_URL": f"unix://{with_file.socket}?db=2",
    }
    streaming = free_port()
    commands = {
        "beat": programs.beat(schedule=logs.parent / "schedule"),
        "worker": programs.worker(concurrency=WORKER_PROCESSES),
        "streaming": programs.streaming(port=streaming),
    }
    roots = {}
    for name, command in commands.items():
        log, environment = logs / f"{name}.log", child_environment(own)
        child = spawn(name, command, log=log, environment=environment)
        stack.callback(child.stop, STOP_SECONDS)
        roots[name] = child.pid
    wait_until(lambda: is_ready(logs / "worker.log"))  # until then it has not forked its processes
    site = stack.enter_context(web("web", None, logs, **own))
    return {"web": site.child.pid, **roots}, Load(site.port, streaming, crowd, _latest())


def _limits() -> dict[str, float]:
    """The megabytes that each store may have: PostgreSQL its shared memory, a cache `CONTAINER` times its own limit."""
    with connection.cursor() as sql:
        sql.execute("SELECT setting::int FROM pg_settings WHERE name = 'shared_memory_size'")
        [shared] = sql.fetchone() or (0,)
    memcached = _memcached_megabytes() * memory.CONTAINER
    cache = CACHE_MEGABYTES * memory.CONTAINER
    return {
        "PostgreSQL, shared memory": shared,
        "Redis": cache,
        REDIS_WITH_FILE: cache,
        "Memcached": memcached,
    }


def _memcached_megabytes() -> int:
    """The -m of all nodes together."""
    sizes = (
        (settings.MEMCACHED_URLS, settings.MEMCACHED_MAIN_MEGABYTES),
        (settings.MEMCACHED_BACKUP_URLS, settings.MEMCACHED_BACKUP_MEGABYTES),
        (settings.MEMCACHED_L1_URLS, settings.MEMCACHED_L1_MEGABYTES),
    )
    return sum(len(nodes) * size for nodes, size in sizes)


def _answers(load: Load, minutes: float, cold: str) -> list[Line]:
    """The requests of some minutes by kind, and how they were answered."""
    number = sum(map(len, load.milliseconds.values()))
    errors, failed = load.visitor.errors, load.stream_errors
    return [
        Line(
            f"requests per second, in the last {minutes:.3g} minutes",
            "requests/s",
            Spread.exact(round(number / minutes / 60, 1)),
            bar=f"{RATE} without errors",
            passed=not errors and not failed,
            errors=errors + failed,
            note=f"{load.visitor.complaint}; {cold}; streams: {load.heard}",
        ),
        *(
            Line(
                kind,
                "ms",
                Spread.exact(round(percentile(load.milliseconds[kind], 50), 1)),
                figures={
                    "share %": share,
                    "requests": len(load.milliseconds[kind]),
                    "p50 ms": round(percentile(load.milliseconds[kind], 50), 1),
                    "p95 ms": round(percentile(load.milliseconds[kind], 95), 1),
                },
            )
            for kind, share in MIX.items()
            if load.milliseconds[kind]
        ),
    ]
