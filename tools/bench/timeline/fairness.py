"""Small authors' posts during deliveries to 100,000 followers: the time from event to receipt, compared with quiet
times.

The workers are those of docker-compose.yml: one kind for events and small deliveries, one for large ones.
"""

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

from django.conf import settings

from apps.events.leases import State
from apps.events.models import Event
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.posts.models import Post
from apps.timeline.fanout.dispatch import BULK
from apps.timeline.models import FanoutChunk
from tools.bench import bars
from tools.bench.measure import Spread
from tools.bench.report import Line
from tools.bench.timeline.fanout import delivered_in, is_delivered, publish
from tools.bench.timeline.people import CROWD, SMALL, author
from tools.bench.timeline.workers import wait_until, workers

POSTS, WARM = 300, 20
AT_ONCE = 2  # concurrent large deliveries
PROCESSES = 2  # a large author's post also causes six other tasks


def run(directory: Path) -> list[Line]:
    """The 99th percentile with and without large deliveries, and how many of these ran meanwhile."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    author(CROWD), author(SMALL)
    with (
        workers(directory, "sweep,default,fanout", processes=PROCESSES),
        workers(directory, BULK),
    ):
        delivered_in(publish())
        _lags(WARM)
        quiet = _lags(POSTS)
        large = _Large()
        busy = _lags(POSTS, beside=large.keep_going)
        large.finish()
    one, other = _p99(busy), _p99(quiet)
    return [
        bars.FAIRNESS.line(
            "ms",
            Spread.exact(one),
            one / other,
            others={"in quiet times": Spread.exact(other)},
            note=f"from event to receipt, during deliveries to {CROWD:,} followers;"
            f" medians {statistics.median(busy):.1f} and {statistics.median(quiet):.1f} ms;"
            f" {large.done} large deliveries in that time",
        )
    ]


def _lags(number: int, *, beside: Callable[[], None] = lambda: None) -> list[float]:
    """Milliseconds of `number` posts, each published after the previous one was delivered, so they cause no backlog.

    `beside` is called before each.
    """
    ids: list[int] = []
    for _ in range(number):
        beside()
        ids.append(publish_post(author(SMALL), Draft(body="To the few of you.")).post.pk)
        wait_until(partial(_is_delivered, ids[-1]))
    ends = dict(
        FanoutChunk.objects.filter(job__in=ids, state=State.DONE).values_list("job", "finished_at")
    )
    events = Event.objects.filter(name="post_published", payload__post_id__in=ids)
    begins = dict(events.values_list("payload__post_id", "created_at"))
    return [(ends[one] - begins[one]).total_seconds() * 1e3 for one in ids]


def _is_delivered(post_id: int) -> bool:
    return FanoutChunk.objects.filter(job=post_id, state=State.DONE).exists()


class _Large:
    """Keeps one or two large deliveries running.

    Called from the measuring thread, because another thread would compete with it for the processor.
    """

    def __init__(self) -> None:
        self._waiting: list[Post] = []
        self.done = 0

    def keep_going(self) -> None:
        left = [post for post in self._waiting if not is_delivered(post)]
        self.done += len(self._waiting) - len(left)
        self._waiting = left + [publish() for _ in range(AT_ONCE - len(left))]

    def finish(self) -> None:
        for post in self._waiting:
            delivered_in(post)


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]
