"""The first page of staff: what is wrong and what waits, for those who may see it, and the lists by task."""

import re
from collections import namedtuple
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.contrib import admin
from django.test import RequestFactory
from django.utils import timezone

from apps.audit.models import AuditFinding, AuditRun
from apps.events.leases import State
from apps.events.models import Event
from apps.moderation.actions import file_report, resolve_report
from apps.moderation.models import Report
from apps.timeline.models import Backfill
from feedsite.monitoring import staff_home
from tests.support.factories import make_user, publish
from tests.support.staff import MAX_QUERIES, browser_of, make_staff

pytestmark = pytest.mark.django_db
HOME = "/admin/"
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def room(monkeypatch):
    """A disk with room, whatever the machine of the tests has."""
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: Usage(100, 40, 60))


@pytest.fixture(autouse=True)
def healthy(monkeypatch):
    """Servers that work: what they say when they do not is a test of its own."""
    state = {"deliveries_behind_seconds": 0, "checks": {"redis": {"ok": True}}}
    monkeypatch.setattr(staff_home, "current_state", lambda: state)
    monkeypatch.setattr(staff_home, "node_statuses", lambda _topology: [])
    return state


def lines(browser) -> list[tuple[bool, str]]:
    """What waits: whether it is bad, and the sentence."""
    page = browser.get(HOME).text
    listed = page[page.index('class="waits"') : page.index("</ul>", page.index('class="waits"'))]
    found = re.findall(r"<li( class=\"bad\")?>(.*?)</li>", listed, re.DOTALL)
    without_links = re.compile(r"<a .*?</a>", re.DOTALL)
    return [(bool(bad), without_links.sub("", text).strip()) for bad, text in found]


def test_nothing_waits(chief):
    assert lines(chief) == [(False, "Nothing is waiting.")]


def test_open_reports_are_counted_with_the_age_of_the_oldest(chief, alice, carol):
    old, _new = file_report(carol, alice), file_report(carol, alice)
    resolve_report(file_report(carol, alice), by=make_staff(superuser=True), outcome="No.")
    Report.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=3, hours=2))
    [(bad, text)] = lines(chief)
    assert (bad, text) == (False, "2 reports are waiting for an answer, the oldest for 3\xa0days.")
    assert 'href="/admin/moderation/report/queue/"' in chief.get(HOME).text


def test_counting_is_bounded(chief, alice, carol, monkeypatch):
    monkeypatch.setattr(staff_home, "MAX_COUNTED", 1)
    for _time in range(3):
        file_report(carol, alice)
    assert lines(chief)[0][1].startswith("1+ reports")


def test_dead_letters_and_findings_are_bad_and_stand_first(chief, alice, carol):
    file_report(carol, alice)
    publish(alice)
    event = Event.objects.latest("pk")
    Event.objects.filter(pk=event.pk).update(state=State.DEAD)
    Backfill.objects.create(author=alice, post_ids=[], state=State.DEAD)
    run = AuditRun.objects.create(started_at=timezone.now())
    AuditFinding.objects.create(run=run, kind="missing")
    found = lines(chief)
    assert [bad for bad, _text in found] == [True, True, True, False]
    texts = {text for _bad, text in found}
    assert {f"1 dead letter is waiting ({kind})." for kind in ("events", "backfills")} <= texts
    assert any("1 mistake within a day that it could not repair" in text for _bad, text in found)
    assert 'href="/admin/events/event/?state__exact=dead"' in chief.get(HOME).text


def test_late_deliveries_broken_servers_and_full_disks(chief, healthy, monkeypatch):
    healthy["deliveries_behind_seconds"] = 42
    healthy["checks"] = {
        "redis": {"ok": False, "error": "does not answer"},
        "deliveries": {"ok": False, "error": "told above"},
    }
    node = SimpleNamespace(name="main-1")
    health = SimpleNamespace(is_well=False, error="refused")
    status = SimpleNamespace(node=node, health=health)
    monkeypatch.setattr(staff_home, "node_statuses", lambda _topology: [status])
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: Usage(100, 95, 5))
    found = lines(chief)
    assert all(bad for bad, _text in found)
    texts = [text for _bad, text in found]
    assert "Deliveries are 42 seconds behind." in texts
    assert "The cache node main-1 does not work: refused." in texts
    assert "redis: does not answer." in texts
    assert any(re.fullmatch(r"The disk of .+ is 95 % full\.", text) for text in texts)
    assert not any("told above" in text for text in texts)
    healthy["deliveries_behind_seconds"] = 0
    healthy["checks"]["deliveries"]["error"] = "the clock went back"
    assert "deliveries: the clock went back." in [text for _bad, text in lines(chief)]


def test_staff_learn_only_of_what_they_may_see(alice, carol):
    file_report(carol, alice)
    for permission, number in (("moderation.view_report", 1), ("events.view_event", 0)):
        found = lines(browser_of(make_staff(permission)))
        assert sum("report" in text for _bad, text in found) == number


def test_every_list_stands_in_one_group(chief):
    request = RequestFactory().get(HOME)
    request.user = make_staff(superuser=True)
    apps = admin.site.get_app_list(request)
    grouped = [model["admin_url"] for _name, models in staff_home.tasks(apps) for model in models]
    assert sorted(grouped) == sorted(model["admin_url"] for app in apps for model in app["models"])
    page = chief.get(HOME).text
    assert all(page.count(f'href="{address}"') >= 1 for address in grouped)
    assert 'href="/admin/operations/cachenode/service-level/"' in page


def test_who_may_open_nothing_is_told_so():
    assert "permission to view or edit anything" in browser_of(make_staff()).get(HOME).text


def test_pages_of_an_app_have_its_lists(chief):
    page = chief.get("/admin/moderation/").text
    assert 'href="/admin/moderation/report/"' in page


def test_the_first_page_has_a_bounded_number_of_queries(
    chief, alice, django_assert_max_num_queries
):
    for _time in range(5):
        file_report(make_user(), alice)
    chief.get(HOME)
    with django_assert_max_num_queries(MAX_QUERIES + 4):  # a count of each kind that may wait
        chief.get(HOME)
