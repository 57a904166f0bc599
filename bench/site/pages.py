"""Pages over HTTP, every system in turn on the same data, the same server and one process, round after round.

The load generator has the machine's other core. Requests a second are those of an otherwise idle machine; the processor time
of a page, of the web process and of the stores, hardly depends on the neighbours, and bars about cost are held against that.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from django.conf import settings
from django.db import connection

from apps.accounts.serializers import account_json
from apps.caches.servers import memcached_at, timelines
from apps.paging import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.serializers import status_json
from bench.measure import Spread
from bench.report import Line
from bench.servers import store_pids
from bench.site import load
from bench.site.clock import seconds_of
from bench.site.load import Ask, Load
from bench.site.rivals import bare
from bench.site.web import ROOT, Web, fetch, web
from bench.site.world import World, world

ROUNDS, SECONDS, WARM_SECONDS = 3, 4, 3
SHARE_OF_CONSTANT, BUSY_TIMES, QUIET_TIMES, SHARE_OF_API = 0.15, 3, 150, 0.5
COST_MOST = 7.1
HOME = "/api/v1/timelines/home"
UNLIMITED = 10**9
RIVALS = "bench.site.rivals"
DJANGO = f"{RIVALS}.wsgi:application"

OURS_API, OURS_HTML, PROFILE, THREAD = "home API", "home HTML", "profile HTML", "thread HTML"
NAIVE_BUSY, NAIVE_QUIET = "naive DRF pull, busy followees", "naive DRF pull, quiet followees"
QUIET_API = "home API, quiet followees"
CONSTANT, BARE = "constant page, bare Django", "bare two-trip reader"


@dataclass
class System:
    """One thing that is asked, and what was measured of it in each round."""

    name: str
    server: Web
    asks: Sequence[Ask]
    loads: list[Load] = field(default_factory=list)
    web_ms: list[float] = field(default_factory=list)  # processor time an answer
    store_ms: list[float] = field(default_factory=list)

    def measure(self, directory: Path, *, seconds: float = SECONDS) -> None:
        """One round."""
        stores = store_pids()
        before = seconds_of([self.server.child.pid]), seconds_of(stores)
        self.loads.append(load.put_load(self.server.port, self.asks, directory, seconds=seconds))
        after = seconds_of([self.server.child.pid]), seconds_of(stores)
        answers = max(self.loads[-1].requests, 1)
        self.web_ms.append((after[0] - before[0]) * 1000 / answers)
        self.store_ms.append((after[1] - before[1]) * 1000 / answers)

    @property
    def cost(self) -> Spread:
        """Milliseconds of processor time a page, web and stores together."""
        return Spread.of([sum(both) for both in zip(self.web_ms, self.store_ms, strict=True)])

    @property
    def per_core(self) -> Spread:
        """Pages for a second of processor time."""
        return Spread(1000 / self.cost.median, 1000 / self.cost.high, 1000 / self.cost.low)

    @property
    def rate(self) -> Spread:
        """Pages a second."""
        return Spread.of([one.per_second for one in self.loads])

    @property
    def note(self) -> str:
        """Latency, size, and where the processor time goes."""
        best = sorted(self.loads, key=lambda one: one.p50)[len(self.loads) // 2]
        errors = sum(one.errors for one in self.loads)
        return (
            f"p50 {best.p50:.1f}, p95 {best.p95:.1f}, p99 {best.p99:.1f} ms at {load.CONNECTIONS} connections;"
            f" CPU {Spread.of(self.web_ms).median:.2f} + {Spread.of(self.store_ms).median:.2f} ms (web + stores);"
            f" {best.size:,} bytes" + (f"; {errors} ERRORS" if errors else "")
        )


def run(directory: Path) -> list[Line]:
    """Every system, and the bars."""
    load.program()
    here = world()
    with ExitStack() as stack:
        systems = _systems(here, directory, stack)
        for system in systems.values():
            system.measure(directory, seconds=WARM_SECONDS)
            system.loads, system.web_ms, system.store_ms = [], [], []
        for _round in range(ROUNDS):
            for system in systems.values():
                system.measure(directory)
    return _lines(systems)


def _systems(here: World, directory: Path, stack: ExitStack) -> dict[str, System]:
    limits = {f"LIMIT_{name}": str(UNLIMITED) for name in ("API", "API_ADDRESS")}
    ours = stack.enter_context(web("ours", "feedsite.wsgi:application", directory, **limits))
    bearers = [Ask(HOME, ("Authorization", f"Bearer {token}")) for token in here.busy]
    quiet = [Ask(HOME, ("Authorization", f"Bearer {token}")) for token in here.quiet]
    cookies = [("Cookie", f"sessionid={cookie}") for cookie in here.cookies]
    for ask in (*bearers, *quiet):
        fetch(ours.port, ask.path, ask.header)
    page = directory / "page.json"
    page.write_bytes(fetch(ours.port, bearers[0].path, bearers[0].header))
    busy_tokens, quiet_tokens = _naive_tokens(here)
    naive = stack.enter_context(
        web("naive", DJANGO, directory, DJANGO_SETTINGS_MODULE=f"{RIVALS}.naive_settings")
    )
    bare_django = {"DJANGO_SETTINGS_MODULE": f"{RIVALS}.constant_settings", "BENCH_PAGE": str(page)}
    constant = stack.enter_context(web("constant", DJANGO, directory, **bare_django))
    _fill_bare(here)
    stores = {
        "BENCH_REDIS": _socket(settings.REDIS_URL),
        "BENCH_MEMCACHED": _socket(settings.MEMCACHED_URLS[0]),
    }
    floor = stack.enter_context(web("bare", f"{RIVALS}.bare:application", directory, **stores))
    author = here.author
    found = [
        System(CONSTANT, constant, [Ask("/page")]),
        System(BARE, floor, bearers),
        System(OURS_API, ours, bearers),
        System(QUIET_API, ours, quiet),
        System(OURS_HTML, ours, [Ask("/", one) for one in cookies]),
        System(PROFILE, ours, [Ask(author.url, one) for one in cookies]),
        System(THREAD, ours, [Ask(f"{author.url}/{here.post.pk}", one) for one in cookies]),
        System(
            NAIVE_BUSY,
            naive,
            [Ask("/home", ("Authorization", f"Token {one}")) for one in busy_tokens],
        ),
        System(
            NAIVE_QUIET,
            naive,
            [Ask("/home", ("Authorization", f"Token {one}")) for one in quiet_tokens],
        ),
    ]
    return {system.name: system for system in found}


def _socket(url: str) -> str:
    return url.removeprefix("unix://").removeprefix("unix:").partition("?")[0]


def _naive_tokens(here: World) -> tuple[list[str], list[str]]:
    """Tokens of Django REST framework for the same readers."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": f"{RIVALS}.naive_settings"}
    command = [sys.executable, "-P", "-m", "django", "migrate", "authtoken", "--verbosity", "0"]
    environment["PYTHONPATH"] = str(ROOT)
    subprocess.run(command, env=environment, check=True)  # noqa: S603 -- our own
    made: list[list[str]] = []
    for readers in (here.readers, here.quiet_readers):
        rows = [(secrets.token_hex(20), reader.pk) for reader in readers]
        with connection.cursor() as sql:
            sql.executemany(
                "INSERT INTO authtoken_token (key, created, user_id) VALUES (%s, now(), %s)", rows
            )
        made.append([key for key, _reader in rows])
    return made[0], made[1]


def _fill_bare(here: World) -> None:
    """The same pages in the form that the bare reader wants."""
    redis, urls = timelines(), settings.MEMCACHED_URLS
    with memcached_at(urls[0]) as memcached:
        for token, reader in zip(here.busy, here.readers, strict=True):
            items = home_timeline(reader, Cursor()).items
            redis.set(bare.TOKEN + token.encode(), reader.pk)
            redis.delete(bare.IDS + b"%d" % reader.pk)
            redis.rpush(bare.IDS + b"%d" % reader.pk, *(item.id for item in items))
            for item in items:
                shape = {k: v for k, v in status_json(item).items() if k != "account"}
                memcached.set(bare.POST + b"%d" % item.id, orjson.dumps(shape))
                memcached.set(
                    bare.AUTHOR + b"%d" % item.author.pk, orjson.dumps(account_json(item.author))
                )
                redis.set(bare.COUNTS + b"%d" % item.id, b"[0,0,0]")


def _lines(systems: dict[str, System]) -> list[Line]:
    api, html = systems[OURS_API], systems[OURS_HTML]
    constant, busy, quiet = systems[CONSTANT], systems[NAIVE_BUSY], systems[NAIVE_QUIET]
    quietly = systems[QUIET_API]
    lines = [
        Line(name, "pages/s a core", one.per_core, note=f"{one.rate.median:,.0f}/s; {one.note}")
        for name, one in systems.items()
    ]
    return [
        *lines,
        _share(api, constant, SHARE_OF_CONSTANT),
        _times(api, busy, BUSY_TIMES),
        _times(quietly, quiet, QUIET_TIMES),
        Line(
            f"{OURS_API}, processor time a page",
            "ms",
            api.cost,
            {CONSTANT: constant.cost, BARE: systems[BARE].cost},
            f"at most {COST_MOST} times the constant page's (1.0 ms where that takes 0.14)",
            api.cost.median <= COST_MOST * constant.cost.median,
            f"{Spread.of(api.web_ms).median:.2f} + {Spread.of(api.store_ms).median:.2f} ms (web + stores)",
        ),
        _share(html, api, SHARE_OF_API),
    ]


def _share(ours: System, other: System, least: float) -> Line:
    """Requests a second as a share of another's."""
    share = ours.rate.median / other.rate.median
    return Line(
        f"{ours.name} against {other.name}",
        "pages/s",
        ours.rate,
        {other.name: other.rate},
        f"at least {least:.0%}",
        share >= least,
        f"{share:.1%}",
    )


def _times(ours: System, other: System, least: float) -> Line:
    """Requests a second and core as a multiple of another's."""
    times = ours.per_core.median / other.per_core.median
    return Line(
        f"{ours.name} against {other.name}",
        "pages/s a core",
        ours.per_core,
        {other.name: other.per_core},
        f"at least {least:g} times",
        times >= least,
        f"{times:.1f} times",
    )
