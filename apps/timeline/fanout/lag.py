"""How late deliveries are: the age of the oldest post whose delivery is unfinished.

In web processes, the thread of `feedcache.servers.topology_listener` reads it from PostgreSQL once a second. Pages use
the last value, and make no further reads while no delivery is late. Every health check reads it again.
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.errors import Unavailable
from apps.events.leases import State
from apps.events.queries import pending_events
from apps.graph.queries import relations
from apps.sql import database_time
from apps.timeline import policy
from apps.timeline.models import FanoutChunk, FanoutJob
from feedcache.ids import author_of

logger = logging.getLogger(__name__)

LATE_SECONDS = 10  # a delivery takes a second or two
MAX_POSTS = 300  # events, jobs and chunks: this many of each, longest waiting first
RETRY_AFTER_SECONDS = 5
FRESH_SECONDS = 10  # an older value is ignored
# The subscriber whose event starts a delivery.
DELIVERY = "apps.timeline.handlers.deliver_post"


@dataclass(frozen=True, slots=True)
class Lag:
    """How late deliveries are. `waiting` maps author ids to the Unix time of their oldest waiting post."""

    waiting: dict[int, float] = field(default_factory=dict)
    read_at: float = 0.0  # by this process's monotonic clock
    database_time: float = 0.0  # PostgreSQL's Unix time at that moment
    posts: int = 0  # posts whose delivery has not begun, counted up to FANOUT_MAX_WAITING

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of posts is waiting; False if the value is too old."""
        return self._is_fresh and self.posts >= settings.FANOUT_MAX_WAITING

    @property
    def seconds(self) -> int:
        """The age of the oldest waiting post; 0 if no post is late or the value is too old."""
        return self._age(min(self.waiting.values(), default=None))

    def behind_for(self, viewer_id: int, *, revision: int | None = None) -> int:
        """The age of the oldest late post by a viewer's followees, in seconds; 0 if none is late.

        Pulled authors are left out, because their open posts do not wait for a delivery. With `revision` (the viewer's
        `graph_revision`), this takes one round trip to Redis; PostgreSQL, busy in a backlog, is read only if Redis
        fails or does not have the relations.
        """
        if not self.waiting:
            return 0
        policies = policy.cached()
        late = {
            author_id
            for author_id, since in self.waiting.items()
            if author_id not in policies.pulled and author_id != viewer_id and self._age(since)
        }
        if not late or policies.pulls_all:
            return 0
        followed = relations(viewer_id, late, revision=revision).following
        return self._age(min((self.waiting[author_id] for author_id in followed), default=None))

    def _age(self, since: float | None) -> int:
        if since is None or not self._is_fresh:
            return 0
        age = round(self.database_time + time.monotonic() - self.read_at - since)
        return age if age >= LATE_SECONDS else 0

    @property
    def _is_fresh(self) -> bool:
        return time.monotonic() - self.read_at <= FRESH_SECONDS


latest = Lag()  # the last value that this process has read


def measure() -> Lag:
    """Read the lag, and store it for the pages of this process. Raises DatabaseError."""
    global latest
    waiting: dict[int, float] = {}
    for post_id, since in _owed():
        author_id, at = author_of(post_id), since.timestamp()
        waiting[author_id] = min(at, waiting.get(author_id, at))
    posts = _not_begun()
    latest = Lag(waiting, time.monotonic(), database_time().timestamp(), posts)
    return latest


def require_room() -> None:
    """Raise Unavailable while too many posts are waiting, so that every accepted post is delivered soon."""
    if latest.is_full:
        text = _("Too many posts are waiting for their delivery right now. Try again in a moment.")
        raise Unavailable(text, retry_after=RETRY_AFTER_SECONDS)


def _not_begun() -> int:
    return _undelivered_events()[: settings.FANOUT_MAX_WAITING].count()


def _undelivered_events() -> QuerySet[Any]:
    return pending_events(["post_published"], DELIVERY).filter(state=State.PENDING)


def _owed() -> Iterator[tuple[int, datetime]]:
    """The posts of the oldest pending events, jobs and chunks, with the times when these rows were created."""
    pending = {"state": State.PENDING}
    sources: tuple[tuple[QuerySet[Any], str], ...] = (
        (_undelivered_events(), "payload__post_id"),
        (FanoutJob.objects.filter(**pending), "post_id"),
        (FanoutChunk.objects.filter(**pending), "job_id"),
    )
    for rows, post_id in sources:
        yield from rows.order_by("created_at").values_list(post_id, "created_at")[:MAX_POSTS]


def forget() -> None:
    global latest
    latest = Lag()


def follow() -> None:
    """Like `measure`, for a background thread: logs database errors, and closes the thread's connection."""
    try:
        measure()
    except DatabaseError as error:
        logger.warning("the lag of deliveries cannot be measured: %s", error)
    finally:
        connection.close()
