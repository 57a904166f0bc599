"""Where the time of one home API request goes, by what the code is for: printed, for docs/performance.md.

By cProfile in one process, which makes many small calls look dearer than they are and waiting cheaper; the shares of what
Python does are what to take from it.
"""

import cProfile
import pstats
from collections import defaultdict
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler

from bench.measure import Spread
from bench.report import Line
from bench.site.pages import HOME
from bench.site.world import world

REQUESTS, WARM = 200, 80
UNLIMITED = (10**9, 60)
# The first that a file's path contains says what it is for.
PURPOSES = {
    "psycopg": "PostgreSQL: the token with its account",
    "/prepared.py": "PostgreSQL: the token with its account",
    "django/db/": "PostgreSQL: the token with its account",
    "asgiref": "PostgreSQL: the token with its account",
    "redis/": "Redis: sending and receiving",
    "caches/redis": "Redis: sending and receiving",
    "caches/existence": "what the reader marked: filters",
    "caches/bloom": "what the reader marked: filters",
    "caches/trust": "what the reader marked: filters",
    "engagement/": "what the reader marked: filters",
    "caches/counters": "counts",
    "caches/window": "ids of the page",
    "caches/merge": "ids of the page",
    "timeline/home": "ids of the page",
    "caches/longset": "relations",
    "graph/": "relations",
    "caches/": "Memcached: sending, receiving, tiers",
    "posts/": "contents, authors, gate",
    "accounts/cards": "contents, authors, gate",
    "timeline/hydrate": "items and rules",
    "timeline/items": "items and rules",
    "timeline/pages": "items and rules",
    "apps/ids": "items and rules",
    "serializers": "JSON",
    "jsonapi": "JSON",
    "rest_framework": "Django REST framework",
    "django/": "Django: request, routing, answer",
    "feedsite/": "middleware of the site",
    "csp/": "middleware of the site",
    "corsheaders": "middleware of the site",
    "whitenoise": "middleware of the site",
}
OTHER = "Python's library and the rest"


def run(_directory: Path) -> list[Line]:
    """One line for each purpose, the largest first."""
    here = world()
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, UNLIMITED)
    handler = WSGIHandler()
    asks = [_ask(handler, token) for token in here.busy]
    for number in range(WARM):
        asks[number % len(asks)]()
    profile = cProfile.Profile()
    profile.enable()
    for number in range(REQUESTS):
        asks[number % len(asks)]()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    shares: dict[str, float] = defaultdict(float)
    for place, seconds in _own_time(stats.stats):
        shares[_purpose(place)] += seconds
    total = sum(shares.values())
    calls = stats.total_calls / REQUESTS
    return [
        Line(
            what,
            "% of a home API request",
            Spread.exact(round(seconds / total * 100, 1)),
            note=f"{calls:,.0f} calls a request in all" if not number else "",
        )
        for number, (what, seconds) in enumerate(sorted(shares.items(), key=lambda one: -one[1]))
    ]


def _own_time(stats: dict[Any, Any]) -> Iterator[tuple[str, float]]:
    """Files and seconds; what is written in C counts for who called it."""
    for (place, _line, _name), (_calls, _times, own, _all, callers) in stats.items():
        if place != "~":
            yield place, own
            continue
        for (caller, _caller_line, _caller_name), (_c, _t, part, _a) in callers.items():
            yield caller, part


def _purpose(place: str) -> str:
    return next((purpose for part, purpose in PURPOSES.items() if part in place), OTHER)


def _ask(handler: WSGIHandler, token: str) -> Callable[[], None]:
    def ask() -> None:
        environ = {
            "REQUEST_METHOD": "GET", "PATH_INFO": HOME, "QUERY_STRING": "", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
            "HTTP_HOST": "localhost", "REMOTE_ADDR": "127.0.0.1", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_ACCEPT": "*/*",
            "HTTP_AUTHORIZATION": f"Bearer {token}", "wsgi.input": BytesIO(), "wsgi.url_scheme": "http",
        }  # fmt: skip
        answer: Any = handler(environ, lambda _status, _headers, _error=None: lambda _data: None)
        list(answer)
        answer.close()

    return ask
