"""What one follower, one page and one rebuild cost, as `./run bench timeline --only units` measured them.

The least of 15 rounds and more, on one core of a machine with two that had other work too: times on the clock are
rather too long. Another machine is faster or slower by about the same factor for all of them; measure there, and write
the figures here.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """Microseconds: processor time of Redis, processor time of the worker or web process, and time on its clock."""

    redis: float
    process: float
    clock: float


POST_CLOCK = 13_400.0  # from the event to the receipt of a delivery to ten followers (docs/bench/timeline.md)
AWAY = Unit(redis=0.02, process=0.8, clock=1.5)  # a follower without a home cache, by a bit
ONLINE = Unit(redis=14.7, process=4.7, clock=30.4)  # more than that, for a follower with one
ROW = Unit(redis=0.0, process=1.4, clock=11.8)  # a row of the second level, under push to everybody

# Of the process that makes the page. The first is for what every page does once anybody is pulled.
PULL_MICROSECONDS = 20.5  # a pulled author whom the reader follows
FIRST_PULL_MICROSECONDS = 1_400.0

REBUILD = Unit(redis=320.0, process=2_030.0, clock=4_790.0)  # home cache and inbox of a reader
FOLLOWEE = Unit(redis=0.5, process=10.8, clock=13.6)  # a followee more in a rebuild

ENTRY_BYTES = 10.4  # of a home cache in Redis, in one of 800 (docs/bench/timeline.md)
ROW_BYTES = 80  # of the second level in PostgreSQL: 48, 4 for its place in the page, 28 in the index of its key
