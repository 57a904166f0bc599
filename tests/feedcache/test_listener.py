"""The thread that keeps a process's topology up to date, on a real Redis."""

import logging
import os
import time
from dataclasses import replace

import pytest

from feedcache import memcached_tiers
from feedcache.connections import timelines
from feedcache.memcached_tiers import tiers
from feedcache.servers import topology_listener as module
from feedcache.servers.topology_listener import (
    CHANNEL,
    KEY,
    PROCESSES,
    Listener,
    processes,
    publish,
    publish_epoch,
    published,
    published_epoch,
)
from feedcache.topology import Node, Topology
from tests.support.faults import dead_redis
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """A tenth of the time between two looks."""
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(module, "SLICE_SECONDS", 0.02)


def version(number):
    return Topology(version=number, main=(Node("main-0", "10.0.0.1:1", 64, number),))


@pytest.fixture
def start():
    """Listeners that run and end with the test."""
    started = []

    def one(role="web"):
        made = Listener(Topology(), role=role)
        made.start()
        started.append(made)
        return made

    yield one
    for made in started:
        made.stop()


def reaches(listener, number):
    return wait_until(lambda: listener.topology.version == number, f"version {number} is heard")


def test_news_arrives_at_every_listener(start):
    listeners = [start(), start(), start()]
    publish(version(1))
    assert all(reaches(listener, 1) for listener in listeners)


def test_a_missed_message_is_healed_by_looking(start):
    listener = start()
    wait_until(lambda: timelines().pubsub_numsub(CHANNEL)[0][1] == 1, "it listens")
    timelines().set(KEY, version(4).to_json())  # and nobody is told
    assert reaches(listener, 4)


def test_an_epoch_is_told_to_all_who_follow_and_stays_with_new_topologies(start):
    listener, heard = start(), []
    listener.subscribe(lambda topology: heard.append((topology.version, topology.epoch)))
    publish_epoch(77)
    wait_until(lambda: heard[-1] == (0, 77), "the epoch is heard")
    publish(version(2))
    wait_until(lambda: heard[-1] == (2, 77), "the topology is heard")
    publish_epoch(78)
    wait_until(lambda: heard[-1] == (2, 78), "the next epoch is heard")


def test_an_epoch_that_redis_lost_is_told_again_but_never_over_another(start):
    listener = start()
    publish_epoch(77)
    wait_until(lambda: listener.topology.epoch == 77, "the epoch is heard")
    timelines().flushdb()
    wait_until(lambda: published_epoch() == 77, "it is told again")
    publish_epoch(78, replaces=False)
    assert published_epoch() == 77


def test_without_an_epoch_no_memcached_is_used(start, monkeypatch):
    """A process that listens, and that neither Redis nor PostgreSQL has told."""
    monkeypatch.setattr(module, "listens", lambda: True)
    own = Listener(version(3), role="web")
    monkeypatch.setattr(module, "_listener", own)
    monkeypatch.setattr(own, "_has_waited", True)
    monkeypatch.setattr(own, "start", lambda: None)
    forget_tiers(monkeypatch)
    assert not tiers().is_configured
    own.use_epoch(5)
    own._learn()
    own._confirm(time.monotonic())
    assert tiers().topology == replace(version(3), epoch=5)


def test_nodes_that_a_process_was_given_stay_until_a_newer_topology_comes(monkeypatch):
    own = Listener(version(3), role="process")
    monkeypatch.setattr(module, "_listener", own)
    forget_tiers(monkeypatch)
    memcached_tiers.use_topology(version(9))
    assert tiers().topology == version(9)
    own.use(version(8))
    assert tiers().topology == version(9)
    own.use(version(10))
    assert tiers().topology == version(10)


def forget_tiers(monkeypatch):
    monkeypatch.setattr(memcached_tiers, "_current", memcached_tiers._CurrentTiers())


def test_a_message_is_heard_before_the_next_look(start, monkeypatch):
    monkeypatch.setattr(module, "LOOK_SECONDS", 3600.0)
    listener = start()
    wait_until(lambda: timelines().pubsub_numsub(CHANNEL)[0][1] == 1, "it listens")
    publish(version(1))
    assert reaches(listener, 1)


def test_an_older_topology_never_replaces_a_newer_one(start):
    listener = start()
    assert publish(version(7))
    assert reaches(listener, 7)
    assert not publish(version(6))
    assert published() == version(7)
    timelines().set(KEY, version(3).to_json())
    wait_until(lambda: published() == version(7), "it is put right by who knows better")
    assert listener.topology == version(7)


def test_what_redis_lost_is_written_again(start):
    listener = start()
    publish(version(2))
    assert reaches(listener, 2)
    timelines().flushdb()
    wait_until(lambda: published() == version(2), "it is written again")


@pytest.mark.parametrize("garbage", [b"\xff\x00", b"[]", b"{}", b"7", b'{"version": "x"}'])
def test_garbage_in_redis_is_passed_over_and_written_over(start, garbage):
    listener = start()
    publish(version(1))
    assert reaches(listener, 1)
    timelines().set(KEY, garbage)
    wait_until(lambda: published() == version(1), "it is written again")


def test_a_topology_that_cannot_work_is_refused_and_said_once(start, caplog):
    looks = []
    listener = start()
    listener.every_second(lambda: looks.append(1))
    wait_until(lambda: looks, "it looks")
    timelines().set(KEY, Topology(version=9).to_json())
    several = len(looks) + 4
    wait_until(lambda: len(looks) >= several, "it has looked several times")
    assert listener.topology.version == 0
    assert [r.message for r in caplog.records] == ["topology 9 refused: no_main"]
    publish(version(10))
    assert reaches(listener, 10)


def test_redis_down_is_survived_and_said_once(start, caplog, monkeypatch):
    listener = start()
    publish(version(1))
    assert reaches(listener, 1)
    with dead_redis():
        wait_until(lambda: listener._redis_is_down, "the listener misses Redis")
        tries, listen = [], listener._listen

        def counted(*what):
            tries.append(1)
            return listen(*what)

        monkeypatch.setattr(listener, "_listen", counted)
        wait_until(lambda: len(tries) > 3, "it has tried again and again")
        assert listener.is_running
        assert listener.topology.version == 1
    wait_until(lambda: not listener._redis_is_down, "Redis is heard again")
    said = [
        r for r in caplog.records if r.levelno == logging.WARNING and "the topology" in r.message
    ]
    assert len(said) == 2
    wait_until(lambda: published() == version(1), "it is written again")
    publish(version(2))
    assert reaches(listener, 2)


def test_processes_say_which_version_they_run(start):
    start("web")
    publish(version(5))
    wait_until(
        lambda: [(p.role, p.version) for p in processes()] == [("web", 5)], "the report says so"
    )


def test_a_process_that_ends_takes_its_report_back(start):
    listener = start()
    wait_until(lambda: len(processes()) == 1, "the process has reported")
    thread = listener._thread
    listener.stop()
    assert not thread.is_alive()
    assert processes() == []


def test_the_report_of_a_killed_process_runs_out(start):
    start()
    wait_until(lambda: len(processes()) == 1, "the process has reported")
    timelines().sadd(PROCESSES, "nowhere:1")
    assert [p.name for p in processes()] == [module.own_name()]
    assert timelines().scard(PROCESSES) == 1
    assert 0 < timelines().ttl(module.REPORT.format(module.own_name())) <= 10


def test_a_listener_can_be_started_twice_and_again(start):
    listener = start()
    first = listener._thread
    listener.start()
    assert listener._thread is first
    listener.stop()
    listener.stop()
    listener.start()
    publish(version(1))
    assert reaches(listener, 1)


def test_subscribers_get_the_topology_now_and_every_new_one(start):
    listener, seen = start(), []
    listener.subscribe(lambda topology: seen.append(topology.version))
    publish(version(3))
    wait_until(lambda: seen == [0, 3], "the subscriber is told")


def test_a_subscriber_that_fails_does_not_end_the_thread(start, caplog):
    listener, calls = start(), []

    def fail():
        calls.append(1)
        raise ValueError

    listener.every_second(fail)
    wait_until(lambda: len(calls) >= 2, "it has gone on")
    assert listener.is_running
    assert "it continues" in caplog.text


def test_a_forked_child_listens_too(start):
    listener = start()
    wait_until(lambda: len(processes()) == 1, "the process has reported")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # nothing may be raised here: it would run the rest of the tests twice
        try:
            listener.after_fork()
            ok = listener.is_running and reaches(listener, 1)
            os.write(writer, b"1" if ok else b"0")
        finally:
            os._exit(0)
    try:
        wait_until(lambda: len(processes()) == 2, "the child has reported")
        publish(version(1))
        assert os.read(reader, 1) == b"1"
        assert reaches(listener, 1)
    finally:
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)


def test_the_listener_of_a_process_is_registered_for_forks(monkeypatch):
    registered = {}
    monkeypatch.setattr(module, "_listener", None)
    monkeypatch.setattr(os, "register_at_fork", lambda **handlers: registered.update(handlers))
    made = module.listener()
    assert module.listener() is made
    assert registered == {"after_in_child": made.after_fork}


def test_current_starts_the_thread_only_where_processes_listen(cache_settings, monkeypatch):
    monkeypatch.setattr(module, "_listener", Listener(version(1)))
    monkeypatch.setattr(os, "register_at_fork", lambda **handlers: None)
    assert module.current() == version(1)
    assert not module.listener().is_running
    cache_settings.follows_topology = True
    assert module.current() == version(1)
    assert module.listener().is_running
    module.listener().stop()
