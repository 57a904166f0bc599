"""Auditors and web servers whose clocks are wrong: what is told of times is true all the same."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from apps.audit import auditor, report
from apps.audit.models import AuditFinding, AuditRound, AuditRun, Kind
from apps.audit.repairs import AuditPass
from apps.audit.report import audit_report
from apps.events.models import Event
from apps.pagination import Cursor
from apps.timeline.fanout.author_receipts import receipt_of
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob
from feedsite.monitoring.health import _findings
from tests.events.test_clocks import deliver_by_another_clock, is_now, wrong_clock
from tests.support.factories import delivered, publish

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _report_is_made_anew():
    report._reports.clear()


def not_repaired():
    raise RuntimeError("a mistake that stays")


@pytest.mark.long
@wrong_clock
def test_runs_rounds_and_findings_are_dated_by_the_database(alice, bob, step):
    delivered(alice, "something to compare")
    for travelled in (timedelta(), step, timedelta()):
        with time_machine.travel(timezone.now() + travelled):
            auditor.run_once()
            auditor._save(audit_pass_with_a_finding())
    assert all(is_now(run.started_at) for run in AuditRun.objects.all())
    finding = AuditFinding.objects.get()
    assert finding.times == 3
    assert is_now(finding.found_at)
    assert is_now(finding.last_found_at)
    seconds = [one.seconds for one in AuditRound.objects.all() if one.seconds is not None]
    assert seconds
    assert 0 <= min(seconds) <= max(seconds) < 60
    assert "could not repair 1" in str(_findings())


def audit_pass_with_a_finding():
    audit_pass = AuditPass()
    audit_pass.found(Kind.UNDELIVERED, not_repaired, post_id=1)
    return audit_pass


@wrong_clock
def test_a_web_server_with_another_clock_tells_the_runs_and_findings_of_today(alice, step):
    auditor._save(audit_pass_with_a_finding())
    with time_machine.travel(timezone.now() + step):
        told = audit_report()
    assert (told.runs, told.kinds) == (1, [(Kind.UNDELIVERED, 1, 0)])
    assert is_now(told.made_at)


@wrong_clock
def test_a_suspect_is_looked_at_when_it_is_due_whoever_queued_it(alice, settings, step):
    settings.AUDIT_GRACE_SECONDS = 20
    with time_machine.travel(timezone.now() + step, tick=False):
        auditor._add_suspect(auditor.Suspect(alice.pk, [1]))
    assert auditor._pop_suspects(10)


def test_a_suspect_waits_for_its_time(alice, settings):
    settings.AUDIT_GRACE_SECONDS = 1000
    auditor._add_suspect(auditor.Suspect(alice.pk, [1]))
    assert auditor._pop_suspects(10) == []


@wrong_clock
def test_the_books_of_a_worker_with_another_clock_are_dated_by_the_database(alice, bob, step):
    post = publish(alice, "to be delivered")
    with time_machine.travel(timezone.now() + step):
        deliver_by_another_clock()
    assert is_now(FanoutJob.objects.get(pk=post.pk).finished_at)


@wrong_clock
def test_a_web_server_with_another_clock_says_of_a_new_post_that_it_is_on_its_way(alice, bob, step):
    post = publish(alice, "just now")
    with time_machine.travel(timezone.now() + step):
        assert receipt_of(alice, post.pk).text == "It is on its way."


def test_a_delivery_that_ended_before_it_began_took_nobody_knows_how_long(alice, bob):
    """PostgreSQL's clock went back in between."""
    home_timeline(bob, Cursor())  # to be there to be reached
    post = delivered(alice, "from tomorrow")
    FanoutChunk.objects.update(finished_at=post.created_at - DAY)
    receipt = receipt_of(alice, post.pk)
    assert receipt.text == "Reached 1 of 1 follower."
    assert receipt.seconds is None
    assert audit_report().speed["p50"] is None


def test_what_waits_since_tomorrow_has_waited_for_no_time(alice, bob):
    publish(alice, "from tomorrow")
    Event.objects.update(created_at=timezone.now() + DAY)
    assert audit_report().backlog["oldest_seconds"] == 0
