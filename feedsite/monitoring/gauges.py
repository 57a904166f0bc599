"""The gauges in `/metrics`: current values, read from PostgreSQL and Redis at each request.

Each value is read from an index or a small table, and all values of a kind by one statement. Apart from health checks,
the statements of a response together take at most `SECONDS`. If one fails, its values and those of the next ones are
left out, and the reason is logged.
"""

import logging
from collections.abc import Iterator
from datetime import timedelta
from functools import cache

from django.apps import apps
from django.db import DatabaseError
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apps.events.leases import LeasedRow, State
from apps.sql import Row, TimeLimit, TooSlow
from apps.timeline.fanout import lag
from feedcache.connections import RedisError
from feedcache.servers import topology_listener
from feedsite.monitoring.health import WITH_DEAD_LETTERS, current_state

logger = logging.getLogger(__name__)

SECONDS = 3.0  # for all statements of a response, except health checks
DAY = timedelta(days=1)
MAX_ROWS = 10_000  # counted at most, per kind
ROLES = ("web", "worker", "beat", "streaming")  # reported as 0 if none runs

_DUE = """
SELECT '{name}', (SELECT count(*) FROM (SELECT FROM {table} WHERE {due} LIMIT %(maximum)s) AS rows),
    (SELECT extract(epoch FROM statement_timestamp() - min(due_at)) FROM {table} WHERE {due})
"""
_DEAD = "SELECT '{name}', count(*) FROM (SELECT FROM {table} WHERE state = %(dead)s LIMIT %(maximum)s) AS rows"
_AUDIT = """
SELECT (SELECT count(*) FROM audit_auditfinding
        WHERE repaired_at IS NULL AND last_found_at > statement_timestamp() - %(day)s),
    (SELECT count(*) FROM audit_auditfinding WHERE repaired_at > statement_timestamp() - %(day)s),
    (SELECT extract(epoch FROM statement_timestamp() - max(started_at)) FROM audit_auditrun)
"""
_CONNECTIONS = """
SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
    current_setting('max_connections')::int
"""
_REPLICAS = """
SELECT coalesce(nullif(application_name, ''), client_addr::text, pid::text), coalesce(extract(epoch FROM replay_lag), 0)
FROM pg_stat_replication WHERE state = 'streaming'
"""


class Gauges(Collector):
    def collect(self) -> Iterator[Metric]:
        limit = TimeLimit(SECONDS)
        for read in (_checks, _processes):
            yield read()
        try:
            if current_state()["checks"]["postgresql"]["ok"]:
                for kind in (_queues, _dead_letters, _audit, _connections, _replicas):
                    yield from kind(limit)
        except (DatabaseError, TooSlow) as error:  # the next ones would wait as long
            logger.warning("figures of /metrics could not be read: %s", error)


def _checks() -> Metric:
    checks = GaugeMetricFamily(
        "feedsite_check_ok", "1 if this check of /healthz/ready passes, else 0.", labels=["check"]
    )  # fmt: skip
    for name, check in current_state()["checks"].items():
        checks.add_metric([name], int(check["ok"]))
    return checks


def _processes() -> Metric:
    family = GaugeMetricFamily("feedsite_processes", "Processes that report.", labels=["role"])
    try:
        roles = [process.role for process in topology_listener.processes()]
    except RedisError:
        return family
    for role in ROLES:
        family.add_metric([role], roles.count(role))
    return family


def _queues(limit: TimeLimit) -> Iterator[Metric]:
    number = GaugeMetricFamily("feedsite_due_rows", "Work that is due, 10,000 at most.", labels=["queue"])  # fmt: skip
    age = GaugeMetricFamily(
        "feedsite_due_seconds", "Seconds since the oldest row became due.", labels=["queue"]
    )
    for name, rows, seconds in _rows(limit, _all_due()):
        number.add_metric([name], rows)
        age.add_metric([name], float(seconds or 0))
    behind = GaugeMetricFamily(
        "feedsite_deliveries_behind_seconds",
        "The age of the oldest undelivered post, from ten seconds on.",
    )
    behind.add_metric([], lag.latest.seconds)  # the check of deliveries has just read it
    yield from (number, age, behind)


def _dead_letters(limit: TimeLimit) -> Iterator[Metric]:
    dead = GaugeMetricFamily(
        "feedsite_dead_letters", "Work that was given up, 10,000 at most.", labels=["queue"]
    )
    for name, number in _rows(limit, _all_dead()):
        dead.add_metric([name], number)
    yield dead


def _audit(limit: TimeLimit) -> Iterator[Metric]:
    findings = GaugeMetricFamily(
        "feedsite_audit_findings", "Violations of the last day.", labels=["state"]
    )
    age = GaugeMetricFamily("feedsite_audit_run_age_seconds", "Seconds since the auditor last ran.")
    for left, repaired, seconds in _rows(limit, _AUDIT):
        findings.add_metric(["open"], left)
        findings.add_metric(["repaired"], repaired)
        if seconds is not None:
            age.add_metric([], float(seconds))
    yield from (findings, age)


def _connections(limit: TimeLimit) -> Iterator[Metric]:
    used = GaugeMetricFamily("feedsite_postgresql_connections", "Connections to PostgreSQL.")
    most = GaugeMetricFamily("feedsite_postgresql_connections_max", "Allowed connections.")
    for number, maximum in _rows(limit, _CONNECTIONS):
        used.add_metric([], number)
        most.add_metric([], maximum)
    yield from (used, most)


def _replicas(limit: TimeLimit) -> Iterator[Metric]:
    family = GaugeMetricFamily(
        "feedsite_replica_lag_seconds",
        "The lag of a standby of PostgreSQL.",
        labels=["replica"],
    )
    for name, seconds in _rows(limit, _REPLICAS):
        family.add_metric([name], float(seconds))
    yield family


def _rows(limit: TimeLimit, statement: str) -> list[Row]:
    params = {"pending": State.PENDING, "dead": State.DEAD, "maximum": MAX_ROWS, "day": DAY}
    return limit.rows_of(statement, params)


@cache
def _all_due() -> str:
    due = "state = %(pending)s AND due_at <= statement_timestamp()"
    return " UNION ALL ".join(
        _DUE.format(name=model._meta.label_lower, table=model._meta.db_table, due=due)
        for model in apps.get_models()
        if issubclass(model, LeasedRow)
    )


@cache
def _all_dead() -> str:
    return " UNION ALL ".join(
        _DEAD.format(name=model._meta.label_lower, table=model._meta.db_table)
        for model in WITH_DEAD_LETTERS
    )
