"""Sweeps: a backlog calls for help once, and nobody works longer than was agreed."""

import pytest

from apps.events import actions
from apps.events.models import Event
from apps.events.tasks import SWEEP_HELPERS, SWEEP_LIMIT, sweep
from tests.support.factories import publish

LIMIT = 5


@pytest.fixture
def rung(monkeypatch):
    """The rings, as (task, arguments, seconds until they expire)."""
    rings = []

    def enqueue(task, *args, expires=None):
        if expires is not None:  # the dispatch of events never expires
            rings.append((task, args, expires))

    monkeypatch.setattr(actions, "enqueue", enqueue)
    return rings


def working(*batches):
    """Work that finds so many rows at each call, and then none."""
    left = iter([*batches, 0])
    return lambda: next(left)


def test_a_backlog_calls_for_help_once(rung):
    actions.sweep("a.task", working(5, 5, 5, 2), limit=LIMIT, seconds=60, helpers=2)
    assert rung == [("a.task", (0,), 60)] * 2


@pytest.mark.parametrize("batches", [[], [4], [4, 4, 1]])
def test_a_few_rows_call_for_nobody(rung, batches):
    actions.sweep("a.task", working(*batches), limit=LIMIT, seconds=60, helpers=2)
    assert rung == []


def test_helpers_call_for_nobody(rung):
    actions.sweep("a.task", working(5, 5), limit=LIMIT, seconds=60, helpers=0)
    assert rung == []


def test_who_sweeps_ends_after_its_time_though_there_is_more(rung):
    left = iter([5, 5])
    actions.sweep("a.task", lambda: next(left), limit=LIMIT, seconds=0, helpers=2)
    assert list(left) == [5]


@pytest.mark.django_db
def test_the_sweep_of_events_calls_for_help_with_more_than_a_batch(rung, alice):
    for _ in range(SWEEP_LIMIT // 5):
        publish(alice)
    Event.objects.update(due_at="2026-01-01T00:00Z")
    assert Event.objects.count() > SWEEP_LIMIT
    sweep()
    assert {task for task, _args, _expires in rung} == {"apps.events.tasks.sweep"}
    assert len(rung) == SWEEP_HELPERS
