"""The time of one home API request and of one publication, by the purpose of the code: for docs/performance.md.

It uses cProfile in one process, which overstates small calls and understates waiting, so use only the shares of Python
code.
"""

import cProfile
import pstats
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from tools.bench import bars
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
# The first entry that a file's path contains gives its purpose. A folder of the site ends with /.
_POSTGRES, _REDIS = "PostgreSQL: statements and rows", "Redis: sending and receiving"
_MEMCACHED, _DJANGO = "Memcached: sending, receiving, tiers", "Django: request, routing, response"
_DRF, _MIDDLEWARE = "Django REST framework", "the site's middleware and server"
_IDS, _BATCH = "ids of the page", "read-through: batches and decoding"
_RELATIONS, _CONTENTS = "relations and the viewer's context", "contents, authors, visibility"
_MARKS, _FILTERS = (
    "the reader's likes, bookmarks and reads: existence filters",
    "word filters and promotions",
)
_WHO, _JSON = "authentication: token and account", "JSON: API entities"
PURPOSES = {
    "site-packages/psycopg": _POSTGRES,
    "site-packages/django/db/": _POSTGRES,
    "apps/sql.py": _POSTGRES,
    "apps/replicas.py": _POSTGRES,
    "site-packages/redis/": _REDIS,
    "feedcache/redis_clients.py": _REDIS,
    "feedcache/connections.py": _REDIS,
    "feedcache/breaker.py": _REDIS,
    "feedcache/structures/rate_limit.py": "rate limits",
    "apps/throttling.py": "rate limits",
    "feedcache/memcached_node.py": _MEMCACHED,
    "feedcache/memcached_tiers.py": _MEMCACHED,
    "feedcache/topology.py": _MEMCACHED,
    "feedcache/servers/": _MEMCACHED,
    "feedcache/read_through/": _BATCH,
    "feedcache/single_flight.py": _BATCH,
    "feedcache/local_cache.py": _BATCH,
    "feedcache/stats.py": "counting of hits and calls",
    "feedcache/structures/bloom.py": _MARKS,
    "feedcache/structures/week_bucket.py": _MARKS,
    "feedcache/structures/restore.py": _MARKS,
    "feedcache/structures/newest_ids.py": _MARKS,
    "apps/engagement/": _MARKS,
    "feedcache/structures/counters/": "counts",
    "apps/accounts/counts_store.py": "counts",
    "feedcache/structures/home_window.py": _IDS,
    "feedcache/structures/id_vector.py": _IDS,
    "feedcache/structures/list_prefix.py": _IDS,
    "feedcache/ids.py": _IDS,
    "apps/timeline/sources/": _IDS,
    "apps/timeline/home.py": _IDS,
    "apps/pagination.py": _IDS,
    "feedcache/structures/longset.py": _RELATIONS,
    "apps/graph/": _RELATIONS,
    "apps/timeline/policy.py": _RELATIONS,
    "apps/timeline/pipeline/word_filters.py": _FILTERS,
    "apps/filters/": _FILTERS,
    "apps/promotions/": _FILTERS,
    "apps/timeline/pipeline/": _CONTENTS,
    "apps/posts/": _CONTENTS,
    "apps/timeline/": _CONTENTS,
    "google/protobuf": _CONTENTS,
    "apps/oauth/": _WHO,
    "apps/api/authentication.py": _WHO,
    "apps/accounts/": _WHO,
    "oauth2_provider": _WHO,
    "apps/api/entities/": _JSON,
    "apps/api/renderers.py": _JSON,
    "apps/api/": "endpoint: parameters, throttling, errors",
    "apps/http/": "endpoint: parameters, throttling, errors",
    "site-packages/rest_framework": _DRF,
    "asgiref": _DJANGO,
    "site-packages/django/": _DJANGO,
    "feedsite/": _MIDDLEWARE,
    "site-packages/csp/": _MIDDLEWARE,
    "site-packages/corsheaders": _MIDDLEWARE,
    "site-packages/whitenoise": _MIDDLEWARE,
}
OTHER = "Python's standard library and the rest"
_WRITE, _MESSAGE = (
    "rules and content of the post, and its cached copies",
    "Celery: the message to workers",
)
PURPOSES_OF_A_PUBLICATION = {
    "site-packages/celery/": _MESSAGE,
    "site-packages/kombu/": _MESSAGE,
    "apps/events/": _MESSAGE,
    **PURPOSES,
    "apps/posts/": _WRITE,
    "apps/timeline/": _WRITE,
}
BENCH = "tools/bench/"  # the benchmark's own code, which does not count


def run(directory: Path) -> list[Line]:
    """The store requests of pages and of a publication; then one line per purpose, the largest first."""
    here = world()
    handler = handler_without_limits()
    doing("what pages ask for")
    asked = [_asked(handler, *page) for page in _pages(here)]
    commands = asked[0].figures["Redis commands"]
    home, publications = asks_for_home(handler, here), asks_to_publish(handler, here)
    doing("what a publication asks for")
    trips_of_a_publication = _publication_trips(publications, directory)
    doing("one home request")
    home_lines = _shares("home API request", PURPOSES, home)
    doing("one publication")
    publication_lines = _shares("publish request", PURPOSES_OF_A_PUBLICATION, publications)
    return [
        bars.COMMANDS.line(
            "commands",
            Spread.exact(commands),
            commands,
            note="as sent by the client: a script call counts as one",
        ),
        *trips_of_a_publication,
        *asked,
        *home_lines,
        *publication_lines,
    ]


def handler_without_limits() -> WSGIHandler:
    """The site in this process, without rate limits."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, UNLIMITED)
    return WSGIHandler()


def asks_for_home(handler: WSGIHandler, here: World) -> list[Callable[[], None]]:
    """Requests of each reader's home page."""
    return [_ask(handler, HOME, bearer(token)) for token in here.busy.tokens]


def asks_to_publish(handler: WSGIHandler, here: World) -> list[Callable[[], None]]:
    """Publications, one by each of some authors."""
    authors = User.objects.filter(pk__in=here.people.busy[:AUTHORS])
    tokens = [issue_token(author, name="bench") for author in authors]
    return [_ask(handler, STATUSES, bearer(token), STATUS) for token in tokens]


def warm(asks: Sequence[Callable[[], None]]) -> None:
    for number in range(WARM):
        asks[number % len(asks)]()


def _publication_trips(asks: Sequence[Callable[[], None]], directory: Path) -> list[Line]:
    """Round trips of a publication, as a mean over the authors."""
    warm(asks)
    with trips.postgres_counted(directory / "postgres-trace.txt") as postgres:
        for ask in asks:
            ask()
    with trips.counted() as found:
        for ask in asks:
            ask()
    counts = (postgres + found.by_server).items()
    mean = {server: round(count / len(asks), 2) for server, count in counts}
    begin = (
        f"including BEGIN and COMMIT; connection checks by the pool: {mean.get(trips.CHECKS, 0):g}"
    )
    message = f"plus {mean.get(trips.BROKER, 0):g} to the broker"
    return [
        bar.line("trips", Spread.exact(mean.get(server, 0)), mean.get(server, 0), note=note)
        for bar, server, note in (
            (bars.POSTGRES_TRIPS, trips.POSTGRES, begin),
            (bars.REDIS_TRIPS, trips.REDIS, message),
            (bars.MEMCACHED_TRIPS, trips.MEMCACHED, ""),
        )
    ]


def _pages(here: World) -> list[tuple[str, str, Header]]:
    token, cookie = bearer(here.busy.tokens[0]), ("Cookie", here.cookies[0])
    return [
        ("home API", HOME, token),
        ("home HTML", "/", cookie),
        ("profile HTML", here.author.url, cookie),
        ("thread HTML", f"{here.author.url}/{here.post.pk}", cookie),
    ]


def _asked(handler: WSGIHandler, name: str, path: str, header: Header) -> Line:
    """The requests of a warm page to PostgreSQL and the caches."""
    ask = _ask(handler, path, header)
    for _warm in range(WARM_PAGES):
        ask()
    with CaptureQueriesContext(connection) as queries, trips.counted() as found:
        ask()
    return Line(
        f"{name}: round trips to the caches",
        "",
        Spread.exact(found.trips),
        note=f"SQL statements: {len(queries)}",
        figures={
            "SQL statements": len(queries),
            "round trips": found.trips,
            "requests to caches": found.sent,
            "Redis commands": found.commands.total(),
        },
    )


def _shares(
    request: str, purposes: dict[str, str], asks: Sequence[Callable[[], None]]
) -> list[Line]:
    warm(asks)
    profile = cProfile.Profile()
    profile.enable()
    for number in range(REQUESTS):
        asks[number % len(asks)]()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    shares: dict[str, float] = defaultdict(float)
    for place, seconds in _own_time(stats.stats):
        if BENCH not in place:
            shares[_purpose(purposes, place)] += seconds
    total = sum(shares.values())
    calls = stats.total_calls / REQUESTS
    return [
        Line(
            what,
            f"% of a {request}",
            Spread.exact(round(seconds / total * 100, 1)),
            note=f"{calls:,.0f} function calls per request" if not number else "",
        )
        for number, (what, seconds) in enumerate(sorted(shares.items(), key=lambda one: -one[1]))
    ]


def _own_time(stats: dict[Any, Any]) -> Iterator[tuple[str, float]]:
    """Files and seconds; code written in C is counted for its caller."""
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
            raise RuntimeError(f"{path} returns {answer.status_code}")

    return ask
