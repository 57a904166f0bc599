"""Celery tasks of posts."""

from celery import shared_task
from django.conf import settings

from apps.posts.actions import idempotency, polls, transcoding, uploads
from apps.posts.cache import POST_COUNTS
from feedcache.structures.counters import maintenance

REBUILD_SECONDS = 20.0
SWEEP_LIMIT = 20
PURGE_LIMIT = 200
# the time limit of ffmpeg, plus time for probing, the poster and copies
TRANSCODE_SECONDS = settings.VIDEO_TRANSCODE_SECONDS + 120


@shared_task
def maintain_counts() -> None:
    """Rebuild the counters of posts if necessary, for up to 20 seconds per part of the store."""
    maintenance.maintain(POST_COUNTS, seconds=REBUILD_SECONDS)


@shared_task
def write_back_reads() -> None:
    """Write the reads that Redis counted to PostgreSQL."""
    maintenance.write_back(POST_COUNTS)


@shared_task
def evict_counts() -> None:
    """Evict the counters of old posts from Redis."""
    maintenance.evict(POST_COUNTS, max_bytes=settings.COUNTERS_MEMORY_LIMIT_BYTES)


@shared_task
def end_polls() -> None:
    while polls.end_polls(limit=SWEEP_LIMIT) == SWEEP_LIMIT:
        pass


@shared_task
def purge_unused_uploads() -> None:
    """Delete uploads that have been unused for a day."""
    while uploads.purge_unused_uploads(limit=PURGE_LIMIT) == PURGE_LIMIT:
        pass


@shared_task(soft_time_limit=TRANSCODE_SECONDS, time_limit=TRANSCODE_SECONDS + 5)
def transcode(transcode_id: int) -> None:
    """Transcode an upload, unless another worker is doing so or too many are under way. Its lease is renewed."""
    transcoding.run_due(limit=1, only=[transcode_id])


@shared_task
def sweep_transcodes() -> None:
    """Enqueue uploads that are due (a sweep has no time to transcode), and mark those whose last attempt failed."""
    transcoding.sweep()


@shared_task
def purge_keys() -> None:
    """Delete old idempotency keys."""
    idempotency.purge_keys()
