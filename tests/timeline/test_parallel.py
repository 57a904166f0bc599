"""Threads help with the pieces of a large read, and hold nobody up."""

import threading
from concurrent.futures import wait

import pytest
from django.db import connection, connections

from apps.timeline.sources import parallel
from apps.timeline.sources.parallel import in_parallel

LONG = 20


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(parallel, "HELP_AFTER_SECONDS", 0.0)


@pytest.fixture
def busy():
    """All threads of the pool are held up by somebody else."""
    gate = threading.Event()
    held = [parallel._pool().submit(gate.wait, LONG) for _ in range(8)]
    yield
    gate.set()
    wait(held)


@pytest.mark.parametrize("number", [0, 1, 2, 30])
def test_results_are_in_the_order_of_the_pieces(number):
    assert in_parallel(lambda one: one * one, range(number), maximum=9) == [
        one * one for one in range(number)
    ]


def test_pieces_that_wait_are_waited_for_together():
    together = threading.Barrier(4)  # three threads help the one who asks
    assert len(in_parallel(lambda _one: together.wait(LONG), range(4), maximum=9)) == 4


def test_pieces_that_do_not_wait_are_done_by_who_asks(monkeypatch):
    monkeypatch.setattr(parallel, "HELP_AFTER_SECONDS", LONG)
    names = in_parallel(lambda _one: threading.current_thread().name, range(9), maximum=9)
    assert set(names) == {threading.current_thread().name}


def test_nobody_waits_for_a_place_in_the_pool(busy):
    names = in_parallel(lambda _one: threading.current_thread().name, range(9), maximum=9)
    assert set(names) == {threading.current_thread().name}


@pytest.mark.parametrize("at", [0, 5, 8])
def test_an_error_in_any_piece_is_raised(at):
    def work(one):
        if one == at:
            raise LookupError(one)

    with pytest.raises(LookupError, match=str(at)):
        in_parallel(work, range(9), maximum=9)
    assert in_parallel(lambda one: one, range(9), maximum=9) == list(range(9))


def test_threads_give_their_connections_back(transactional_db):
    used, together = [], threading.Barrier(4)

    def ask(_one):
        together.wait(LONG)
        with connection.cursor() as sql:
            sql.execute("SELECT 1")
        used.append(connections["default"])

    in_parallel(ask, range(4), maximum=9)
    mine = connections["default"]
    assert len(set(map(id, used))) == 4
    assert [one.connection for one in used if one is not mine] == [None] * 3
