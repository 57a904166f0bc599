"""What looked wrong once, in Redis until it is looked at again; losing it loses nothing but a finding."""

import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings

from apps.audit.reads import Sample
from feedcache.connections import RedisError, timelines

KEY = "audit:again"
MOST = 500
LOOKS = 3  # so often it has to look wrong, a grace apart


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A page (`sample`), or a reader's window, and the posts that were wrong at every look so far."""

    viewer: int
    posts: list[int]
    looks: int = 1
    due: float = field(default_factory=lambda: time.time() + settings.AUDIT_GRACE_SECONDS)
    sample: dict[str, Any] | None = None


def of_sample(sample: Sample, posts: list[int]) -> Suspicion:
    """A page that may be wrong."""
    return Suspicion(sample.viewer, posts, sample=asdict(sample))


def keep(suspicion: Suspicion) -> None:
    """Look at this again, after a grace."""
    try:
        timelines().rpush(KEY, json.dumps(asdict(suspicion)))
        timelines().ltrim(KEY, -MOST, -1)
    except RedisError:
        return


def take_due(most: int) -> list[Suspicion]:
    """Up to `most` that are due; nobody else will get them."""
    try:
        taken: Any = timelines().lpop(KEY, most) or ()
    except RedisError:
        return []
    found = [Suspicion(**json.loads(text)) for text in taken]
    for early in (one for one in found if one.due > time.time()):
        timelines().rpush(KEY, json.dumps(asdict(early)))
    return [one for one in found if one.due <= time.time()]
