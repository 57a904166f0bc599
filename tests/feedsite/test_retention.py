"""What is kept how long: every table has an answer, every answer its task, and old rows go in bounded batches."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from apps import sql
from apps.audit import auditor
from apps.audit.models import AuditFinding
from apps.events.leases import State
from apps.notifications import actions as notifications
from apps.notifications.models import Notification
from apps.posts.models import Post
from apps.timeline.fanout import receipts
from apps.timeline.models import Backfill, BackfillChunk, FanoutChunk, FanoutJob
from feedcache.ids import first_id_at
from feedsite.management import retention
from tests.support.factories import delivered, make_user, seconds_ago

ROOT = Path(__file__).resolve().parent.parent.parent
DAY = 24 * 3600


def test_every_table_has_a_line():
    assert retention.unnamed_tables() == set()
    named = [name for one in retention.RETENTION for name in one.tables.split()]
    assert len(named) == len(set(named))


def test_every_time_is_a_setting_or_a_constant_and_every_task_is_periodic():
    for one in retention.RETENTION:
        days = retention.days_of(one)
        assert (days is not None) == bool(one.since), one.what
        if one.task:
            assert one.task in configured.PERIODIC_TASKS, one.what


def test_the_page_is_what_the_command_prints():
    told = StringIO()
    call_command("retention", stdout=told)
    assert (ROOT / "docs" / "retention.md").read_text() == told.getvalue()


def test_the_table_has_the_times_of_the_site(settings):
    settings.LEDGER_DAYS, settings.NOTIFICATION_DAYS = 400, 1
    text = "\n".join(retention.lines())
    assert "| 400 days after the post | `LEDGER_DAYS` |" in text
    assert "| 1 day after they were made | `NOTIFICATION_DAYS` |" in text
    settings.LEDGER_DAYS = 0
    settings.EVENT_DAYS = 0  # they are deleted as soon as they are handled
    text = "\n".join(retention.lines())
    assert "| for ever | `LEDGER_DAYS` |" in text
    assert "| 0 hours after they were handled | `EVENT_DAYS` |" in text


@pytest.fixture
def old_and_new(db, alice, bob):
    """Five posts of ten days ago and one of today, all delivered."""
    with seconds_ago(10 * DAY):
        old = [delivered(alice, f"old {number}") for number in range(5)]
    Post.objects.update(created_at=Now() - timedelta(days=10))
    return [post.pk for post in old], delivered(alice, "new").pk


def test_the_ledger_stays_for_ever_by_default(old_and_new):
    assert receipts.purge_ledger() == 0
    assert FanoutJob.objects.count() == 6


@pytest.mark.slow
def test_old_deliveries_go_in_batches_and_are_not_missed(old_and_new, settings, monkeypatch):
    _old, new = old_and_new
    settings.LEDGER_DAYS = 7
    monkeypatch.setattr(sql, "PURGE_BATCH_SIZE", 2)
    with CaptureQueriesContext(connection) as captured:
        assert receipts.purge_ledger() == 5
    deletions = [
        one for one in captured if one["sql"].startswith('DELETE FROM "timeline_fanoutjob"')
    ]
    assert len(deletions) == 3
    assert [job.pk for job in FanoutJob.objects.all()] == [new]
    assert set(FanoutChunk.objects.values_list("job_id", flat=True)) == {new}
    assert Post.objects.count() == 6
    assert sum(auditor.run_once().violations for _turn in range(4)) == 0


@pytest.mark.slow
def test_the_auditor_would_miss_them_without_the_setting(old_and_new, settings):
    """And so the deletion and the auditor have to agree where the ledger begins."""
    old, _new = old_and_new
    FanoutJob.objects.filter(pk__in=old[1:3]).delete()
    settings.LEDGER_DAYS = 7
    auditor.run_once()
    assert not AuditFinding.objects.exists()
    settings.LEDGER_DAYS = 0
    auditor.run_once()
    assert set(AuditFinding.objects.values_list("post_id", flat=True)) == set(old[1:3])


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("state", [State.PENDING, State.DEAD])
@pytest.mark.parametrize("model", [FanoutJob, FanoutChunk])
def test_what_is_unfinished_stays_and_all_that_came_after_it(old_and_new, settings, state, model):
    old, new = old_and_new
    settings.LEDGER_DAYS = 7
    key = "pk" if model is FanoutJob else "job"
    model.objects.filter(**{key: old[2]}).update(state=state)
    assert receipts.purge_ledger() == 2
    assert [job.pk for job in FanoutJob.objects.order_by("pk")] == [*old[2:], new]


def test_backfills_that_ended_go_and_those_that_are_owed_stay(alice, settings):
    made = []
    for state in (State.DONE, State.PENDING):
        job = Backfill.objects.create(
            author=alice, post_ids=[], state=State.DONE, finished_at=Now()
        )
        BackfillChunk.objects.create(job=job, first_edge=1, last_edge=2, expected=0, state=state)
        made.append(job.pk)
    receipts.purge_ledger()
    assert Backfill.objects.count() == 2
    Backfill.objects.update(finished_at=Now() - timedelta(days=settings.RECEIPT_DAYS + 1))
    receipts.purge_ledger()
    assert [job.pk for job in Backfill.objects.all()] == made[1:]


def test_old_notifications_go_oldest_first_in_batches(alice, settings, monkeypatch):
    monkeypatch.setattr(notifications, "DELETE_BATCH_SIZE", 2)
    rows = [
        Notification.objects.create(user=alice, kind="follow", actor=make_user()) for _ in range(7)
    ]
    Notification.objects.filter(pk__lte=rows[4].pk).update(created_at=Now() - timedelta(days=40))
    assert notifications.purge() == 0  # for ever by default
    settings.NOTIFICATION_DAYS = 30
    assert notifications.purge(seconds=0) == 2
    assert notifications.purge() == 3
    assert [one.pk for one in Notification.objects.order_by("pk")] == [one.pk for one in rows[5:]]
    assert notifications.purge() == 0


def test_the_ledger_begins_at_a_day(settings):
    settings.LEDGER_DAYS = 0
    assert receipts.ledger_begin() == 0
    settings.LEDGER_DAYS = 36_500
    assert receipts.ledger_begin() == first_id_at(1_420_070_400)
