"""One post to 100,000 followers, a fifth of them online: from its event to the last receipt in PostgreSQL."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Max

from apps.accounts.models import User
from apps.events.leases import State
from apps.events.models import Event
from apps.graph.models import Follower
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.posts.models import Post
from apps.timeline.models import FanoutChunk, FanoutJob
from apps.timeline.sources.home_cache import HOME
from feedcache.connections import timelines
from feedcache.ids import MAX_ID
from runner.programs import QUEUES
from tools.bench import bars
from tools.bench.measure import Spread
from tools.bench.report import Line
from tools.bench.timeline.people import CROWD, LIVE, PIPELINE, author, reader_ids
from tools.bench.timeline.workers import wait_until, workers

PROCESSES, WARM, ROUNDS, PLAIN_ROUNDS = 2, 2, 7, 1


def run(directory: Path) -> list[Line]:
    """Followers per second with real workers, compared with a redis-py script in one process."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    author(CROWD)
    with workers(directory, QUEUES, processes=PROCESSES):
        rates = [CROWD / delivered_in(publish()) for _ in range(WARM + ROUNDS)][WARM:]
    ours = Spread.of(rates)
    others = {
        "EXISTS, then LPUSH and trim, in redis-py pipelines": _plainly(_to_those_online),
        "LPUSH and trim for every follower, in pipelines": _plainly(_to_everybody),
    }
    return [
        bars.FANOUT.line(
            "followers/s",
            ours,
            ours.median,
            others=others,
            note=f"{CROWD:,} followers, from the event to the last receipt: {CROWD / ours.median * 1000:.0f} ms",
        )
    ]


def publish() -> Post:
    return publish_for(author(CROWD))


def publish_for(writer: User) -> Post:
    return publish_post(writer, Draft(body="To all of you.")).post


def delivered_in(post: Post) -> float:
    """Seconds from a post's event to the last receipt of its chunks, according to the ledger."""
    wait_until(lambda: is_delivered(post))
    begin = Event.objects.filter(name="post_published", payload__post_id=post.pk).latest("pk")
    receipts = FanoutChunk.objects.filter(job=post.pk).aggregate(last=Max("finished_at"))
    seconds: float = (receipts["last"] - begin.created_at).total_seconds()
    return seconds


def is_delivered(post: Post) -> bool:
    """Whether its delivery is finished according to the ledger."""
    chunks = FanoutChunk.objects.filter(job=post.pk)
    cut = FanoutJob.objects.filter(pk=post.pk, state=State.DONE).exists()
    return cut and not chunks.exclude(state=State.DONE).exists()


def _plainly(push: Callable[[Any, list[int], str], None]) -> Spread:
    client, rates = timelines(), []
    for number in range(PLAIN_ROUNDS):
        member = str(MAX_ID - publish_nothing(number))
        begin = time.perf_counter()
        rows = Follower.objects.filter(owner=author(CROWD)).values_list("follower_id", flat=True)
        readers = list(rows)
        for start in range(0, len(readers), PIPELINE):
            push(client, readers[start : start + PIPELINE], member)
        rates.append(CROWD / (time.perf_counter() - begin))
    online, dormant = reader_ids(CROWD)[: int(CROWD * LIVE)], reader_ids(CROWD)[int(CROWD * LIVE) :]
    for start in range(0, len(online), PIPELINE):
        pipeline = client.pipeline(transaction=False)
        for reader in online[start : start + PIPELINE]:
            # the members just pushed are larger than any real id, so every later post would seem late
            pipeline.lpop(HOME.key(reader), PLAIN_ROUNDS)
        pipeline.execute()
    for start in range(0, len(dormant), PIPELINE):
        client.unlink(*map(HOME.key, dormant[start : start + PIPELINE]))
    return Spread.of(rates)


def publish_nothing(number: int) -> int:
    return (1 << 62) + (1 << 61) + number


def _to_everybody(client: Any, readers: list[int], member: str) -> None:
    pipeline = client.pipeline(transaction=False)
    for reader in readers:
        pipeline.lpush(HOME.key(reader), member)
        pipeline.ltrim(HOME.key(reader), 0, HOME.length - 1)
    pipeline.execute()


def _to_those_online(client: Any, readers: list[int], member: str) -> None:
    asking = client.pipeline(transaction=False)
    for reader in readers:
        asking.exists(HOME.key(reader))
    there = asking.execute()
    _to_everybody(client, [one for one, is_there in zip(readers, there, strict=True) if is_there], member)  # fmt: skip
