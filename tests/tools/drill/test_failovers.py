"""The outages that other servers end, on real ones, and what a run says of them."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from runner.terminal import LaunchError
from tests.support.services import running
from tools.drill import failovers
from tools.drill.failovers import OUTAGES, Outage
from tools.drill.faults import BROKER, TIMELINES, Fault, Kind
from tools.drill.injector import Injector
from tools.scale.redis_servers import RedisBehindSentinels, RedisCluster
from tools.scale.servers import RABBITMQ, RabbitMQ

pytestmark = pytest.mark.clusters


@pytest.fixture
def executable():
    own = running().redis
    if own is None:
        pytest.skip("Redis was given from outside; there is no program to start")
    return own.program


@pytest.fixture
def started():
    """Starts servers, and stops them at the end."""
    found: list[Any] = []

    def start(service):
        found.append(service)
        service.start()
        return service

    yield start
    for service in found:
        service.stop()


def injector(**by_name):
    """One that has only these servers."""
    notes: Any = SimpleNamespace(note=lambda **_values: None)
    site: Any = SimpleNamespace(by_name=by_name)
    nobody: Any = SimpleNamespace(by_name={})
    return Injector(site, nobody, notes)


def carry_out(own, kind, target):
    own.load([Fault(0.0, kind, target, 0.0)], start=time.monotonic())
    own.step()
    own.heal_all()
    [outage] = own.outages
    assert 0 < outage.took_over_s <= outage.healed_s
    assert own.counts == {(kind, target): 1}
    return outage


def test_a_replica_behind_sentinels_is_promoted_and_the_old_primary_is_its_replica(
    tmp_path, executable, started
):
    redis = started(RedisBehindSentinels(tmp_path, executable, down_after_ms=500))
    first, second = redis.servers
    assert redis.writable() == [first]
    first.ask("SET post 1")
    own = injector(timelines=redis)
    outage = carry_out(own, Kind.SENTINEL_FAILOVER, TIMELINES)
    assert redis.writable() == [second]
    assert first.is_linked_replica()
    assert "\r\n1\r\n" in second.ask("GET post")
    assert own.away == [(outage.began, outage.began + outage.took_over_s)]


def test_a_replica_takes_the_slots_of_a_killed_primary_of_the_cluster(
    tmp_path, executable, started
):
    redis = started(RedisCluster(tmp_path, executable, replicas=True, timeout_ms=1000))
    before = redis.writable()
    assert before == redis.servers[:3]
    carry_out(injector(timelines=redis), Kind.CLUSTER_FAILOVER, TIMELINES)
    after = redis.writable()
    [gone] = [server for server in before if server not in after]
    assert gone.is_linked_replica()
    assert redis.is_whole()


@pytest.mark.skipif(not RABBITMQ.exists(), reason="no RabbitMQ on this machine")
def test_rabbitmq_is_stopped_and_started_again(tmp_path, started):
    broker = started(RabbitMQ(tmp_path / "rabbitmq"))
    before = broker.child
    own = injector(broker=broker)
    carry_out(own, Kind.RESTART, BROKER)
    assert broker.child is not before
    assert broker.child.running()
    assert own.away == []


def test_an_outage_that_does_not_end_ends_the_run(monkeypatch):
    def for_ever(*_arguments):
        while True:
            yield

    monkeypatch.setattr(failovers, "LONGEST_SECONDS", 0.0)
    monkeypatch.setitem(OUTAGES, Kind.RESTART, for_ever)
    outage = Outage(Kind.RESTART, BROKER, time.time())
    with pytest.raises(LaunchError, match="the restart did not end"):
        list(outage.steps(Fault(0.0, Kind.RESTART, BROKER, 0.0), None))
