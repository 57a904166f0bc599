"""What engagement does when a change is reported."""

from apps.engagement.cache import KINDS
from apps.engagement.rebuild import invalidate
from apps.engagement.reconcile import recount
from apps.events.registry import Payload, handles
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.bloom.existence import mark_many


@handles("mark_missed")
def mark_again(payload: Payload) -> None:
    """Make a mark that failed. A store that answers but takes no marks must not go on saying "no"."""
    marks = KINDS[payload["kind"]]
    try:
        mark_many(marks, [(payload["user_id"], payload["post_id"])])
    except RedisError:
        invalidate(marks)
        raise


@handles("filter_outdated")
def invalidate_filters(payload: Payload) -> None:
    """Rows were written past a filter while its store did not answer."""
    invalidate(KINDS[payload["kind"]])


@handles("poll_ended")
def count_for_good(payload: Payload) -> None:
    """Nothing is voted from now on: what is counted now stays."""
    recount(payload["post_id"])
