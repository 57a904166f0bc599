"""Event handlers for engagement."""

from apps.engagement.marks import FILTERS
from apps.engagement.rebuild import invalidate
from apps.engagement.reconcile import recount_poll
from apps.events.actions import Payload, handles
from feedcache.connections import RedisError
from feedcache.structures.bloom import mark_many


@handles("mark_missed")
def mark_again(payload: Payload) -> None:
    """Set a mark that could not be set before. If it fails again, drop the filter, because its "no" could be wrong."""
    marks = FILTERS[payload["kind"]]
    try:
        mark_many(marks, [(payload["user_id"], payload["post_id"])])
    except RedisError:
        invalidate(marks)
        raise


@handles("filter_outdated")
def invalidate_filters(payload: Payload) -> None:
    """Drop a filter that lacks rows because its store was down when they were inserted."""
    invalidate(FILTERS[payload["kind"]])


@handles("poll_ended")
def count_for_good(payload: Payload) -> None:
    """Count the votes of a closed poll again; this count is final."""
    recount_poll(payload["post_id"])
