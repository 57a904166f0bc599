"""When users post: more in recent days, and in the hours they are awake."""

from collections.abc import Sequence
from random import Random

from apps.demo.seeding.world import DAY, SPAN_SECONDS

HOUR = 3600
# parts of the day a post may name, as hours of the author's local time
HOURS = {
    "dawn": (5, 6),
    "morning": (7, 9),
    "noon": (11, 13),
    "afternoon": (14, 17),
    "evening": (18, 20),
    "night": (21, 23),
}
RECENCY = 1.5  # above 1: more of the last days than of the first
NEWEST_SECONDS = 6 * 60  # before now: generated posts are older than the newest cast posts
# relative activity by hour of the author's day
RHYTHM = (3, 1.5, 1, 0.6, 0.6, 1.2, 3, 6, 8, 8, 7, 7, 9, 8, 6, 6, 6.5, 7, 8.5, 10, 11.5, 12, 10, 6)
OFFSET = {"zh": 8 * HOUR, "en": 0}  # UTC offsets of the languages' authors


def moment(
    rng: Random, language: str, now: float, *, hour: str = "", youngest: float = NEWEST_SECONDS
) -> float:
    """A Unix time within the last 30 days, recent days being likelier."""
    offset = OFFSET.get(language, 0)
    midnight: float = (
        (now + offset) // DAY * DAY - offset - round(29 * rng.random() ** RECENCY) * DAY
    )
    hour_of_day = rng.randint(*HOURS[hour]) if hour else _hour(rng)
    second = midnight + hour_of_day * HOUR + rng.randrange(HOUR)
    while second > now - youngest:
        second -= DAY
    return max(second, now - SPAN_SECONDS + rng.randrange(HOUR))


def _hour(rng: Random, rhythm: Sequence[float] = RHYTHM) -> int:
    return rng.choices(range(24), rhythm)[0]


def later(rng: Random, after: float, now: float, *, minimum: float, maximum: float) -> float:
    """A Unix time between `minimum` and `maximum` seconds after
    another, soon being likelier, never in the future.
    """
    gap = minimum + (maximum - minimum) * rng.random() ** 2
    latest = now - NEWEST_SECONDS
    return (
        after + gap
        if after + gap < latest
        else after + max(minimum, (latest - after) * rng.random())
    )
