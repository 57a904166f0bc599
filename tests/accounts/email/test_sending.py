"""Mails of accounts: by task, with a time-out and an end of trying; no link in a row, a message or a log."""

import logging
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.core import mail as outgoing
from django.core.checks import run_checks
from django.test import Client
from django.utils import timezone

from apps.accounts import tasks
from apps.accounts.email import sending
from apps.accounts.email.sending import mail_goes_out
from apps.accounts.models import Mail, MailKind
from apps.events import actions as events
from apps.events.leases import MAX_ATTEMPTS, State
from tests.support.factories import deliver

pytestmark = pytest.mark.django_db

CONSOLE = "django.core.mail.backends.console.EmailBackend"


def ask(email="alice@example.org"):
    return Client().post("/password/reset", {"email": email})


def test_the_request_sends_nothing_and_does_the_same_for_everybody(
    alice, django_assert_num_queries
):
    with django_assert_num_queries(1):
        assert ask().status_code == 303
    with django_assert_num_queries(1):
        assert ask("nobody@example.org").status_code == 303
    assert outgoing.outbox == []
    deliver()
    assert [one.to for one in outgoing.outbox] == [["alice@example.org"]]


def test_a_message_and_a_row_hold_no_token(alice, monkeypatch):
    rung: list[tuple[object, ...]] = []
    monkeypatch.setattr(sending, "enqueue", lambda *said: rung.append(said))
    ask()
    row = Mail.objects.get()
    assert rung == [("apps.accounts.tasks.send_mail", row.pk)]
    deliver()
    [token] = str(outgoing.outbox[0].body).split("/password/reset/")[1].split()[:1]
    row.refresh_from_db()
    said = {str(getattr(row, field.attname)) for field in row._meta.concrete_fields}
    assert not any(token.split("/")[1] in text for text in said)


def test_a_mail_is_sent_once_however_often_its_message_comes(alice):
    ask()
    for _ in range(3):
        tasks.send_mail(Mail.objects.get().pk)
    assert len(outgoing.outbox) == 1
    assert Mail.objects.get().state == State.DONE


def test_a_server_that_does_not_answer_is_tried_so_often(alice, settings, caplog):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    ask()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        tasks.send_mail(Mail.objects.get().pk)
        row = Mail.objects.get()
        assert row.attempts == attempt
        if attempt < MAX_ATTEMPTS:
            assert row.due_at > timezone.now() + timedelta(seconds=50)
            assert sending.due() == []
        Mail.objects.update(due_at=timezone.now())
    assert Mail.objects.get().state == State.DEAD
    assert "/password/reset/" not in caplog.text + Mail.objects.get().last_error


def test_a_server_that_hangs_holds_two_workers_at_most(alice):
    for _ in range(3):
        sending.enqueue_mail(MailKind.PASSWORD_RESET, address="alice@example.org")
    held = Mail.objects.order_by("pk").values_list("pk", flat=True)[:2]
    Mail.objects.filter(pk__in=list(held)).update(
        attempts=1, started_at=timezone.now(), due_at=timezone.now() + timedelta(seconds=30)
    )
    assert sending.run_due(limit=5) == 0
    Mail.objects.update(started_at=timezone.now() - timedelta(seconds=31))  # they were killed
    assert sending.run_due(limit=5) == 1
    assert len(outgoing.outbox) == 1


def test_every_step_with_the_mail_server_has_a_time_out():
    assert 0 < django_settings.EMAIL_TIMEOUT <= 10


def test_what_no_message_reached_is_swept(alice, monkeypatch):
    monkeypatch.setattr(sending, "enqueue", lambda *_said: None)
    ask()
    rung: list[tuple[object, ...]] = []
    monkeypatch.setattr(tasks, "enqueue", lambda *said: rung.append(said))
    tasks.sweep_mail()
    assert rung == [("apps.accounts.tasks.send_mail", Mail.objects.get().pk)]


def test_mails_do_not_stay(alice):
    ask()
    deliver()
    tasks.purge_mail()
    assert Mail.objects.count() == 1
    Mail.objects.update(finished_at=timezone.now() - timedelta(days=2))
    tasks.purge_mail()
    assert not Mail.objects.exists()


def test_many_requests_for_nobody_end_the_sending_of_links(alice, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "password_reset_site": (2, 300)}
    for number in range(2):
        assert ask(f"nobody{number}@example.org").status_code == 303
    deliver()
    assert ask().status_code == 429


class TestTheConsole:
    def test_is_refused_in_production(self, settings):
        settings.PRODUCTION, settings.EMAIL_BACKEND = True, CONSOLE
        assert "accounts.E001" in [found.id for found in run_checks()]
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        assert mail_goes_out() == []

    def test_is_for_development(self, settings):
        settings.PRODUCTION, settings.EMAIL_BACKEND = False, CONSOLE
        assert mail_goes_out() == []

    def test_prints_no_link_in_production_even_if_nobody_checked(
        self, alice, settings, capsys, caplog
    ):
        settings.PRODUCTION, settings.EMAIL_BACKEND = True, CONSOLE
        ask()
        with caplog.at_level(logging.DEBUG):
            deliver()
        assert "/password/reset/" not in capsys.readouterr().out + caplog.text
        assert Mail.objects.get().state == State.PENDING


def test_events_are_not_held_up_by_mail(alice):
    ask()
    assert events.run_due(limit=10) == 0
