"""A source that hangs keeps its own few threads, and nobody else."""

import threading
from contextvars import ContextVar

import pytest

from feedcache.breaker import FIRST_PAUSE_SECONDS, Bulkhead, SourceUnavailable


@pytest.fixture
def gate():
    """Work that hangs until the test opens the gate."""
    opened = threading.Event()
    yield opened
    opened.set()


def test_what_the_work_returns_and_raises_is_the_callers(gate):
    source = Bulkhead("source", max_concurrency=1)
    assert source.call(lambda: 7, seconds=60) == 7

    def fail():
        raise KeyError("x")

    with pytest.raises(KeyError):
        source.call(fail, seconds=60)


def test_a_source_that_hangs_is_left_after_its_time_and_then_at_once(gate):
    source = Bulkhead("source", max_concurrency=2, clock=lambda: 0.0)
    with pytest.raises(SourceUnavailable):
        source.call(gate.wait, seconds=0.05)
    asked = []
    with pytest.raises(SourceUnavailable):  # the breaker is open: nobody is asked
        source.call(lambda: asked.append(1), seconds=60)
    assert asked == []


def test_one_caller_tries_again_after_a_pause(gate):
    seconds = 0.0
    source = Bulkhead("source", max_concurrency=2, clock=lambda: seconds)
    with pytest.raises(SourceUnavailable):
        source.call(gate.wait, seconds=0.02)
    with pytest.raises(SourceUnavailable):
        source.call(lambda: 1, seconds=60)
    seconds = FIRST_PAUSE_SECONDS
    assert source.call(lambda: 1, seconds=60) == 1
    assert source.call(lambda: 2, seconds=60) == 2


def test_without_a_seat_nobody_waits(gate):
    source = Bulkhead("source", max_concurrency=1)
    began = threading.Event()

    def hang():
        began.set()
        return gate.wait()

    first = threading.Thread(target=lambda: source.call(hang, seconds=60))
    first.start()
    assert began.wait(10)
    # Whoever waited for the seat would get it then, and be answered.
    seat_is_free = threading.Timer(10, gate.set)
    seat_is_free.start()
    with pytest.raises(SourceUnavailable):
        source.call(lambda: 1, seconds=60)
    seat_is_free.cancel()
    gate.set()
    first.join()
    assert source.call(lambda: 1, seconds=60) == 1


def test_no_time_left_is_a_refusal():
    with pytest.raises(SourceUnavailable):
        Bulkhead("source", max_concurrency=1).call(lambda: 1, seconds=0)


def test_work_sees_the_context_of_its_caller_and_gives_back_what_its_thread_holds():
    request: ContextVar[str] = ContextVar("request", default="none")
    given_back = []
    source = Bulkhead("source", max_concurrency=1, after=lambda: given_back.append(1))
    token = request.set("of the caller")
    assert source.call(request.get, seconds=60) == "of the caller"
    request.reset(token)
    assert given_back == [1]
