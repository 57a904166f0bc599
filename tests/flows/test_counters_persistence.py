"""Counters outlive their server: killed, restarted from its log, from a torn log, from an old log, from nothing."""

import shutil

import pytest

from feedcache import connections
from feedcache.structures.counters import maintenance
from runner.services import redis
from runner.services.redis import Redis
from tests.feedcache.structures.counters.rows import make_service, post_id
from tests.support.services import running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows

IDS = [post_id(seconds * 60) for seconds in range(30)]


@pytest.fixture
def server(tmp_path, settings):
    """A Redis of this test's own that keeps a log, as the site's does."""
    if running().redis is None:
        pytest.skip("Redis was given from outside; there is no program to start")
    own = Redis(tmp_path / "redis", tmp_path, tmp_path, persistence=redis.PERSISTENCE)
    own.start()
    settings.REDIS_COUNTERS_URL = own.settings()["REDIS_URL"]
    connections.forget_clients()
    yield own
    own.stop()
    connections.forget_clients()


@pytest.fixture
def service(server):
    service = make_service()
    for number, id_ in enumerate(IDS):
        service.source.put(id_, number, 0, 0, revision=number + 1)
    assert maintenance.rebuild(service)
    service.count("reads", dict.fromkeys(IDS, 7))
    service.put_many([service.source.put(IDS[3], 2**40, 70_000, 0, revision=90)])
    # writes wait while the disk is slow, up to two seconds
    wait_until(
        lambda: connections.counters().info("persistence")["aof_buffer_length"] == 0,
        "the log is written",
    )
    return service


def restart(server, meanwhile=lambda: None):
    server.child.kill()
    meanwhile()
    server.start()


def expected(**changed):
    values = {id_: (number, 0, 7) for number, id_ in enumerate(IDS)}
    return values | {IDS[3]: (2**40, 70_000, 7)} | changed


def log_of(server):
    (log,) = (server.data / "appendonlydir").glob("*.incr.aof")
    return log


def test_a_killed_server_comes_back_with_every_count(server, service):
    restart(server)
    service.source.asked.clear()
    assert service.get_many(IDS) == expected()
    assert service.source.asked == []
    maintenance.write_back(service)
    assert {service.source.value(id_, "reads") for id_ in IDS} == {7}


def test_a_torn_end_of_the_log_is_left_out(server, service):
    def tear():
        with log_of(server).open("ab") as log:
            log.write(b"*4\r\n$4\r\nHSET\r\n$9\r\nc{test}:t1")

    restart(server, tear)
    assert service.get_many(IDS) == expected()


def test_a_log_that_lacks_the_last_changes_is_made_up_for(server, service):
    copy = server.data.with_name("copy")
    shutil.copytree(server.data, copy)
    missed = service.source.put(IDS[5], 500, 0, 0, revision=60)
    service.put_many([missed])

    def go_back():
        shutil.rmtree(server.data)
        shutil.copytree(copy, server.data)

    restart(server, go_back)
    assert service.get_many([IDS[5]])[IDS[5]] == (5, 0, 7)
    assert not maintenance.is_sound(service, maintenance.state(service.store))
    assert maintenance.maintain(service, seconds=9)
    assert service.get_many([IDS[5]])[IDS[5]] == (500, 0, 7)
    assert maintenance.is_sound(service, maintenance.state(service.store))


def test_a_server_that_lost_everything_is_right_at_once_and_silent_after_the_rebuild(server, service):  # fmt: skip
    maintenance.write_back(service)
    restart(server, lambda: shutil.rmtree(server.data))
    service.source.asked.clear()
    assert service.get_many(IDS) == expected()
    assert service.source.asked == ["rows"]
    assert maintenance.maintain(service, seconds=9)
    service.source.asked.clear()
    assert service.get_many(IDS) == expected()
    assert service.source.asked == []


def test_a_rebuild_that_a_restart_cuts_off_begins_again(server, service, monkeypatch):
    monkeypatch.setattr(maintenance, "ROWS", 5)
    maintenance.invalidate(service.store)
    assert not maintenance.rebuild(service, seconds=0)
    restart(server)
    reached: list[int] = []
    assert not maintenance.rebuild(service, seconds=0, advance=reached.append)
    assert reached == [sorted(IDS)[4]]  # what the log may lack comes before where it stopped


def test_counts_that_overflow_outlive_it_going_up_and_down(server, service):
    for value in (65_535, 65_536, 2**62, 65_536, 12):
        row = service.source.put(IDS[0], value, value, 0, revision=100 + service.source.rings)
        service.source.rings += 1
        service.put_many([row])
        restart(server)
        assert service.get_many([IDS[0]])[IDS[0]] == (value, value, 7)
