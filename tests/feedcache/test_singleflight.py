"""Of many who miss a key at the same moment, one loads (I14)."""

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from feedcache import memcached_tiers, single_flight
from feedcache.memcached_tiers import LEASE_MARK, tiers
from feedcache.read_through import ReadThrough
from tests.support.memory import forget, keys_in, told
from tests.support.threads import together
from tests.support.waiting import wait_until

pytestmark = pytest.mark.clusters

CROWD = ReadThrough("crowd", 1, 60, str, bytes, bytes)
LOAD_SECONDS = 0.05
LEASE_SECONDS = 4  # of a process that is killed
ROOT = Path(__file__).resolve().parents[2]


class Loader:
    """Takes its time, and counts."""

    def __init__(self, absent=()):
        self.absent = set(absent)
        self.asked = Counter()
        self.calls = 0
        self.lock = threading.Lock()

    def __call__(self, keys):
        with self.lock:
            self.asked.update(keys)
            self.calls += 1
        time.sleep(LOAD_SECONDS)
        return {key: b"v" for key in keys if key not in self.absent}


@pytest.fixture(autouse=True)
def _used(pools, monkeypatch):
    """However busy the machine is, no lease runs out, and nobody who waits gives up."""
    monkeypatch.setattr(memcached_tiers, "LEASE_SECONDS", 60)
    monkeypatch.setattr(single_flight, "WAIT_SECONDS", 60)
    forget(pools.topology)
    tiers().ping()
    yield
    forget()


def test_two_hundred_clients_of_one_expired_key_load_it_once():
    load = Loader()
    assert together(200, lambda _index: CROWD.get_many(["hot"], load)) == [{"hot": b"v"}] * 200
    assert load.asked == {"hot": 1}


def test_again_when_it_has_expired_again():
    load = Loader()
    for number in range(1, 4):
        together(20, lambda _index: CROWD.get_many(["hot"], load))
        assert load.asked["hot"] == number
        for node in tiers().nodes():
            told(node.url, b"flush_all\r\n")


@contextmanager
def processes(number, topology, *, lease_seconds):
    """Processes that are ready to ask for the key "hot", begin at the next line and have loaded after another."""
    command = [
        sys.executable,
        "-P",
        str(ROOT / "tests/feedcache/holder.py"),
        topology.to_json(),
        "hot",
        str(lease_seconds),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with ExitStack() as stack:
        started = []
        for _ in range(number):
            one = stack.enter_context(
                subprocess.Popen(command, env=environment, cwd=ROOT, stdin=pipe, stdout=pipe)
            )
            stack.callback(one.kill)
            started.append(one)
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == b"ready\n"
        yield started


def asked_of(pools):
    """How many keys the nodes were asked for by now: those who wait for a lease go on asking."""
    return sum(pools.gets(label) for label in ("main-a", "main-b"))


def are_waiting(pools, number):
    """Wait until somebody has asked so often that he is one of those who wait."""
    enough = asked_of(pools) + number
    wait_until(lambda: asked_of(pools) > enough, "others ask for the key again and again")


def tell(process):
    process.stdin.write(b"\n")
    process.stdin.flush()


def test_crowds_of_several_processes_load_once(pools):
    with processes(3, pools.topology, lease_seconds=60) as crowd:
        for one in crowd:
            tell(one)
        are_waiting(pools, 50)
        for one in crowd:
            tell(one)
        said = [one.communicate(timeout=60)[0] for one in crowd]
        assert [one.returncode for one in crowd] == [0] * 3
    assert b"".join(said).count(b"loading") == 1


def test_a_killed_holder_of_the_lease_costs_one_more_load(pools):
    load = Loader()
    crowd = threading.Thread(
        target=together, args=[50, lambda _index: CROWD.get_many(["hot"], load)]
    )
    with processes(1, pools.topology, lease_seconds=LEASE_SECONDS) as (holder,):
        tell(holder)
        assert holder.stdout.readline() == b"loading\n"
        crowd.start()
        are_waiting(pools, 100)
        assert load.calls == 0, "they wait for the holder"
        holder.kill()
    crowd.join(60)
    assert load.asked == {"hot": 1}


def test_a_page_costs_one_request_per_node_and_one_load(pools):
    load = Loader()
    keys = [f"k{number}" for number in range(20)]
    labels = ["main-a", "main-b"]
    before = [pools.gets(label) for label in labels]
    assert len(CROWD.get_many(keys, load)) == 20
    asked = sum(pools.gets(label) - old for label, old in zip(labels, before, strict=True))
    # per node: the keys and the stamp when read, the same with the leases
    assert asked == 2 * (20 + len(labels))
    assert load.calls == 1


def test_two_pages_that_overlap_load_each_key_once():
    load = Loader()
    pages = [[f"k{number}" for number in range(begin, begin + 20)] for begin in range(0, 60, 10)]
    found = together(len(pages), lambda index: CROWD.get_many(pages[index], load))
    assert [set(page) for page in found] == [set(page) for page in pages]
    assert set(load.asked.values()) == {1}


def test_what_does_not_exist_is_asked_for_once_too():
    load = Loader(absent=["nobody"])
    assert together(50, lambda _index: CROWD.get_many(["nobody"], load)) == [{}] * 50
    assert load.asked == {"nobody": 1}


def test_a_load_that_fails_lets_the_next_one_try():
    calls = []

    def load(keys):
        calls.append(keys)
        if len(calls) == 1:
            raise RuntimeError("the database is away")
        return dict.fromkeys(keys, b"v")

    with pytest.raises(RuntimeError, match="away"):
        CROWD.get_many(["hot"], load)
    assert leases() == []
    assert CROWD.get_many(["hot"], load) == {"hot": b"v"}


def leases():
    for node in tiers().nodes():
        node.ping()
    return [key for node in tiers().nodes() for key in keys_in(node.url) if LEASE_MARK in key]


def test_no_lease_is_left_behind(pools):
    seen = []

    def load(keys):
        seen.extend(leases())
        return dict.fromkeys(keys, b"v")

    CROWD.get_many(["a", "b", "c"], load)
    assert len(seen) == 3
    assert leases() == []


def test_main_is_dead_and_backup_keeps_the_leases(pools):
    for label in ("main-a", "main-b"):
        pools.kill(label)
    load = Loader()
    assert together(50, lambda _index: CROWD.get_many(["hot"], load)) == [{"hot": b"v"}] * 50
    assert load.asked == {"hot": 1}


def test_without_any_node_everybody_loads(pools):
    for label in pools.servers:
        pools.kill(label)
    load = Loader()
    assert together(5, lambda _index: CROWD.get_many(["hot"], load)) == [{"hot": b"v"}] * 5
    assert load.asked == {"hot": 5}


def test_whoever_waited_too_long_loads(monkeypatch):
    monkeypatch.setattr(single_flight, "WAIT_SECONDS", 0.05)
    cache = tiers()
    read = cache.read(["crowd:1.0:hot"])
    assert cache.lease(read, read.names.values()).won
    load = Loader()
    assert CROWD.get_many(["hot"], load) == {"hot": b"v"}
    assert len(leases()) == 1, "another one's"


def test_it_can_be_switched_off():
    each = ReadThrough("each", 1, 60, str, bytes, bytes, single_flight=False)
    all_load = threading.Barrier(10)

    def load(keys):
        all_load.wait(20)
        return dict.fromkeys(keys, b"v")

    assert together(10, lambda _index: each.get_many(["hot"], load)) == [{"hot": b"v"}] * 10


def test_a_hot_key_that_was_deleted_is_loaded_once(pools):
    """A tombstone lies there: the load takes its place, for all who wait."""
    CROWD.set_many({"hot": b"old"})
    CROWD.delete_many(["hot"])
    load = Loader()
    assert together(100, lambda _index: CROWD.get_many(["hot"], load)) == [{"hot": b"v"}] * 100
    assert load.asked == {"hot": 1}
