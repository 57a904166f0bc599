"""Where the time of one home API request and of one publication goes, by what the code is for: for docs/performance.md.

By cProfile in one process, which makes many small calls look dearer than they are and waiting cheaper; the shares of
what Python does are what to take from it.
"""

import cProfile
import pstats
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.actions import issue_token
from apps.accounts.models import User
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site import trips
from tools.bench.site.mix import STATUS, STATUSES
from tools.bench.site.systems import HOME
from tools.bench.site.visitor import Header, bearer
from tools.bench.site.world import World, world

REQUESTS, WARM, WARM_PAGES, AUTHORS = 200, 80, 3, 20
UNLIMITED = (10**9, 60)
# The first that a file's path contains says what it is for.
PURPOSES = {
    "psycopg": "PostgreSQL: the token with its account",
    "/prepared.py": "PostgreSQL: the token with its account",
    "django/db/": "PostgreSQL: the token with its account",
    "asgiref": "PostgreSQL: the token with its account",
    "redis/": "Redis: sending and receiving",
    "caches/redis": "Redis: sending and receiving",
    "caches/structures/existence": "what the reader marked: filters",
    "caches/structures/bloom": "what the reader marked: filters",
    "caches/structures/trust": "what the reader marked: filters",
    "engagement/": "what the reader marked: filters",
    "caches/structures/counters": "counts",
    "caches/structures/window": "ids of the page",
    "caches/structures/merge": "ids of the page",
    "timeline/home": "ids of the page",
    "caches/structures/longset": "relations",
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
_WRITTEN, _BELL = "PostgreSQL: who asks, the lock, the rows", "Celery: the doorbell for workers"
PURPOSES_OF_A_PUBLICATION = {
    **PURPOSES,
    **dict.fromkeys(
        ("psycopg", "/prepared.py", "django/db/", "asgiref", "/statements.py"), _WRITTEN
    ),
    **dict.fromkeys(("celery/", "kombu/"), _BELL),
    "posts/": "rules, content, what is kept of it",
    "events/": _BELL,
}


def run(_directory: Path) -> list[Line]:
    """What pages ask for; then one line for each purpose, the largest first; then the same of a publication."""
    here = world()
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, UNLIMITED)
    handler = WSGIHandler()
    doing("what pages ask for")
    asked = [_asked(handler, *page) for page in _pages(here)]
    doing("one home request")
    home = _shares(
        "home API request",
        PURPOSES,
        [_ask(handler, HOME, bearer(token)) for token in here.busy.tokens],
    )
    doing("one publication")
    authors = User.objects.filter(pk__in=here.people.busy[:AUTHORS])
    tokens = [issue_token(author, name="bench") for author in authors]
    publications = [_ask(handler, STATUSES, bearer(token), STATUS) for token in tokens]
    return [*asked, *home, *_shares("publication", PURPOSES_OF_A_PUBLICATION, publications)]


def _pages(here: World) -> list[tuple[str, str, Header]]:
    token, cookie = bearer(here.busy.tokens[0]), ("Cookie", f"sessionid={here.cookies[0]}")
    return [
        ("home API", HOME, token),
        ("home HTML", "/", cookie),
        ("profile HTML", here.author.url, cookie),
        ("thread HTML", f"{here.author.url}/{here.post.pk}", cookie),
    ]


def _asked(handler: WSGIHandler, name: str, path: str, header: Header) -> Line:
    """What a warm page asks of PostgreSQL and of the caches."""
    ask = _ask(handler, path, header)
    for _warm in range(WARM_PAGES):
        ask()
    with CaptureQueriesContext(connection) as queries, trips.counted() as found:
        ask()
    return Line(
        f"{name}: round trips to the caches",
        "",
        Spread.exact(found.trips),
        note=f"{len(queries)} SQL statements",
        figures={
            "SQL statements": len(queries),
            "round trips": found.trips,
            "requests to caches": found.sent,
        },
    )


def _shares(request: str, purposes: dict[str, str], asks: list[Callable[[], None]]) -> list[Line]:
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
        shares[_purpose(purposes, place)] += seconds
    total = sum(shares.values())
    calls = stats.total_calls / REQUESTS
    return [
        Line(
            what,
            f"% of a {request}",
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


def _purpose(purposes: dict[str, str], place: str) -> str:
    return next((purpose for part, purpose in purposes.items() if part in place), OTHER)


def _ask(
    handler: WSGIHandler, path: str, header: Header, body: Mapping[str, str] | None = None
) -> Callable[[], None]:
    name, sent = f"HTTP_{header[0].upper()}", b"" if body is None else orjson.dumps(body)

    def ask() -> None:
        environ = {
            "REQUEST_METHOD": "POST" if sent else "GET", "PATH_INFO": path, "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(sent)), "QUERY_STRING": "", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
            "HTTP_HOST": "localhost", "REMOTE_ADDR": "127.0.0.1", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_ACCEPT": "*/*",
            name: header[1], "wsgi.input": BytesIO(sent), "wsgi.url_scheme": "http",
        }  # fmt: skip
        answer: Any = handler(environ, lambda _status, _headers, _error=None: lambda _data: None)
        list(answer)
        answer.close()
        if answer.status_code != HTTPStatus.OK:
            raise RuntimeError(f"{path} answers {answer.status_code}")

    return ask
