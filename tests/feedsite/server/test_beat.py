"""Beat sends the message of a sweep only while rows are due."""

from datetime import timedelta

import pytest
from celery.beat import ScheduleEntry
from django.apps import apps
from django.conf import settings
from django.db import OperationalError
from django.db.models.functions import Now

from apps.events import tasks
from apps.events.leases import LeasedRow
from apps.events.models import Event
from feedsite.celery import app
from feedsite.server import beat
from feedsite.server.schedules import every

pytestmark = pytest.mark.django_db
SWEEP, OTHER = tasks.sweep.name, tasks.recall.name


@pytest.fixture
def sent(monkeypatch, tmp_path):
    """Lets a task fall due in beat; returns whether its message was sent."""
    messages = []
    scheduler = beat.Scheduler(app=app, lazy=True, schedule_filename=str(tmp_path / "schedule"))
    monkeypatch.setattr(scheduler, "apply_async", lambda entry, **_more: messages.append(entry))
    monkeypatch.setattr(scheduler, "sync", lambda: None)

    def fall_due(task):
        messages.clear()
        entry = ScheduleEntry(name=task, task=task, schedule=every(1), app=app)
        scheduler.apply_entry(entry)
        return bool(messages)

    return fall_due


def test_a_sweep_is_sent_while_a_row_is_due(sent):
    assert not sent(SWEEP)
    row = Event.objects.create(name="followed", payload={}, subscriber="nobody")
    assert sent(SWEEP)
    Event.objects.filter(pk=row.pk).update(due_at=Now() + timedelta(minutes=1))
    assert not sent(SWEEP), "a worker has leased it"


def test_other_tasks_are_always_sent(sent):
    assert sent(OTHER)


def test_without_postgresql_a_sweep_is_sent_rather_than_not(sent, monkeypatch):
    def fail(*_arguments, **_options):
        raise OperationalError("down")

    monkeypatch.setattr(beat, "has_due", fail)
    assert sent(SWEEP)


def test_what_is_looked_at_are_rows_of_work_of_periodic_tasks():
    assert set(settings.SWEPT_ROWS) <= set(settings.PERIODIC_TASKS)
    models = [apps.get_model(one) for rows in settings.SWEPT_ROWS.values() for one in rows]
    assert all(issubclass(model, LeasedRow) for model in models)


def test_beat_uses_it():
    assert app.conf.beat_scheduler == "feedsite.server.beat:Scheduler"
