"""A breaker, with a clock of the test's own."""

import pytest

from feedcache.breaker import FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, Breaker
from tests.support.threads import together


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breaker(clock):
    return Breaker(clock)


def test_closed_lets_all_pass(breaker):
    assert breaker.is_closed
    assert all(breaker.allows() for _ in range(5))


def test_one_failure_opens_it_for_a_pause(breaker, clock):
    assert breaker.fail()
    assert not breaker.is_closed
    assert not breaker.allows()
    clock.now += FIRST_PAUSE_SECONDS * 0.9
    assert not breaker.allows()
    clock.now += FIRST_PAUSE_SECONDS * 0.2
    assert breaker.allows()


def test_half_open_lets_one_pass(breaker, clock):
    breaker.fail()
    clock.now += FIRST_PAUSE_SECONDS
    assert sum(together(20, lambda _index: breaker.allows())) == 1


def test_the_one_who_vanishes_does_not_keep_it_open_for_ever(breaker, clock):
    breaker.fail()
    clock.now += FIRST_PAUSE_SECONDS
    assert breaker.allows()
    assert not breaker.allows()
    clock.now += FIRST_PAUSE_SECONDS
    assert breaker.allows()


def test_success_closes_it(breaker, clock):
    breaker.fail()
    clock.now += FIRST_PAUSE_SECONDS
    assert breaker.allows()
    breaker.succeed()
    assert breaker.is_closed
    assert breaker.fail(), "and the next failure is a new one"


def test_the_pause_grows_with_failed_trials_only(breaker, clock):
    breaker.fail()
    for _ in range(20):
        assert not breaker.fail(), "those under way when it opened count as one"
    pauses = []
    for _ in range(8):
        waited = 0.0
        while not breaker.allows():
            clock.now += 0.125
            waited += 0.125
        pauses.append(waited)
        breaker.fail()
    assert pauses[:4] == [FIRST_PAUSE_SECONDS * 2**n for n in range(4)]
    assert pauses[-1] == MAX_PAUSE_SECONDS
