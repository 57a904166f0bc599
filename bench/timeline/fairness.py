"""Small authors' posts while 100,000 followers are served: from the event to the receipt, beside the same in quiet times.

The workers are those of docker-compose.yml: one kind for events and small deliveries, one for the large ones.
"""

import statistics
import threading
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.db.models import QuerySet

from apps.events.leases import State
from apps.events.models import Event
from apps.posts.actions import publish_post
from apps.posts.drafts import Draft
from apps.timeline.models import FanoutChunk
from bench.measure import Spread
from bench.report import Line
from bench.timeline.fanout import delivered_in, publish
from bench.timeline.people import CROWD, SMALL, author
from bench.timeline.workers import wait_until, workers

POSTS, WARM = 300, 20
MOST = 2.0


def run(directory: Path) -> list[Line]:
    """The 99th percentile of both, and how often the large delivery ran meanwhile."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    author(CROWD), author(SMALL)
    with workers(directory, "sweep,default,fanout", "fanout_bulk"):
        delivered_in(publish())
        _lags(WARM)
        quiet = _lags(POSTS)
        busy, large = _while_large_ones_run()
    one, other = _p99(busy), _p99(quiet)
    return [
        Line(
            f"a small author's post during deliveries to {CROWD:,} followers: p99 from event to receipt",
            "ms",
            Spread.exact(one),
            {"in quiet times": Spread.exact(other)},
            f"at most {MOST:.0f} times the quiet value",
            one <= MOST * other,
            f"{one / other:.2f} times; medians {statistics.median(busy):.1f} and {statistics.median(quiet):.1f} ms;"
            f" {large} large deliveries meanwhile",
        )
    ]


def _while_large_ones_run() -> tuple[list[float], int]:
    done, large = threading.Event(), 0

    def go_on() -> None:
        nonlocal large
        while not done.is_set():
            delivered_in(publish())
            large += 1
        connections.close_all()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        return _lags(POSTS), large
    finally:
        done.set()
        thread.join()


def _lags(number: int) -> list[float]:
    """Milliseconds of so many posts, each published when the one before it has been delivered: no backlog of its own."""
    ids: list[int] = []
    chunks = FanoutChunk.objects.filter(job__in=ids, state=State.DONE)
    for _ in range(number):
        ids.append(publish_post(author(SMALL), Draft(body="To the few of you.")).pk)
        chunks = FanoutChunk.objects.filter(job__in=ids, state=State.DONE)
        wait_until(partial(_as_many, chunks, len(ids)))
    ends = dict(chunks.values_list("job", "finished_at"))
    events = Event.objects.filter(name="post_published", payload__post_id__in=ids)
    begins = dict(events.values_list("payload__post_id", "created_at"))
    return [(ends[one] - begins[one]).total_seconds() * 1e3 for one in ids]


def _as_many(chunks: QuerySet[FanoutChunk], number: int) -> bool:
    return chunks.count() == number


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]
