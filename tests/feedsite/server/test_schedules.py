"""Beat goes on when the clock is set."""

import time
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from celery.beat import ScheduleEntry
from django.conf import settings
from django.utils import timezone

from feedsite.celery import app
from feedsite.server.schedules import every, steady_now


def entry(seconds, *, ran):
    """A task of beat's that ran so many seconds ago."""
    last = steady_now() - timedelta(seconds=ran)
    return ScheduleEntry(name="a", task="a", schedule=every(seconds), last_run_at=last, app=app)


@pytest.mark.parametrize("step", [timedelta(hours=-1), timedelta(days=-1), timedelta(days=1)])
def test_a_step_of_the_clock_neither_stops_nor_hurries_it(step):
    due, early = entry(10, ran=12), entry(3600, ran=12)
    with time_machine.travel(timezone.now() + step):
        assert due.is_due().is_due
        assert not early.is_due().is_due
        assert 3500 < early.is_due().next < 3600


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(days=1)])
def test_what_an_earlier_beat_sent_in_the_future_is_due(ahead):
    """Its file of last runs outlives it; the clock was ahead then."""
    before = entry(10, ran=-ahead.total_seconds())
    assert before.is_due().is_due
    assert not before.next(steady_now()).is_due().is_due


def test_its_time_passes_by_the_monotonic_clock(monkeypatch):
    before = steady_now()
    later = time.monotonic() + 60
    monkeypatch.setattr("feedsite.server.schedules.time.monotonic", lambda: later)
    assert timedelta(seconds=60) <= steady_now() - before < timedelta(seconds=120)


def test_every_task_of_the_site_goes_by_it():
    schedules: list[Any] = [one["schedule"] for one in settings.CELERY_BEAT_SCHEDULE.values()]
    assert {schedule.nowfun for schedule in schedules} == {steady_now}
