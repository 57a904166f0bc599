"""Turns: one after the other, and beside whoever takes too long."""

import threading
import time

from feedsite.turns import Turns


def taken_by_another(turns):
    """What a thread waits for, and the turn that it got in the end."""
    got = []
    thread = threading.Thread(target=lambda: got.append(turns.take()))
    thread.start()
    return thread, got


def test_the_next_waits_until_the_turn_is_released():
    turns = Turns(10)
    first = turns.take()
    thread, got = taken_by_another(turns)
    time.sleep(0.05)
    assert not got
    first.release()
    thread.join(5)
    assert got == [first]


def test_who_has_waited_long_enough_works_beside_and_the_others_wait_for_it():
    turns = Turns(0.02)
    slow = turns.take()
    second = turns.take()
    assert second is not slow
    assert slow.locked()
    assert second.locked()
    second.release()
    third = turns.take()
    assert third is second, "nobody waits for the slow one any more"


def test_a_slow_one_that_ends_frees_nobody_elses_turn():
    turns = Turns(0.02)
    slow, second = turns.take(), turns.take()
    slow.release()
    assert second.locked()
    assert turns.take() is not second


def test_who_waits_no_longer_has_a_turn_before_anybody_sees_it(monkeypatch):
    """A newcomer that took it first would hold up whoever made it, however long it works."""
    turns = Turns(0.02)
    slow, made = turns.take(), threading.Lock

    class Lock:
        """Looks at what can be seen at the moment when it is taken."""

        def __init__(self):
            self._lock = made()

        def acquire(self):
            assert turns._turn is slow
            return self._lock.acquire()

    monkeypatch.setattr(threading, "Lock", Lock)
    assert turns.take() is not slow
