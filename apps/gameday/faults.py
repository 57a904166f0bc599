"""The faults of game days. Each uses only the servers in the settings, without root and without access to processes.

A fault is a context manager. It yields a function that is called every TICK_SECONDS while the fault lasts; leaving the
context undoes everything. If the process is killed, the fault also ends: pauses and keys expire, workers resume, and
PostgreSQL ends the connections.
"""

import math
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
from celery import current_app
from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.errors import Invalid
from apps.posts.models import Post
from feedcache.connections import configuration, dedicated_configuration, memcached_at
from feedcache.memcached_tiers import tiers
from feedcache.redis_clients import is_cluster

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

TICK_SECONDS = 0.4
MARGIN_SECONDS = 5  # PostgreSQL ends a fault's connections this long after its planned end
PAUSE_MILLISECONDS = 2000  # of one pause of writes, which each tick renews
DELAY_MILLISECONDS = 300  # of one pause of all commands, per tick; below REDIS_TIMEOUT_SECONDS
USED_SHARE = 0.9  # of max_connections
HELD_SECONDS = 20  # how long a tick keeps the auditor from running
LOCKED_TABLE = Post._meta.db_table
# The key with which workers skip a periodic task that has just run (feedsite.server.periodic).
AUDIT_KEY = "periodic:apps.audit.tasks.audit"

VISITOR, MEMBER, AUTHOR = "visitor", "member", "author"

Tick = Callable[[], object]
Begin = Callable[[float], AbstractContextManager[Tick]]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens, which alert notices it within how many seconds, and whose requests may fail meanwhile."""

    name: str
    text: "StrOrPromise"
    alert: str
    within: float
    seconds: int  # the default duration
    begin: Begin
    may_fail: frozenset[str] = frozenset()
    # the reason why the site cannot have this fault; empty if it can
    why_not: Callable[[], str] = str


def faults() -> dict[str, Fault]:
    """All faults, by name."""
    return {fault.name: fault for fault in _FAULTS}


def fault_of(name: str) -> Fault:
    """The fault with this name. Raises Invalid if there is none, or if this site cannot have it."""
    fault = faults().get(name)
    if fault is None:
        names = ", ".join(faults())
        raise Invalid(_("There is no such fault. The faults are: %(names)s.") % {"names": names})
    if reason := fault.why_not():
        raise Invalid(reason)
    return fault


def by_lot() -> Fault:
    """A random fault among those that this site can have."""
    return secrets.choice([fault for fault in _FAULTS if not fault.why_not()])


def _on_cluster() -> str:
    return _("The Redis of REDIS_URL is a cluster.") if is_cluster(configuration()) else ""


def _without_memcached() -> str:
    return "" if tiers().is_configured else _("The site has no Memcached.")


@contextmanager
def _redis_writes(_seconds: float) -> Iterator[Tick]:
    """Redis answers reads, and lets writes wait."""
    client: Any
    with closing(dedicated_configuration()) as client:
        try:
            yield partial(client.execute_command, "CLIENT PAUSE", PAUSE_MILLISECONDS, "WRITE")
        finally:
            client.execute_command("CLIENT UNPAUSE")


@contextmanager
def _redis_slow(_seconds: float) -> Iterator[Tick]:
    """Redis pauses for three quarters of the time, for DELAY_MILLISECONDS each time, so calls are slow but succeed."""
    client: Any
    with closing(dedicated_configuration()) as client:
        yield partial(client.execute_command, "CLIENT PAUSE", DELAY_MILLISECONDS, "ALL")


@contextmanager
def _memcached_empty(_seconds: float) -> Iterator[Tick]:
    """All Memcached nodes lose everything they store, again and again."""
    urls = sorted({node.url for node in tiers().nodes()})
    with ExitStack() as stack:
        clients = [stack.enter_context(memcached_at(url)) for url in urls]
        yield lambda: [client.flush_all() for client in clients]


@contextmanager
def _workers_idle(seconds: float) -> Iterator[Tick]:
    """Workers take no messages (`apps.gameday.tasks.gameday_pause`)."""
    control = current_app.control
    try:
        if not control.broadcast("gameday_pause", arguments={"seconds": seconds}, reply=True):
            raise Invalid(_("No worker answers."))
        yield bool
    finally:
        control.broadcast("gameday_resume", reply=True)


@contextmanager
def _auditor_stopped(_seconds: float) -> Iterator[Tick]:
    """Workers skip the auditor's task, as if it had just run."""
    client = configuration()
    try:
        yield partial(client.set, AUDIT_KEY, 1, ex=HELD_SECONDS)
    finally:
        client.delete(AUDIT_KEY)


@contextmanager
def _posts_locked(seconds: float) -> Iterator[Tick]:
    """A transaction holds a lock on the table of posts, as a careless migration would. Reads go on."""
    with _connect(idle_in_transaction_session_timeout=seconds + MARGIN_SECONDS) as holder:
        holder.execute(f"LOCK TABLE {LOCKED_TABLE} IN SHARE ROW EXCLUSIVE MODE")
        yield bool
        holder.rollback()


@contextmanager
def _connections_used(seconds: float) -> Iterator[Tick]:
    """Idle connections take nearly all that PostgreSQL allows."""
    with ExitStack() as stack:
        probe = stack.enter_context(_idle(seconds))
        row = probe.execute(
            "SELECT current_setting('max_connections')::int,"
            " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')"
        ).fetchone()
        assert row is not None
        for _number in range(math.ceil(row[0] * USED_SHARE) - row[1]):
            stack.enter_context(_idle(seconds))
        yield bool


@contextmanager
def _database_full(seconds: float) -> Iterator[Tick]:
    """All connections of the site are ended, and idle ones take their places."""
    held: list[psycopg.Connection[Any]] = []
    with ExitStack() as stack:
        first = stack.enter_context(_idle(seconds))

        def tick() -> None:
            own = [first.info.backend_pid, *(one.info.backend_pid for one in held)]
            first.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND usename = current_user AND pid <> ALL(%s)",
                [own],
            )
            while (more := _connection_or_none(seconds)) is not None:
                held.append(stack.enter_context(more))

        yield tick


def _connection_or_none(seconds: float) -> psycopg.Connection[Any] | None:
    """Another idle connection, or None if PostgreSQL allows no more."""
    try:
        return _idle(seconds)
    except psycopg.OperationalError:
        return None


def _idle(seconds: float) -> psycopg.Connection[Any]:
    """A connection that PostgreSQL ends by itself after the fault."""
    return _connect(autocommit=True, idle_session_timeout=seconds + MARGIN_SECONDS)


def _connect(*, autocommit: bool = False, **timeouts: float) -> psycopg.Connection[Any]:
    """A new connection, outside the pool, with these timeouts in seconds."""
    limits = " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in timeouts.items())
    params = connection.get_connection_params()
    for name in ("pool", "cursor_factory", "context", "prepare_threshold"):
        params.pop(name, None)
    params["options"] = f"{params.get('options', '')} {limits}"
    return psycopg.connect(**params, autocommit=autocommit, application_name="gameday")


_FAULTS = (
    Fault(
        "redis_writes",
        gettext_lazy("The Redis of REDIS_URL accepts no writes"),
        "StoreDown",
        15,
        60,
        _redis_writes,
        why_not=_on_cluster,
    ),
    Fault(
        "redis_slow",
        gettext_lazy("The Redis of REDIS_URL answers a third of a second late"),
        "StoreSlow",
        60,
        60,
        _redis_slow,
        why_not=_on_cluster,
    ),
    Fault(
        "memcached_empty",
        gettext_lazy("All Memcached nodes lose what they store, again and again"),
        "CacheMisses",
        60,
        60,
        _memcached_empty,
        why_not=_without_memcached,
    ),
    Fault(
        "workers_idle",
        gettext_lazy("The workers take no messages"),
        "DeliveriesBehind",
        80,
        120,
        _workers_idle,
    ),
    Fault(
        "auditor_stopped",
        gettext_lazy("The auditor does not run"),
        "AuditorSilent",
        330,
        360,
        _auditor_stopped,
    ),
    Fault(
        "posts_locked",
        gettext_lazy("A transaction locks the table of posts"),
        "RequestsFailing",
        30,
        60,
        _posts_locked,
        may_fail=frozenset({AUTHOR}),
    ),
    Fault(
        "connections_used",
        gettext_lazy("Idle connections take nine tenths of those that PostgreSQL allows"),
        "ConnectionsNearlyUsed",
        15,
        60,
        _connections_used,
    ),
    Fault(
        "database_full",
        gettext_lazy("PostgreSQL ends all connections of the site and accepts no new ones"),
        "DatabaseDown",
        30,
        60,
        _database_full,
        may_fail=frozenset({VISITOR, MEMBER, AUTHOR}),
    ),
)
