"""The plan of faults: a seed repeats it, and ten minutes have the faults that are promised."""

from collections import defaultdict

import pytest

from tools.drill.faults import (
    BROKER,
    COUNTERS,
    FAILOVERS,
    POSTGRES,
    RANDOM,
    STEPS,
    TIMELINES,
    WORKER,
    Kind,
    in_the_middle,
    plan,
    possible,
)

NODES = ["main-0", "main-1", "backup-0", "l1-0", "l1-1"]
WEB = ["web0", "web1"]


PLANNED = {*(kind for kind, _target in FAILOVERS.values()), Kind.DRAIN}  # not by chance


def choices(*, with_postgres=False, memcached=NODES, **servers):
    return possible(memcached=memcached, web=WEB, with_postgres=with_postgres, **servers)


def kinds(target, **servers):
    return {kind for one, kind, _weight in choices(**servers) if one == target}


def test_a_seed_repeats_its_plan_and_another_has_another():
    assert plan(1, seconds=600, choices=choices()) == plan(1, seconds=600, choices=choices())
    assert plan(1, seconds=600, choices=choices()) != plan(2, seconds=600, choices=choices())


@pytest.mark.parametrize("seed", range(5))
def test_ten_minutes_have_two_hundred_faults_of_every_kind(seed):
    found = plan(seed, seconds=600, choices=choices())
    assert len(found) >= 200
    by_option = {Kind.PAUSE, Kind.DISK, *STEPS}
    assert {fault.kind for fault in found} == set(RANDOM) == set(Kind) - PLANNED - by_option
    assert {fault.target for fault in found} >= {
        *NODES,
        *WEB,
        WORKER,
        "beat",
        "broker",
        "timelines",
    }
    assert all(0 <= fault.seconds <= 4 for fault in found)


@pytest.mark.parametrize("seed", range(5))
def test_there_is_always_a_web_server_and_no_target_has_two_faults_at_once(seed):
    found = plan(seed, seconds=600, choices=choices())
    ends: defaultdict[str, float] = defaultdict(float)
    for fault in found:
        group = "web" if fault.target in WEB else fault.target
        assert fault.at >= ends[group], fault
        ends[group] = fault.at + fault.seconds


def test_postgresql_is_only_slow_unless_it_is_asked_for():
    calm = {
        fault.kind for fault in plan(1, seconds=3600, choices=choices()) if fault.target == POSTGRES
    }
    assert calm == {Kind.DELAY, Kind.NARROW}
    wild = plan(1, seconds=3600, choices=choices(with_postgres=True))
    assert {fault.kind for fault in wild if fault.target == POSTGRES} > {Kind.KILL, Kind.VANISH}


def test_without_memcached_its_faults_are_left_out():
    found = plan(1, seconds=600, choices=choices(memcached=[]))
    assert {fault.target for fault in found}.isdisjoint(NODES)


def test_near_the_end_of_a_short_run_no_worker_dies():
    """What it held would be under a lease for longer than the run."""
    for seed in range(20):
        found = plan(seed, seconds=60, choices=choices())
        assert all(fault.at <= 20 for fault in found if fault.target == WORKER)


@pytest.mark.parametrize("redis", ["sentinel", "cluster"])
def test_no_chance_kills_a_primary_that_others_replace_or_cuts_a_link_that_clients_do_not_use(
    redis,
):
    assert kinds(TIMELINES, redis=redis) == {Kind.FLUSH, Kind.FORGET}
    assert kinds(BROKER, redis=redis) == kinds(BROKER)


def test_what_cannot_be_on_a_cluster_has_the_faults_of_one_redis():
    assert kinds(COUNTERS) == kinds(COUNTERS, redis="sentinel") == set()
    assert kinds(COUNTERS, redis="cluster") == kinds(TIMELINES) - {Kind.FORGET}


def test_rabbitmq_is_frozen_and_cut_off_but_neither_flushed_nor_killed():
    assert kinds(BROKER) - kinds(BROKER, broker="rabbitmq") == {Kind.FLUSH, Kind.KILL, Kind.FULL}
    assert kinds(TIMELINES, broker="rabbitmq") == kinds(TIMELINES)


def test_failovers_are_in_the_middle_of_the_load_and_of_each_of_its_minutes():
    short = in_the_middle(seconds=36, redis="sentinel", broker="rabbitmq")
    assert [(one.at, one.kind, one.target) for one in short] == [
        (18, Kind.SENTINEL_FAILOVER, TIMELINES),
        (18, Kind.RESTART, BROKER),
    ]
    long = in_the_middle(seconds=180, redis="cluster", broker="redis")
    assert [one.at for one in long] == [30, 90, 150]
    assert {one.kind for one in long} == {Kind.CLUSTER_FAILOVER}
    assert in_the_middle(seconds=180, redis="single", broker="redis") == []


def test_a_run_may_have_only_some_kinds():
    found = choices(only=[Kind.VANISH, Kind.FULL])
    assert {kind for _target, kind, _weight in found} == {Kind.VANISH, Kind.FULL}
