"""Faults of a running project, each with the alerts of ops/rules.yml that it has to raise."""

import os
import random
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

import psycopg
import requests

from tools.compose.containers import run
from tools.compose.engines import REPLICA
from tools.compose.project import DOMAIN, Project

TAKEN = 0.9  # of PostgreSQL's connections
FLOOD_THREADS = 60
FROZEN_SECONDS, THAWED_SECONDS = 0.8, 0.1
SEARCH_SECONDS = 0.3  # between two searches
ORPHANS = 120  # more than AuditRepairs allows in a day
LATE_SECONDS = 7  # more than SLO_DELIVERY_SECONDS, less than what DeliveriesBehind waits for
Fault = Callable[[Project], Any]


class Case(NamedTuple):
    """A fault, the alerts that it has to raise, and those that it may raise as well."""

    what: str
    fault: Fault
    fires: set[str]
    may: set[str] = set()


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
    """A table that is not there. Events about it are given up, and have to be retried once it is back."""
    rename = rows(
        "ALTER TABLE search_postentry RENAME TO away",
        "ALTER TABLE away RENAME TO search_postentry;"
        " UPDATE events_event SET state = 'pending', attempts = 0, due_at = now(), finished_at = NULL"
        " WHERE state = 'dead'",
    )
    with rename(project), _asking(project, "/search?q=number", threads=1, pause=SEARCH_SECONDS):
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
def _asking(project: Project, path: str, *, threads: int, pause: float = 0.0) -> Iterator[None]:
    """Visitors who request a page again and again, past the proxy and its limit of an address."""
    stop = threading.Event()
    address = f"http://{project.network.addresses['web']}:8000{path}"

    def ask() -> None:
        while not stop.wait(pause):
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


def _database(project: Project, server: str = "postgres") -> psycopg.Connection[Any]:
    """A connection as an operator has it, without the pooler."""
    host, password = project.network.addresses[server], project.env["POSTGRES_PASSWORD"]
    return psycopg.connect(
        f"host={host} user=feedsite dbname=feedsite password={password}", autocommit=True
    )


@contextmanager
def replica_paused(project: Project) -> Iterator[None]:
    """A replica that receives the log of the primary, but does not replay it."""
    with _database(project, REPLICA) as replica:
        replica.execute("SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            # the replay, once resumed, cancels statements that still see rows which are gone: at times this one
            with suppress(psycopg.errors.SerializationFailure):
                replica.execute("SELECT pg_wal_replay_resume()")


# One delivery in four takes longer than its objective allows: five times as many as may be.
some_late = rows(
    f"""
    CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN PERFORM pg_sleep({LATE_SECONDS}); RETURN NEW; END';
    CREATE TRIGGER late BEFORE INSERT ON timeline_fanoutchunk
    FOR EACH ROW WHEN (NEW.id % 4 = 0) EXECUTE FUNCTION late()
    """,
    "DROP TRIGGER late ON timeline_fanoutchunk; DROP FUNCTION late",
)
# Followers whose accounts do not exist, as after an incomplete restore. The auditor removes them; then a day passes.
orphans = rows(
    f"""
    SET session_replication_role = replica;
    INSERT INTO graph_follower (owner_id, follower_id, created_at)
    SELECT min(id), max(id) + number, now() FROM accounts_user, generate_series(1, {ORPHANS}) AS number
    GROUP BY number
    """,  # noqa: S608 -- a constant
    "UPDATE audit_auditfinding SET repaired_at = repaired_at - interval '1 day'",
)
# What else follows if requests are slow, deliveries are late or requests fail.
BUDGET = {"ErrorBudgetBurning", "ErrorBudgetShrinking"}
SLOW = BUDGET | {"RequestsSlow", "RequestsRefused", "StoreSlow", "DeliveriesBehind"}
BEHIND = BUDGET | {"DeliveriesBehind", "QueueOld"}
FAILING = BUDGET | {
    "RequestsFailing",
    "RequestsRefused",
    "RequestsSlow",
    "StoreFailing",
    "StoreSlow",
    "PoolExhausted",
    "CacheMisses",
}
CASES = (
    # the first requests of a new process are slow
    Case("web is killed", stopped("web"), {"SiteUnreachable"}, BUDGET | {"RequestsSlow"}),
    Case(
        "PostgreSQL is killed",
        stopped("postgres"),
        {"DatabaseDown", "PoolExhausted"},
        FAILING | BEHIND | {"AuditorSilent"},
    ),
    Case("Memcached is killed", stopped("memcached-main-0"), {"StoreDown"}, FAILING | BEHIND),
    Case(
        "the Redis with the broker is killed",
        stopped("redis-broker"),
        {"StoreDown", "StoreFailing"},
        # Celery's workers sometimes end when they lose the broker, and are restarted
        FAILING | BEHIND | {"AuditorSilent", "ProcessesMissing"},
    ),
    Case("the disk of the media is full", media_full, {"MediaDiskFull"}),
    Case("beat is killed", stopped("beat"), {"ProcessesMissing", "AuditorSilent"}),
    Case(
        "the worker is killed",
        stopped("worker"),
        {"ProcessesMissing", "DeliveriesBehind", "QueueOld"},
        BUDGET | {"AuditorSilent"},
    ),
    Case(
        "a table is missing",
        searches_fail,
        {"RequestsFailing", "ErrorBudgetBurning"},
        BEHIND | {"AuditorSilent", "DeadLetters", "RequestsSlow"},
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
    Case("followers whose accounts are gone", orphans, {"AuditRepairs"}),
    Case("one delivery in four is late", some_late, {"ErrorBudgetShrinking"}),
    Case("the replica is paused", replica_paused, {"ReplicaLags"}),
    Case("PostgreSQL's connections are taken", connections_taken, {"ConnectionsNearlyUsed"}),
    Case("Memcached forgets", flushed, {"CacheMisses"}, SLOW),
)
