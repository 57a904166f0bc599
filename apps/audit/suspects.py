"""What looked wrong once, in Redis until it is looked at again; losing it loses nothing but a finding."""

import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings

from apps.audit.comparison import Sample
from feedcache.redis_servers.connections import RedisError, timelines

KEY = "audit:again"
MAX_SUSPECTS = 500
LOOKS = 3  # so often it has to look wrong, a grace apart


@dataclass(frozen=True, slots=True)
class Suspect:
    """A page (`sample`), or a reader's window, and the posts that were wrong at every look so far."""

    viewer: int
    posts: list[int]
    looks: int = 1
    due: float = field(default_factory=lambda: time.time() + settings.AUDIT_GRACE_SECONDS)
    sample: dict[str, Any] | None = None


def of_sample(sample: Sample, posts: list[int]) -> Suspect:
    return Suspect(sample.viewer, posts, sample=asdict(sample))


def keep(suspicion: Suspect) -> None:
    """Look at this again, after a grace."""
    try:
        timelines().rpush(KEY, json.dumps(asdict(suspicion)))
        timelines().ltrim(KEY, -MAX_SUSPECTS, -1)
    except RedisError:
        return


def pop_due(maximum: int) -> list[Suspect]:
    """Up to `most` that are due; nobody else will get them."""
    try:
        taken: Any = timelines().lpop(KEY, maximum) or ()
    except RedisError:
        return []
    found = [Suspect(**json.loads(text)) for text in taken]
    for early in (one for one in found if one.due > time.time()):
        timelines().rpush(KEY, json.dumps(asdict(early)))
    return [one for one in found if one.due <= time.time()]
