"""Suspected differences, in Redis until the next look; losing them loses nothing but a finding."""

import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings

from apps.audit.comparison import Sample
from feedcache.redis_servers.connections import RedisError, timelines

KEY = "audit:again"
MAX_SUSPECTS = 500
LOOKS = 3  # that must confirm a difference, a grace period apart


@dataclass(frozen=True, slots=True)
class Suspect:
    """A page (`sample`) or the windows of a reader, and the posts that differed at every look so far."""

    viewer: int
    posts: list[int]
    looks: int = 1
    due: float = field(default_factory=lambda: time.time() + settings.AUDIT_GRACE_SECONDS)
    sample: dict[str, Any] | None = None


def of_sample(sample: Sample, posts: list[int]) -> Suspect:
    return Suspect(sample.viewer, posts, sample=asdict(sample))


def add(suspect: Suspect) -> None:
    """Queue for another look; lost when Redis does not answer."""
    try:
        timelines().rpush(KEY, json.dumps(asdict(suspect)))
        timelines().ltrim(KEY, -MAX_SUSPECTS, -1)
    except RedisError:
        return


def pop_due(maximum: int) -> list[Suspect]:
    """Remove and return up to `maximum` suspects that are due."""
    try:
        texts: Any = timelines().lpop(KEY, maximum) or ()
    except RedisError:
        return []
    now = time.time()
    due = []
    for text in texts:
        suspect = Suspect(**json.loads(text))
        if suspect.due <= now:
            due.append(suspect)
        else:
            timelines().rpush(KEY, text)
    return due
