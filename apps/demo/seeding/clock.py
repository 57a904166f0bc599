"""When people publish: mostly lately, and in the hours in which they are awake."""

from collections.abc import Sequence
from random import Random

from apps.demo.seeding.world import DAY, SPAN_SECONDS

HOUR = 3600
# the hours of the day, in the writer's own time, at which a post with that mark is published
HOURS = {
    "dawn": (5, 6),
    "morning": (7, 9),
    "noon": (11, 13),
    "afternoon": (14, 17),
    "evening": (18, 20),
    "night": (21, 23),
}
RECENCY = 1.5  # above 1: more of the last days than of the first
NEWEST_SECONDS = 6 * 60  # generated posts end here; the newest ones are written by hand
# how busy each hour of a writer's day is, from midnight
RHYTHM = (3, 1.5, 1, 0.6, 0.6, 1.2, 3, 6, 8, 8, 7, 7, 9, 8, 6, 6, 6.5, 7, 8.5, 10, 11.5, 12, 10, 6)
OFFSET = {"zh": 8 * HOUR, "en": 0}  # the clocks that most writers of a language live by


def moment(
    rng: Random, language: str, now: float, *, hour: str = "", youngest: float = NEWEST_SECONDS
) -> float:
    """A second of the last 30 days, nearer days being likelier, at an hour that fits."""
    offset = OFFSET.get(language, 0)
    midnight: float = (
        (now + offset) // DAY * DAY - offset - round(29 * rng.random() ** RECENCY) * DAY
    )
    chosen = rng.randint(*HOURS[hour]) if hour else _hour(rng)
    second = midnight + chosen * HOUR + rng.randrange(HOUR)
    while second > now - youngest:
        second -= DAY
    return max(second, now - SPAN_SECONDS + rng.randrange(HOUR))


def _hour(rng: Random, rhythm: Sequence[float] = RHYTHM) -> int:
    return rng.choices(range(24), rhythm)[0]


def later(rng: Random, after: float, now: float, *, minimum: float, maximum: float) -> float:
    """A second between `least` and `most` after another, quick answers being likelier, and not in the future."""
    gap = minimum + (maximum - minimum) * rng.random() ** 2
    latest = now - NEWEST_SECONDS
    return (
        after + gap
        if after + gap < latest
        else after + max(minimum, (latest - after) * rng.random())
    )
