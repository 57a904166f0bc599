"""What beat sent while nobody worked is done once; nothing that a clock says makes it too old."""

import pytest
from django.conf import settings

from feedcache.connections import configuration
from feedsite.celery import app
from feedsite.server.periodic import KEY, is_first_of_interval
from feedsite.server.schedules import EVERY
from tests.support.faults import dead_redis

NAME = "tests.periodic.count"


@pytest.fixture
def task():
    """A task that counts its runs, and `sent(every)` as a worker runs it."""
    ran = []

    @app.task(name=NAME, shared=False)
    def count():
        ran.append(1)

    def sent(**headers):
        count.push_request(**headers)
        try:
            count()
        finally:
            count.pop_request()
        return len(ran)

    yield sent
    app.tasks.pop(NAME)


def test_a_backlog_of_one_task_runs_once(task):
    assert [task(**{EVERY: 10}) for _message in range(5)] == [1] * 5
    configuration().delete(KEY.format(NAME))  # as after five seconds
    assert task(**{EVERY: 10}) == 2
    assert 0 < configuration().pttl(KEY.format(NAME)) <= 5_000


def test_what_others_send_runs_as_often_as_it_is_sent(task):
    assert [task() for _message in range(3)] == [1, 2, 3]


def test_without_redis_a_task_runs_rather_than_not():
    with dead_redis():
        assert is_first_of_interval(NAME, 10)


def test_no_message_of_beat_expires_by_a_clock():
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        assert entry["options"] == {"headers": {EVERY: settings.PERIODIC_TASKS[name]}}
