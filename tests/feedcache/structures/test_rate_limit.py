import multiprocessing
import signal
import time

import pytest

from feedcache import connections
from feedcache.connections import limits
from feedcache.structures import rate_limit
from feedcache.structures.rate_limit import Limit, LocalWindows, count_each, known_refusal
from tests.support.clusters import addresses
from tests.support.faults import dead_redis, frozen
from tests.support.services import running
from tests.support.threads import together

LIMIT, SECONDS = 10, 60


def count(name, subject, *, limit, seconds, cost=1):
    return count_each([Limit(name, subject, limit, seconds)], cost=cost)[0]


def once(subject="me", **more):
    return count("test", subject, limit=LIMIT, seconds=SECONDS, **more)


def test_the_limit_is_exact():
    assert [once().allowed for _ in range(LIMIT + 3)] == [True] * LIMIT + [False] * 3


def test_subjects_and_names_do_not_share_a_limit():
    for _ in range(LIMIT):
        once()
    assert not once().allowed
    assert once("you").allowed
    assert count("other", "me", limit=1, seconds=SECONDS).allowed


def test_a_refusal_says_when_to_come_back_and_does_not_move_it():
    for _ in range(LIMIT):
        once()
    (key,) = limits().keys("limit:*")
    limits().expire(key, 7)
    assert once().retry_after == 7
    assert limits().ttl(key) == 7


def test_the_limit_is_free_again_after_its_time():
    for _ in range(LIMIT + 1):
        once()
    (key,) = limits().keys("limit:*")
    limits().pexpire(key, 1)
    while limits().exists(key):
        pass
    assert once().allowed


def test_what_is_known_to_be_used_up_is_so_until_the_window_ends(monkeypatch):
    mine, yours = (Limit("test", subject, LIMIT, SECONDS) for subject in ("me", "you"))
    for _ in range(LIMIT):
        assert once().allowed
        assert known_refusal(mine) is None
    asked = once()
    assert known_refusal(yours) is None
    assert known_refusal(Limit("other", "me", LIMIT, SECONDS)) is None
    refused = known_refusal(mine)
    assert refused
    assert (refused.allowed, refused.remaining) == (False, 0)
    assert 0 <= asked.resets_in - refused.resets_in < SECONDS
    later = time.monotonic() + SECONDS + 1
    monkeypatch.setattr(rate_limit.local, "_clock", lambda: later)
    assert known_refusal(mine) is None


def test_a_limit_that_was_given_back_is_not_known_to_be_used_up():
    for _ in range(LIMIT + 1):
        once()
    once(cost=-1)
    assert known_refusal(Limit("test", "me", LIMIT, SECONDS)) is None


def test_looking_costs_nothing():
    for _ in range(LIMIT - 1):
        once()
    assert all(once(cost=0).allowed for _ in range(20))
    assert once().allowed
    assert not once(cost=0).allowed


def test_a_look_at_an_unused_limit_leaves_nothing_for_ever():
    once(cost=0)
    (key,) = limits().keys("limit:*")
    assert 0 < limits().ttl(key) <= SECONDS
    once()
    assert 0 < limits().ttl(key) <= SECONDS


def test_a_cost_of_several_counts_as_several():
    assert once(cost=8).allowed
    assert not once(cost=3).allowed


def test_sixteen_threads_cannot_race_past_the_limit():
    verdicts = together(16, lambda _index: [once().allowed for _ in range(10)])
    assert sum(map(sum, verdicts)) == LIMIT


def _hammer(_index):
    connections.forget_clients()  # a connection of the process's own
    return sum(once("processes").allowed for _ in range(20))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_eight_processes_cannot_race_past_the_limit():
    # a child must end when the pool tells it to, not as a run of the tests does
    plain = (signal.SIGTERM, signal.SIG_DFL)
    with multiprocessing.get_context("fork").Pool(8, signal.signal, plain) as pool:
        assert sum(pool.map(_hammer, range(8), chunksize=1)) == LIMIT


@pytest.mark.parametrize("subject", ["", "a b\n", "中文", "x" * 10_000, "127.0.0.1|alice"])
def test_any_text_is_a_subject_and_no_key_holds_it(subject):
    assert once(subject).allowed
    (key,) = limits().keys("limit:*")
    assert len(key) < 60
    assert key.isascii()


def test_what_is_given_back_makes_no_window_wider():
    once(cost=-1)
    assert [once().allowed for _ in range(LIMIT + 1)] == [True] * LIMIT + [False]


def test_without_redis_the_process_limits_by_itself():
    with dead_redis():
        assert [once().allowed for _ in range(LIMIT + 2)] == [True] * LIMIT + [False] * 2
        assert once(cost=0).remaining == 0
        once(cost=-3)
        assert once().allowed
        assert once("you").allowed
    assert once().allowed


def test_a_limit_that_was_used_up_before_redis_went_stays_used_up():
    for _ in range(LIMIT):
        once()
    with dead_redis():
        assert not once().allowed


def test_threads_cannot_race_past_the_limit_without_redis():
    with dead_redis():
        verdicts = together(16, lambda _index: [once().allowed for _ in range(10)])
    assert sum(map(sum, verdicts)) == LIMIT


def _full(client):
    client.config_set("maxmemory", 1)


def _read_only(client):
    client.execute_command("REPLICAOF", "127.0.0.1", "1")


def _well_again(client):
    client.config_set("maxmemory", 0)
    client.execute_command("REPLICAOF", "NO", "ONE")


@pytest.mark.parametrize("harm", [_full, _read_only])
def test_a_redis_that_takes_no_writes_counts_for_nothing(harm):
    for _ in range(LIMIT - 2):
        once()
    harm(limits())
    try:
        assert [once().allowed for _ in range(4)] == [True, True, False, False]
    finally:
        _well_again(limits())


def test_a_frozen_redis_counts_for_nothing(cache_settings):
    with addresses(cache_settings, redis_timeout_seconds=0.2):
        for _ in range(LIMIT - 2):
            once()
        with frozen(running().redis):
            assert [once().allowed for _ in range(4)] == [True, True, False, False]
        # what it had not read by then, it may count now
        assert sum(once().allowed for _ in range(4)) <= 2


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_windows_of_a_process_end():
    clock, limit = Clock(), Limit("test", "me", LIMIT, SECONDS)
    windows = LocalWindows(clock)
    windows.note(limit, LIMIT, 7.0)
    assert windows.count(limit, 1) == (LIMIT + 1, 7.0)
    clock.now += 7
    assert windows.count(limit, 1) == (1, SECONDS)


def test_a_process_remembers_so_many_subjects_of_each_limit(monkeypatch):
    monkeypatch.setattr(rate_limit, "MAX_LOCAL_SUBJECTS", 3)
    windows = LocalWindows(Clock())
    guesses = Limit("guesses", "me", LIMIT, SECONDS)
    windows.count(guesses, 1)
    for number in range(10):
        windows.count(Limit("other", str(number), LIMIT, SECONDS), 1)
    assert windows.count(guesses, 1)[0] == 2  # a flood of others does not wash it away
    assert windows.count(Limit("other", "9", LIMIT, SECONDS), 1)[0] == 2
    assert windows.count(Limit("other", "0", LIMIT, SECONDS), 1)[0] == 1
