"""What `/metrics` says of this moment: queues, dead letters, the auditor, connections, processes, checks."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from prometheus_client import CollectorRegistry

from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.events.leases import State
from apps.events.models import Event
from apps.sql import TimeLimit
from apps.timeline.models import FanoutChunk
from feedcache import stats
from feedcache.servers import topology_listener
from feedsite.middleware import timing
from feedsite.monitoring import health, pools
from feedsite.monitoring.gauges import Gauges
from feedsite.monitoring.metrics import _Counted
from tests.support.factories import delivered, publish
from tests.support.faults import dead_redis
from tests.support.standby import standby
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db


def value(name, collector=None, **labels):
    health.forget()
    registry = CollectorRegistry()
    registry.register(collector or Gauges())
    return registry.get_sample_value(name, labels)


def test_what_is_due_and_for_how_long(alice, bob):
    publish(alice)  # nobody delivers it
    waiting = Event.objects.filter(state=State.PENDING).count()
    assert waiting
    Event.objects.update(due_at=Now() - timedelta(minutes=7))
    assert value("feedsite_due_rows", queue="events.event") == waiting
    assert 420 <= value("feedsite_due_seconds", queue="events.event") < 600
    assert value("feedsite_due_seconds", queue="accounts.mail") == 0
    Event.objects.update(due_at=Now() + timedelta(minutes=7))
    assert value("feedsite_due_rows", queue="events.event") == 0


def test_the_age_of_the_oldest_post_that_is_not_delivered(alice, bob):
    assert value("feedsite_deliveries_behind_seconds") == 0
    publish(alice)
    Event.objects.update(created_at=Now() - timedelta(minutes=2))
    assert 120 <= value("feedsite_deliveries_behind_seconds") < 300


def test_dead_letters_by_queue(alice, bob):
    delivered(alice)
    assert value("feedsite_dead_letters", queue="timeline.fanoutchunk") == 0
    FanoutChunk.objects.update(state=State.DEAD)
    assert value("feedsite_dead_letters", queue="timeline.fanoutchunk") == 1
    assert value("feedsite_dead_letters", queue="events.event") == 0


def test_dead_letters_are_found_by_an_index(alice, bob):
    """Among all deliveries that there ever were."""
    delivered(alice)
    with CaptureQueriesContext(connection) as captured:
        value("feedsite_dead_letters", queue="events.event")
    [asked] = [one["sql"] for one in captured if "'dead'" in one["sql"] and "AS rows" in one["sql"]]
    statement = asked.split(";")[1]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {statement}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan" not in plan, plan
    assert plan.count("_dead ") == 4, plan


def test_what_the_auditor_found_and_when_it_ran(alice):
    assert value("feedsite_audit_run_age_seconds") is None
    run = AuditRun.objects.create()
    AuditRun.objects.update(started_at=Now() - timedelta(minutes=3))
    AuditFinding.objects.create(run=run, kind=Kind.LOST)
    AuditFinding.objects.create(run=run, kind=Kind.COUNT, repaired_at=Now())
    old = AuditFinding.objects.create(run=run, kind=Kind.LOST)
    AuditFinding.objects.filter(pk=old.pk).update(last_found_at=Now() - timedelta(days=2))
    assert value("feedsite_audit_findings", state="open") == 1
    assert value("feedsite_audit_findings", state="repaired") == 1
    assert 180 <= value("feedsite_audit_run_age_seconds") < 400


def test_connections_of_postgresql():
    used, most = (value(f"feedsite_postgresql_connections{end}") for end in ("", "_max"))
    assert 1 <= used < most == 100


def test_roles_without_a_process_are_zero(monkeypatch):
    report = topology_listener.Report("host:1", "worker", 0)
    monkeypatch.setattr(topology_listener, "processes", lambda: [report, report])
    assert value("feedsite_processes", role="worker") == 2
    assert value("feedsite_processes", role="beat") == 0


def test_checks_tell_what_is_down():
    assert value("feedsite_check_ok", check="redis") == 1
    with dead_redis():
        assert value("feedsite_check_ok", check="redis") == 0
        assert value("feedsite_processes", role="worker") is None
        assert value("feedsite_due_rows", queue="events.event") == 0


def test_without_postgresql_the_checks_are_there_and_the_rest_is_missing(monkeypatch):
    def away(*_arguments, **_options):
        raise DatabaseError("no connection")

    monkeypatch.setattr(TimeLimit, "rows_of", away)
    assert value("feedsite_check_ok", check="postgresql") == 1
    assert value("feedsite_due_rows", queue="events.event") is None
    assert value("feedsite_postgresql_connections") is None


@pytest.mark.parametrize(
    ("seconds", "bucket", "below"),
    [(0.05, "0.05", None), (0.3, "0.5", "0.25"), (9.0, "+Inf", "2.5")],
)
def test_times_of_requests_by_bucket(rf, seconds, bucket, below):
    stats.drain()
    timing._count(rf.get("/"), type("Answer", (), {"status_code": 200})(), seconds)
    collector = _Counted(stats.drain())
    name = "feedsite_request_duration_seconds_bucket"
    of = {"class": "core"}
    assert value(name, collector, le=bucket, **of) == 1
    assert value(name, collector, le="+Inf", **of) == 1
    if below:
        assert value(name, collector, le=below, **of) == 0


def test_pools_count_who_asked_and_for_how_long_connections_were_used(monkeypatch):
    class Pool:
        def pop_stats(self):
            return {
                "requests_num": 5,
                "requests_queued": 2,
                "requests_wait_ms": 1500,
                "requests_errors": 1,
                "pool_size": 4,
            }

    class Wrapper:
        pool = Pool()

    monkeypatch.setattr(pools, "connections", {"default": Wrapper(), "other": object()})
    stats.drain()
    pools.count()
    collector = _Counted(stats.drain())
    found = {
        name: value(f"feedsite_pool_{name}_total", collector, database="default")
        for name in ("requests", "waits", "wait_seconds", "timeouts", "busy_seconds")
    }
    assert found == {"requests": 5, "waits": 2, "wait_seconds": 1.5, "timeouts": 1, "busy_seconds": None}  # fmt: skip
    assert (
        value("feedsite_cache_reads_total", collector, cache="pool:default", outcome="requests_num")
        is None
    )


@pytest.mark.django_db(transaction=True)
def test_the_pool_of_this_process_counts_a_request():
    stats.drain()
    pools.count()
    connection.close()
    stats.drain()
    connection.ensure_connection()
    pools.count()
    assert stats.drain()["pool:default", "requests_num"] >= 1


@pytest.mark.clusters
@pytest.mark.django_db(transaction=True)
def test_how_far_a_standby_is_behind(tmp_path):
    with standby(tmp_path / "standby"):
        name = wait_until(_standby_name, "the standby streams")
        assert 0 <= value("feedsite_replica_lag_seconds", replica=name) < 60


def _standby_name():
    with connection.cursor() as cursor:
        cursor.execute("SELECT application_name FROM pg_stat_replication WHERE state = 'streaming'")
        row = cursor.fetchone()
    return row and row[0]
