"""The staff page "Game days": past report cards, and the start of one by lot."""

from dataclasses import asdict

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.errors import Conflict, NotAllowed
from apps.gameday import actions
from apps.gameday.actions import begin, carry_out
from apps.gameday.faults import faults
from apps.gameday.models import Run
from tests.gameday.test_cards import card_of
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db

LIST = "/admin/gameday/run/"
START = f"{LIST}start/"


@pytest.fixture(autouse=True)
def staging(settings):
    settings.GAMEDAY = "1"


@pytest.fixture
def staff():
    return browser_of(make_staff("gameday.view_run", "gameday.add_run", handle="sue"))


@pytest.fixture
def enqueued(monkeypatch):
    calls = []
    monkeypatch.setattr(actions, "enqueue", lambda *args: calls.append(args))
    return calls


def test_a_game_day_is_started_after_a_confirmation(
    staff, enqueued, django_capture_on_commit_callbacks
):
    assert START in staff.get(LIST).content.decode()
    page = staff.get(START).content.decode()
    assert "StoreDown" in page
    assert not Run.objects.exists()
    with django_capture_on_commit_callbacks(execute=True):
        answer = staff.post(START)
    row = Run.objects.get()
    assert answer.url == reverse("admin:gameday_run_change", args=[row.pk])
    assert (row.made_by, row.by_lot, row.seconds) == ("sue", True, faults()[row.fault].seconds)
    assert enqueued == [(actions.TASK, row.pk)]
    assert 'role="status"' in staff.get(answer.url).content.decode()


def test_only_one_at_a_time(staff):
    begin(faults()["posts_locked"], seconds=60, by="ops", by_lot=False)
    assert staff.post(START).status_code == 409
    assert Run.objects.count() == 1


def test_one_whose_process_has_died_does_not_block_others():
    first = begin(faults()["posts_locked"], seconds=60, by="ops", by_lot=False)
    with pytest.raises(Conflict):
        begin(faults()["posts_locked"], seconds=60, by="ops", by_lot=False)
    Run.objects.update(created_at=timezone.now() - actions.GRACE - timezone.timedelta(seconds=61))
    begin(faults()["posts_locked"], seconds=60, by="ops", by_lot=False)
    first.refresh_from_db()
    assert first.error
    assert first.ended_at


def test_it_is_carried_out_once_and_only_on_a_site_that_answers():
    row = begin(faults()["posts_locked"], seconds=60, by="ops", by_lot=False)
    with pytest.raises(Exception, match="does not answer"):
        carry_out(row)  # nothing listens at the tests' SITE_URL
    row.refresh_from_db()
    assert row.ended_at
    assert row.card is None
    assert "does not answer" in row.error
    assert carry_out(row) is None


def test_a_run_that_was_ended_before_it_began_is_not_carried_out():
    row = begin(faults()["posts_locked"], seconds=60, by="ops", by_lot=False)
    Run.objects.filter(pk=row.pk).update(ended_at=timezone.now())
    assert carry_out(row) is None


def test_old_report_cards_are_deleted(monkeypatch):
    monkeypatch.setattr(actions, "MAX_RUNS", 2)
    for _number in range(3):
        row = begin(faults()["posts_locked"], seconds=60, by="ops", by_lot=False)
        Run.objects.filter(pk=row.pk).update(ended_at=timezone.now())
    assert Run.objects.count() == 2


def test_not_without_permission_and_not_on_other_sites(staff, settings):
    reader = browser_of(make_staff("gameday.view_run"))
    assert START not in reader.get(LIST).content.decode()
    assert reader.get(START).status_code == reader.post(START).status_code == 403
    settings.GAMEDAY = ""
    assert "<form method" not in staff.get(START).content.decode().partition("content-main")[2]
    assert staff.post(START).status_code == 409
    assert not Run.objects.exists()
    with pytest.raises(NotAllowed):
        begin(faults()["posts_locked"], seconds=60, by="ops", by_lot=False)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_report_card(staff, language):
    card = card_of("redis_writes", lost=1)
    stored = {**asdict(card), "passed": card.passed}
    row = Run.objects.create(
        fault="redis_writes", seconds=60, made_by="sue", ended_at=timezone.now(), card=stored
    )
    address = f"{LIST}{row.pk}/change/"
    page = staff.get(address, headers={"accept-language": language}).content.decode()
    assert "StoreDown" in page
    assert page.count("<td><strong>") == 1  # what did not hold
    assert staff.get(f"{LIST}999/change/").status_code == 404
