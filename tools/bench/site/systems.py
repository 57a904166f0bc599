"""The systems of this suite, each with its own server of one process, and the requests sent to them."""

import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

from django.db import connection

from apps.accounts.models import User
from runner.checkout import ROOT
from tools.bench.measure import Spread
from tools.bench.servers import store_pids
from tools.bench.site import load, stores
from tools.bench.site.clock import seconds_of
from tools.bench.site.load import Ask, Load
from tools.bench.site.stores import Counted
from tools.bench.site.visitor import Header
from tools.bench.site.web import Web, web

HOME, CONSTANT_PAGE = "/api/v1/timelines/home", "/page"
UNLIMITED = str(10**9)
RIVALS = "tools.bench.site.rivals"
OURS, DJANGO = None, f"{RIVALS}.wsgi:application"
LIMITS = ("API", "API_WRITES", "API_REST", "API_ADDRESS", "API_ADDRESS_REST", "PUBLISH", "SEARCH")
WITHOUT_LIMITS = {f"LIMIT_{name}": UNLIMITED for name in LIMITS}
NAIVE_SETTINGS = f"{RIVALS}.naive_settings"
WEB, DATABASE = "web", "PostgreSQL"
LOAD_SECONDS = 3.0  # per round
STILL_SECONDS, LOOK_SECONDS, STILL_MOST_SECONDS = 0.3, 0.1, 8


def our_site(directory: Path) -> AbstractContextManager[Web]:
    """Our site, without rate limits, which would end a measurement."""
    return web("ours", OURS, directory, **WITHOUT_LIMITS)


def front_site(directory: Path, page: bytes) -> AbstractContextManager[Web]:
    """The same bytes for everybody at `HOME`, behind our middleware, token, rate limit and REST framework."""
    place = _written(directory, page)
    settings = f"{RIVALS}.front_settings"
    named = {"DJANGO_SETTINGS_MODULE": settings, "BENCH_PAGE": str(place)}
    return web("front", OURS, directory, **WITHOUT_LIMITS, **named)


def naive_site(directory: Path) -> AbstractContextManager[Web]:
    """A naive site with Django REST framework, on the same tables."""
    return web("naive", DJANGO, directory, DJANGO_SETTINGS_MODULE=NAIVE_SETTINGS)


def constant_site(directory: Path, page: bytes) -> AbstractContextManager[Web]:
    """The same bytes for everybody at `CONSTANT_PAGE`, from Django without middleware."""
    place = _written(directory, page)
    settings = f"{RIVALS}.constant_settings"
    return web(
        "constant", DJANGO, directory, DJANGO_SETTINGS_MODULE=settings, BENCH_PAGE=str(place)
    )


def _written(directory: Path, page: bytes) -> Path:
    place = directory / "page.json"
    place.write_bytes(page)
    return place


def naive_headers(users: Sequence[User]) -> list[Header]:
    _make_token_table()
    rows = [(secrets.token_hex(20), user.pk) for user in users]
    with connection.cursor() as sql:
        sql.executemany(
            "INSERT INTO authtoken_token (key, created, user_id) VALUES (%s, now(), %s)", rows
        )
    return [("Authorization", f"Token {key}") for key, _user in rows]


@cache
def _make_token_table() -> None:
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": NAIVE_SETTINGS, "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    command = [sys.executable, "-P", "-m", "django", "migrate", "authtoken", "--verbosity", "0"]
    subprocess.run(command, env=environment, check=True)  # noqa: S603 -- our own


@dataclass
class System:
    """A system, and its measurements in each round."""

    name: str
    server: Web
    asks: Sequence[Ask]
    seconds: float = field(default_factory=lambda: LOAD_SECONDS)
    loads: list[Load] = field(default_factory=list)
    costs: list[dict[str, float]] = field(
        default_factory=list
    )  # milliseconds of processor time per page, by stage
    counted: list[Counted] = field(default_factory=list)
    pages: int = 0

    def measure(self, directory: Path) -> None:
        """Measure one round. Requests still running at the end are finished and counted.

        Raises RuntimeError if there was no answer, or only errors.
        """
        looked, before = stores.look(), self._spent()
        done = load.put_load(self.server.port, self.asks, directory, seconds=self.seconds)
        if done.errors >= done.requests:
            raise RuntimeError(f"{self.name} gives no answers, only errors: {done.failures}")
        after = self._spent_in_the_end()
        self.loads.append(done)
        self.counted.append(stores.look() - looked)
        pages = done.requests + load.CONNECTIONS
        self.pages += pages
        self.costs.append({name: (after[name] - before[name]) * 1000 / pages for name in after})

    def warm(self, directory: Path, seconds: float) -> None:
        if seconds:
            load.put_load(self.server.port, self.asks, directory, seconds=seconds)
        self._spent_in_the_end()

    def _spent(self) -> dict[str, float]:
        """Processor seconds of the web process and of the stores so far."""
        web_seconds = seconds_of([self.server.child.pid])
        return {WEB: web_seconds} | {name: seconds_of(pids) for name, pids in store_pids().items()}

    def _spent_in_the_end(self) -> dict[str, float]:
        spent, deadline = self._spent(), time.monotonic() + STILL_MOST_SECONDS
        since = time.monotonic()
        while time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
            latest = self._spent()
            if sum(latest.values()) - sum(spent.values()) > LOOK_SECONDS / 2:
                spent, since = latest, time.monotonic()
            elif time.monotonic() - since > STILL_SECONDS:
                return latest
        return self._spent()

    def stage(self, name: str) -> float:
        """Milliseconds of processor time per page, of one stage."""
        return Spread.of([cost.get(name, 0.0) for cost in self.costs]).median

    @property
    def cost(self) -> Spread:
        """Milliseconds of processor time per page, of all stages."""
        return Spread.of([sum(cost.values()) for cost in self.costs])

    @property
    def per_core(self) -> Spread:
        return Spread(1000 / self.cost.median, 1000 / self.cost.high, 1000 / self.cost.low)

    @property
    def rate(self) -> Spread:
        return Spread.of([one.per_second for one in self.loads])

    @property
    def errors(self) -> int:
        return sum(one.errors for one in self.loads)

    @property
    def complaint(self) -> str:
        """The errors, counted by kind; empty if there were none."""
        kinds = sum((Counter(one.failures) for one in self.loads), Counter[str]())
        return ", ".join(
            f"{number} errors: {kind}" for kind, number in kinds.most_common() if number
        )

    @property
    def figures(self) -> dict[str, float]:
        middle = sorted(self.loads, key=lambda one: one.p50)[len(self.loads) // 2]
        total: dict[str, int] = {
            one.name: sum(getattr(counted, one.name) for counted in self.counted)
            for one in fields(Counted)
        }
        hits = Counted(**total).hit_rate
        return {
            "pages/s": round(self.rate.median, 1),
            "p50 ms": middle.p50,
            "p95 ms": middle.p95,
            "p99 ms": middle.p99,
            "CPU ms: web": round(self.stage(WEB), 3),
            **{name: round(self.stage(name), 3) for name in store_pids()},
            "SQL": round(total["statements"] / self.pages, 1),
            "Redis commands, scripts included": round(total["commands"] / self.pages, 1),
            "Memcached keys": round(total["gets"] / self.pages, 1),
            "hits %": round(hits * 100, 1),
            "bytes": middle.size,
        }
