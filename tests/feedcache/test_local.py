import threading
from functools import partial

import pytest

from feedcache.local_cache import MAX_COUNTED, LocalCache, Rate
from tests.support.threads import together


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cache(clock):
    return LocalCache(maximum=3, ttl_seconds=2.0, clock=clock)


class Loader:
    """Counts how often it was asked."""

    def __init__(self, value="value"):
        self.value, self.calls = value, 0

    def __call__(self):
        self.calls += 1
        return self.value


def test_a_value_is_loaded_once_and_again_when_its_time_is_over(cache, clock):
    load = Loader()
    assert [cache.get(1, load) for _ in range(1000)] == ["value"] * 1000
    clock.now += 1.99
    cache.get(1, load)
    assert load.calls == 1
    clock.now += 0.01
    cache.get(1, load)
    assert load.calls == 2


def test_a_value_is_as_old_as_the_beginning_of_its_loading(cache, clock):
    def slow():
        clock.now += 1.5
        return "slow"

    cache.get(1, slow)
    clock.now += 0.6
    load = Loader("new")
    assert cache.get(1, load) == "new"


def test_the_least_recently_used_goes_first(cache):
    for key in (1, 2, 3, 1, 4):
        cache.get(key, Loader())
    again = Loader()
    for key in (1, 3, 4):
        cache.get(key, again)
    assert (len(cache), again.calls) == (3, 0)
    cache.get(2, again)
    assert (len(cache), again.calls) == (3, 1)


def test_what_does_not_fit_is_loaded_anew(cache):
    cache.get(1, Loader(5))
    load = Loader(7)
    assert cache.get(1, load, fits=lambda value: value >= 6) == 7
    assert cache.get(1, load, fits=lambda value: value >= 7) == 7
    assert load.calls == 1


def test_nothing_is_not_kept(cache):
    load = Loader(None)
    assert [cache.get(1, load), cache.get(1, load)] == [None, None]
    assert (load.calls, len(cache)) == (2, 0)


def test_nothing_takes_the_place_of_what_did_not_fit(cache):
    cache.get(1, Loader(5))
    assert cache.get(1, Loader(None), fits=lambda value: value > 5) is None
    assert len(cache) == 0


def test_what_is_forgotten_is_loaded_anew(cache):
    load = Loader()
    for forget in (lambda: cache.forget(1), cache.clear):
        cache.get(1, load)
        forget()
    cache.get(1, load)
    assert load.calls == 3


@pytest.mark.parametrize("forget", ["forget", "clear"])
def test_what_is_forgotten_while_it_is_loaded_is_not_kept(cache, forget):
    def load():
        getattr(cache, forget)(*([1] if forget == "forget" else []))
        return "old"

    assert cache.get(1, load) == "old"
    assert cache.get(1, Loader("new")) == "new"


def test_who_asks_after_a_value_was_forgotten_does_not_get_the_loading_from_before(cache):
    begun, go = threading.Event(), threading.Event()

    def slow():
        begun.set()
        go.wait(10)
        return "old"

    first = threading.Thread(target=cache.get, args=(1, slow))
    first.start()
    begun.wait(10)
    cache.forget(1)
    assert cache.get(1, Loader("new")) == "new"
    go.set()
    first.join()
    assert cache.get(1, Loader("never asked")) == "new"


def test_a_crowd_loads_once():
    cache: LocalCache[int, str] = LocalCache(maximum=3, ttl_seconds=60)
    calls, begun = [], threading.Event()

    def slow():
        calls.append(1)
        begun.wait(0.2)
        return "value"

    assert together(8, lambda _number: cache.get(1, slow)) == ["value"] * 8
    assert len(calls) == 1


def test_a_loader_that_fails_fails_alone(cache):
    def broken():
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        cache.get(1, broken)
    assert cache.get(1, Loader()) == "value"


def test_those_who_waited_for_a_loader_that_failed_load_for_themselves():
    cache: LocalCache[int, str] = LocalCache(maximum=3, ttl_seconds=60)
    turn = threading.Lock()
    calls = []

    def load():
        with turn:
            calls.append(1)
            number = len(calls)
        if number == 1:
            threading.Event().wait(0.1)
            raise OSError("the first one")
        return "value"

    def work(_number):
        try:
            return cache.get(1, load)
        except OSError:
            return "failed"

    assert sorted(together(4, work)) == ["failed", "value", "value", "value"]


def test_threads_leave_it_whole():
    cache: LocalCache[int, int] = LocalCache(maximum=5, ttl_seconds=60)

    def work(number):
        for step in range(2000):
            key = (number * 7 + step) % 11
            assert cache.get(key, partial(int, key * 2)) == key * 2
            if step % 13 == 0:
                cache.forget(key)
            if step % 501 == 0:
                cache.clear()
        return True

    assert all(together(8, work))
    assert len(cache) <= 5


def test_often_is_so_many_times_in_a_second_or_in_the_one_before(clock):
    rate: Rate[str] = Rate(threshold=3, clock=clock)
    assert [rate.count("a") for _ in range(4)] == [False, False, True, True]
    assert not rate.count("b")
    clock.now += 1
    assert rate.count("a")
    assert not rate.count("b")
    clock.now += 1
    assert not rate.count("a")


def test_a_pause_ends_it(clock):
    rate: Rate[str] = Rate(threshold=2, clock=clock)
    rate.count("a")
    rate.count("a")
    clock.now += 2
    assert not rate.count("a")


def test_counting_is_bounded(clock):
    rate: Rate[int] = Rate(threshold=2, clock=clock)
    for key in range(MAX_COUNTED + 100):
        rate.count(key)
    assert not rate.count(MAX_COUNTED + 50)
    assert rate.count(5)
