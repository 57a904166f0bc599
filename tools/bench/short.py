"""`--short`: every part runs to its end, with numbers so small that the figures are meaningless."""

from collections.abc import Mapping
from importlib import import_module

# The constants of each module. Modules are imported in this order, so one that imports a constant from an earlier one
# gets the small number.
SMALL: Mapping[str, Mapping[str, object]] = {
    "measure": {"ROUNDS": 2, "ROUND_SECONDS": 0.001},
    "caches.flapping": {"KEYS": 200, "FLAPS": 4, "WRITTEN": 20},
    "caches.single_flight": {"CLIENTS": 20},
    "caches.longsets": {"USERS": 1000, "ROUNDS": 2},
    "caches.counters": {"RECORDS": 1000, "SAMPLE": 400},
    "caches.existence": {"RECORDS": 2000, "PROBES": 5000, "SAMPLE": 200},
    "caches.steady": {"READERS": 5, "WARM": 20, "REQUESTS": 101},
    "timeline.people": {"CROWD": 300},
    "timeline.fanout": {"WARM": 1, "ROUNDS": 1},
    "timeline.publish": {"WARM": 1, "ROUNDS": 2},
    "timeline.fairness": {"POSTS": 4, "WARM": 1},
    "timeline.flood": {"AUTHORS": 5, "READERS": 2, "CROWD": 4, "ROUNDS": 1, "PAGES": 5},
    "timeline.page": {"POSTS_EACH": 10, "NOISE_POSTS": 5, "FOLLOWEES": (5, 10)},
    "timeline.rank": {"AUTHORS": 6, "POSTS_EACH": 5, "READERS": 2, "ROUNDS": 2},
    "timeline.units": {
        "FOLLOWERS": 200, "ROUNDS": 1, "WARM": 1, "AUTHORS": 10, "POSTS_EACH": 5, "PULLED": (1, 3, 6), "PAGES": 2,
    },
    "timeline.rebuild": {"AUTHORS": 60, "FEWER": 40, "POSTS_EACH": 60, "ROUNDS": 2, "COLD_ROUNDS": 1},
    "policies.table": {
        "AUTHORS": 4, "POSTS_EACH": 3, "READERS": 10, "FOLLOWEES": 3, "PUBLICATIONS": 2, "READS_A_WRITE": 10,
        "AUTO_PULL_FOLLOWERS": 5,
    },
    "policies.readers": {"FOLLOWEES": (5, 10), "POSTS_EACH": 4, "ROUNDS": 1, "COLD_ROUNDS": 1},
    "site.graph": {"PEOPLE": 2000, "FOLLOWED": 400, "MOST_FOLLOWERS": 200},
    "site.visitor": {"ROUNDS": 2},
    "site.world": {
        "READERS": 3, "FOLLOWEES": 20, "POSTS_EACH": 8, "BUSY": 60, "QUIET": 60, "CROWD": 40, "CROWD_POSTS": 2000,
        "ANSWERS": 3,
    },
    "site.growth": {
        "FOLLOWEES": (5, 10), "DEPTHS": (1, 20, 40), "DEEP_PAGES": 3, "NAIVE_PAGES": 1, "FEW": 5, "WARM": 1,
    },
    "site.posts": {"POSTS": (1000, 2000)},
    "site.pages": {"ROUNDS": 1, "WARM_SECONDS": 0, "SLOW_SECONDS": 1},
    "site.systems": {"LOAD_SECONDS": 1.0},
    "site.mix": {
        "RATE": 20, "WARM_SECONDS": 1, "TURNS": 1, "TURN_SECONDS": 3, "CONSTANT_SECONDS": 1, "HALF_SECONDS": 2,
        "READS_A_WRITE": 10, "WRITERS": 5, "READ_RATE": 10, "READ_SECONDS": 1, "PUBLISH_SECONDS": 1, "IDLE_SECONDS": 1,
    },
    "site.publish": {"FOLLOWERS": (10, 50), "ROUNDS": 2, "WARM": 1},
    "site.overload": {"RATE": 20, "SECONDS": 2, "WRITERS": 5},
    "soak.hour": {"PEOPLE": 500, "FOLLOWED": 100, "MOST_FOLLOWERS": 50, "CROWD": 40, "POSTS_EACH": 5},
    "peers.takahe": {"ROUNDS": 1, "WARM_SECONDS": 1, "PEER_SECONDS": 1},
    "site.profile": {"REQUESTS": 5, "WARM": 3, "AUTHORS": 5},
    "site.flame": {"SECONDS": 1},
    "streams.listening": {
        "LISTENERS": 40, "PROCESSES": 2, "REST_SECONDS": 1, "POSTS": 2, "QUIET_POSTS": 3, "SETTLE_SECONDS": 1,
        "HEAR_SECONDS": 30,
    },
}  # fmt: skip
SHARED = {
    "site": ("timeline", "peers"),
    "streams": ("timeline",),
}  # suites whose parts another suite includes


def use_small_numbers(suite: str) -> None:
    """Replace the constants of a suite, and the shared ones, by small numbers. Django must be set up."""
    for name, numbers in SMALL.items():
        if name.split(".")[0] in {"measure", suite, *SHARED.get(suite, ())}:
            module = import_module(f"tools.bench.{name}")
            for constant, value in numbers.items():
                if not hasattr(module, constant):
                    raise AttributeError(f"{module.__name__} has no {constant} to make small")
                setattr(module, constant, value)
