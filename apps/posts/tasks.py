"""Celery's entry points to posts."""

from celery import shared_task
from django.conf import settings

from apps.posts import uploads
from apps.posts.actions import idempotency, polls
from apps.posts.cache.entries import POST_COUNTS
from feedcache.structures.counters import maintenance

TURN_SECONDS = 20.0
SWEEP_LIMIT = 20
PURGE_LIMIT = 200


@shared_task
def maintain_counts() -> None:
    """Rebuild the counters of posts as far as a turn goes, if they need it."""
    maintenance.maintain(POST_COUNTS, seconds=TURN_SECONDS)


@shared_task
def write_back_reads() -> None:
    """Write the reads that were counted in Redis to PostgreSQL."""
    maintenance.write_back(POST_COUNTS)


@shared_task
def evict_counts() -> None:
    """Drop the counters of old posts from Redis."""
    maintenance.evict(POST_COUNTS, max_bytes=settings.COUNTERS_MEMORY_LIMIT_BYTES)


@shared_task
def end_polls() -> None:
    """Tell of the polls whose time is over."""
    while polls.end_polls(limit=SWEEP_LIMIT) == SWEEP_LIMIT:
        pass


@shared_task
def purge_pictures() -> None:
    """Delete pictures that were uploaded for no post."""
    while uploads.purge_pictures(limit=PURGE_LIMIT) == PURGE_LIMIT:
        pass


@shared_task
def purge_keys() -> None:
    """Forget idempotency keys that nobody repeats any more."""
    while idempotency.purge_keys(limit=PURGE_LIMIT) == PURGE_LIMIT:
        pass
