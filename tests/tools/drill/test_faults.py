"""The plan of faults: a seed repeats it, and ten minutes have the faults that are promised."""

from collections import defaultdict

import pytest

from tools.drill.faults import POSTGRES, WORKER, Kind, plan, possible

NODES = ["main-0", "main-1", "backup-0", "l1-0", "l1-1"]
WEB = ["web0", "web1"]


def choices(*, with_postgres=False, memcached=NODES):
    return possible(memcached=memcached, web=WEB, with_postgres=with_postgres)


def test_a_seed_repeats_its_plan_and_another_has_another():
    assert plan(1, seconds=600, choices=choices()) == plan(1, seconds=600, choices=choices())
    assert plan(1, seconds=600, choices=choices()) != plan(2, seconds=600, choices=choices())


@pytest.mark.parametrize("seed", range(5))
def test_ten_minutes_have_two_hundred_faults_of_every_kind(seed):
    found = plan(seed, seconds=600, choices=choices())
    assert len(found) >= 200
    assert {fault.kind for fault in found} == set(Kind)
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
    assert calm == {Kind.DELAY}
    wild = plan(1, seconds=3600, choices=choices(with_postgres=True))
    assert Kind.KILL in {fault.kind for fault in wild if fault.target == POSTGRES}


def test_without_memcached_its_faults_are_left_out():
    found = plan(1, seconds=600, choices=choices(memcached=[]))
    assert {fault.target for fault in found}.isdisjoint(NODES)


def test_near_the_end_of_a_short_run_no_worker_dies():
    """What it held would be under a lease for longer than the run."""
    for seed in range(20):
        found = plan(seed, seconds=60, choices=choices())
        assert all(fault.at <= 20 for fault in found if fault.target == WORKER)
