"""Prometheus with ops/prometheus.yml and ops/rules.yml against a running project: each fault raises its own alerts.

Times are shorter than in the file: five seconds between scrapes, windows of half a minute to a minute and a half,
`for:` and thresholds of age a tenth or less. ErrorBudgetShrinking needs figures of three days, and ReplicaLags a
replica, which docker-compose.yml does not start: tests/ops/test_rules.py tries these two and AuditRepairs with made-up
figures.
"""

import os
import random
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import requests

from runner.checkout import ROOT
from runner.processes import Child, spawn
from tools.compose.containers import run
from tools.compose.flow import SITE, Mailbox, Person, Say, wait
from tools.compose.project import DOMAIN, Project

PROMETHEUS = "http://127.0.0.1:9090"
WINDOWS = {"5m": "30s", "15m": "45s", "30m": "45s", "1h": "60s", "6h": "90s"}
AGES = {"> 60": "> 15", "> 300": "> 30"}  # seconds
WITHOUT = ("ErrorBudgetShrinking", "ReplicaLags", "AuditRepairs")
FIRE_SECONDS, END_SECONDS, QUIET_SECONDS = 90.0, 120.0, 45.0
HANDLES = ("lark", "finch")
LOAD_SECONDS = 0.3  # between two requests of the background load
TAKEN = 0.9  # of PostgreSQL's connections
FLOOD_THREADS = 60
FROZEN_SECONDS, THAWED_SECONDS = 0.6, 0.05
Fault = Callable[[Project], Any]


class Case(NamedTuple):
    """A fault, the alerts that it has to raise, and those that it may raise as well."""

    what: str
    fault: Fault
    fires: set[str]
    may: set[str] = set()


class AlertsWrong(Exception):
    """An alert did not fire, did not end, or fired for another fault."""


def rules() -> str:
    """ops/rules.yml with the times of this test."""
    text = (ROOT / "ops" / "rules.yml").read_text()
    text = re.sub(r"for: (\d+)m", lambda found: f"for: {min(int(found[1]) * 3, 15)}s", text)
    text = re.sub(r"\[(\w+)\]", lambda found: f"[{WINDOWS.get(found[1], found[1])}]", text)
    for given, shorter in AGES.items():
        text = text.replace(f"seconds {given}\n", f"seconds {shorter}\n")
    head, *alerts = re.split(r"(?=^      - alert: )", text, flags=re.MULTILINE)
    return head + "".join(one for one in alerts if one.split()[2] not in WITHOUT)


def configuration(project: Project, directory: Path) -> str:
    """ops/prometheus.yml with the files of this project, its certificate, and shorter intervals."""
    text = (ROOT / "ops" / "prometheus.yml").read_text()
    token = directory / "token"
    token.write_text(project.env["METRICS_TOKEN"])
    for given, own in {
        "scrape_interval: 15s": "scrape_interval: 5s",
        "evaluation_interval: 15s": "evaluation_interval: 5s",
        "scrape_timeout: 15s": "scrape_timeout: 5s",
        "/etc/prometheus/feedsite_token": str(token),
        "    scheme: https\n": f"    scheme: https\n    tls_config: {{ca_file: {project.certificate}}}\n",
    }.items():
        if given not in text:
            raise AlertsWrong(f"ops/prometheus.yml has no {given!r}")
        text = text.replace(given, own)
    return text


@contextmanager
def prometheus(project: Project) -> Iterator[Child]:
    """A Prometheus that scrapes the project through its proxy."""
    directory = project.directory / "prometheus"
    directory.mkdir(exist_ok=True)
    (directory / "rules.yml").write_text(rules())
    (directory / "prometheus.yml").write_text(configuration(project, directory))
    program = shutil.which("prometheus")
    if program is None:
        raise AlertsWrong("prometheus is not installed (apt-get install prometheus)")
    command = [
        program, f"--config.file={directory / 'prometheus.yml'}", f"--storage.tsdb.path={directory / 'data'}",
        "--web.listen-address=127.0.0.1:9090",
    ]  # fmt: skip
    child = spawn("prometheus", command, log=directory / "log")
    try:
        wait(f"Prometheus does not start: {directory / 'log'}", lambda: _asked("up") is not None)
        yield child
    finally:
        child.stop(10)


def firing() -> set[str]:
    """The names of alerts that fire now."""
    found = _asked('ALERTS{alertstate="firing"}') or []
    return {one["metric"]["alertname"] for one in found}


def _asked(query: str) -> list[Any] | None:
    """The result of a query; None while Prometheus does not answer."""
    address = f"{PROMETHEUS}/api/v1/query"
    try:
        found: list[Any] = requests.get(address, params={"query": query}, timeout=5).json()["data"][
            "result"
        ]
    except requests.RequestException:
        return None
    return found


class Load:
    """Two people who use the site all the time, in a thread. Errors are what the faults are for."""

    def __init__(self, author: Person, reader: Person) -> None:
        self._author, self._reader = author, reader
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(LOAD_SECONDS):
            number += 1
            who = self._reader if number % 2 else self._author
            options: dict[str, Any] = {"headers": who.headers, "verify": who.browser.http.verify}
            try:
                if number % 20 == 1:
                    body = {"status": f"Number {number}."}
                    requests.post(f"{SITE}/api/v1/statuses", data=body, timeout=20, **options)
                else:
                    requests.get(f"{SITE}/api/v1/timelines/home", timeout=20, **options)
            except requests.RequestException:
                continue


def examine(project: Project, say: Say, cases: Sequence[Case] = ()) -> list[str]:
    """Cause each fault, or some of them, and compare what fires. Returns what is wrong."""
    wrong: list[str] = []
    mails = Mailbox()
    with ExitStack() as stack:
        stack.callback(mails.close)
        people = [Person(project, handle) for handle in HANDLES]
        for person in people:
            person.sign_up(mails)
            person.authorize()
        me = people[0].call("/api/v1/accounts/verify_credentials")["id"]
        people[1].call(f"/api/v1/accounts/{me}/follow")
        stack.enter_context(prometheus(project))
        load = Load(*people)
        load.start()
        stack.callback(load.stop)
        quiet = _fires_in(QUIET_SECONDS, set())
        say(f"no fault: {', '.join(sorted(quiet)) or 'nothing fires'}")
        wrong += [f"{one} fires without a fault" for one in quiet]
        for case in cases or CASES:
            wrong += _examine(project, case, quiet, say)
    return wrong


def _examine(project: Project, case: Case, before: set[str], say: Say) -> list[str]:
    """What is wrong in a case, apart from alerts that fired before all faults."""
    begin = time.monotonic()
    with case.fault(project):
        found = _fires_in(FIRE_SECONDS, case.fires) - before
        fired = time.monotonic() - begin
    begin = time.monotonic()
    while (left := firing() - before) and time.monotonic() - begin < END_SECONDS:
        found |= left
        time.sleep(1)
    ended = time.monotonic() - begin
    others = found - case.fires
    said = f"{case.what}: {', '.join(sorted(found & case.fires))} after {fired:.0f} s"
    also = f", also {', '.join(sorted(others))}" if others else ""
    say(f"{said}{also}; silent {ended:.0f} s after the fault")
    return [
        *(f"{case.what}: {one} does not fire" for one in case.fires - found),
        *(f"{case.what}: {one} fires, too" for one in others - case.may - ALWAYS),
        *(f"{case.what}: {one} does not end" for one in left),
    ]


def _fires_in(seconds: float, wanted: set[str]) -> set[str]:
    """All alerts that fire until the wanted ones do, or for some seconds if there are none."""
    found: set[str] = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (wanted and wanted <= found):
        found |= firing()
        time.sleep(1)
    return found


# --- faults ------------------------------------------------------------------------------------------


def stopped(*names: str) -> Fault:
    """Services that are killed, and started again."""

    @contextmanager
    def fault(project: Project) -> Iterator[None]:
        for name in names:
            project.containers[name].kill()
        try:
            yield
        finally:
            for name in names:
                project.start(name)

    return fault


@contextmanager
def redis_slow(project: Project) -> Iterator[None]:
    """A Redis that is frozen most of the time, as on a machine that swaps."""
    pid, stop = project.containers["redis-timeline"].pid, threading.Event()

    def freeze() -> None:
        while not stop.is_set():
            os.kill(pid, signal.SIGSTOP)
            stop.wait(FROZEN_SECONDS)
            os.kill(pid, signal.SIGCONT)
            stop.wait(THAWED_SECONDS)

    thread = threading.Thread(target=freeze, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def rows(before: str, after: str) -> Fault:
    """Statements in PostgreSQL: one that breaks something, and one that mends it."""

    @contextmanager
    def fault(project: Project) -> Iterator[None]:
        with _database(project) as database:
            database.execute(before.encode())
        try:
            yield
        finally:
            with _database(project) as database:
                database.execute(after.encode())

    return fault


@contextmanager
def searches_fail(project: Project) -> Iterator[None]:
    """A table that is not there."""
    rename = rows(
        "ALTER TABLE search_postentry RENAME TO away", "ALTER TABLE away RENAME TO search_postentry"
    )
    with rename(project), _asking(project, "/search?q=number", threads=1):
        yield


@contextmanager
def media_full(project: Project) -> Iterator[None]:
    """A disk of half a megabyte over the folder of the media."""
    root = ["nsenter", "--target", str(project.containers["web"].pid), "--mount", "--root", "--"]
    run(*root, "mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", "/data/media")
    try:
        yield
    finally:
        run(*root, "umount", "/data/media")


@contextmanager
def connections_taken(project: Project) -> Iterator[None]:
    """Other clients that hold nearly all of PostgreSQL's connections."""
    with ExitStack() as stack:
        database = stack.enter_context(_database(project))
        [(used, most)] = database.execute(
            "SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity"
            " WHERE backend_type = 'client backend'"
        ).fetchall()
        for _number in range(int(most * TAKEN) - used):
            stack.enter_context(_database(project))
        yield


@contextmanager
def flood(project: Project) -> Iterator[None]:
    """Many more requests at once than there are seats."""
    with _asking(project, "/explore", threads=FLOOD_THREADS):
        yield


@contextmanager
def flushed(project: Project) -> Iterator[None]:
    """A Memcached that forgets everything again and again, as one that is much too small."""
    stop = threading.Event()

    def forget() -> None:
        address = (project.network.addresses["memcached-main-0"], 11211)
        while not stop.wait(0.05):
            with socket.create_connection(address, timeout=5) as node:
                node.sendall(b"flush_all\r\n")
                node.recv(16)

    thread = threading.Thread(target=forget, daemon=True)
    thread.start()
    try:
        with _asking(project, "/public", threads=2):
            yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _asking(project: Project, path: str, *, threads: int) -> Iterator[None]:
    """Visitors who request a page without pause, past the proxy and its limit of an address."""
    stop = threading.Event()
    address = f"http://{project.network.addresses['web']}:8000{path}"

    def ask() -> None:
        while not stop.is_set():
            client = ".".join(str(random.randint(1, 250)) for _ in range(4))  # noqa: S311 -- no secret
            headers = {"Host": DOMAIN, "X-Forwarded-Proto": "https", "X-Forwarded-For": client}
            try:
                requests.get(f"{address}", headers=headers, timeout=20)
            except requests.RequestException:
                continue

    asking = [threading.Thread(target=ask, daemon=True) for _ in range(threads)]
    for thread in asking:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in asking:
            thread.join()


def _database(project: Project) -> psycopg.Connection[Any]:
    """A connection as an operator has it, without the pooler."""
    host, password = project.network.addresses["postgres"], project.env["POSTGRES_PASSWORD"]
    return psycopg.connect(
        f"host={host} user=feedsite dbname=feedsite password={password}", autocommit=True
    )


# Requests fail or are refused in many of these cases, so the budget of errors is used.
ALWAYS = {"ErrorBudgetBurning"}
SLOW = {"RequestsSlow", "RequestsRefused", "StoreSlow", "DeliveriesBehind"}
BEHIND = {"DeliveriesBehind", "QueueOld"}
FAILING = {
    "RequestsFailing",
    "RequestsRefused",
    "RequestsSlow",
    "StoreFailing",
    "StoreSlow",
    "PoolExhausted",
    "CacheMisses",
}
CASES = (
    Case("web is killed", stopped("web"), {"SiteUnreachable"}),
    Case(
        "PostgreSQL is killed",
        stopped("postgres"),
        {"DatabaseDown", "PoolExhausted", "StoreFailing"},
        FAILING | BEHIND | {"AuditorSilent"},
    ),
    Case("Memcached is killed", stopped("memcached-main-0"), {"StoreDown"}, FAILING | BEHIND),
    Case(
        "the Redis with the broker is killed",
        stopped("redis-broker"),
        {"StoreDown"},
        FAILING | BEHIND | {"AuditorSilent"},
    ),
    Case("the disk of the media is full", media_full, {"MediaDiskFull"}),
    Case("beat is killed", stopped("beat"), {"ProcessesMissing", "AuditorSilent"}),
    Case(
        "the worker is killed",
        stopped("worker"),
        {"ProcessesMissing", "DeliveriesBehind", "QueueOld"},
        {"AuditorSilent"},
    ),
    Case(
        "a table is missing",
        searches_fail,
        {"RequestsFailing", "ErrorBudgetBurning"},
        BEHIND | {"AuditorSilent", "RequestsSlow"},
    ),
    Case("sixty clients at once", flood, {"RequestsRefused"}, SLOW | BEHIND),
    Case(
        "Redis is slow",
        redis_slow,
        {"RequestsSlow", "StoreSlow"},
        SLOW | FAILING | BEHIND | {"AuditorSilent"},
    ),
    Case(
        "a dead letter",
        rows(
            "UPDATE events_event SET state = 'dead' WHERE id = (SELECT min(id) FROM events_event)",
            "UPDATE events_event SET state = 'done' WHERE state = 'dead'",
        ),
        {"DeadLetters"},
    ),
    Case(
        "an error that the auditor cannot repair",
        rows(
            "INSERT INTO audit_auditfinding (run_id, kind, details, found_at, times, last_found_at)"
            " SELECT max(id), 'lost', '{}', now(), 1, now() FROM audit_auditrun",
            "DELETE FROM audit_auditfinding WHERE kind = 'lost'",
        ),
        {"AuditFindings"},
    ),
    Case("PostgreSQL's connections are taken", connections_taken, {"ConnectionsNearlyUsed"}),
    Case("Memcached forgets", flushed, {"CacheMisses"}, SLOW),
)
