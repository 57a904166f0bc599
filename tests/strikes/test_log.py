"""The log of all that staff did: filters, and the same list as a file."""

import csv

import pytest
from django.contrib.admin.models import LogEntry

from apps.accounts.staff import log_action
from apps.strikes.admin import LogAdmin
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
LOG, FILE = "/admin/admin/logentry/", "/admin/admin/logentry/log.csv"


@pytest.fixture
def entries(alice, bob):
    one, two = make_staff(handle="one"), make_staff(handle="two")
    log_action(one, alice, "Suspended: =SUM(A1)")
    log_action(two, bob, "=HYPERLINK()")
    return one, two


def lines(browser, query=""):
    answer = browser.get(f"{FILE}{query}")
    assert answer.status_code == 200
    return list(csv.reader(answer.getvalue().decode().splitlines()))


def test_the_file_has_what_the_list_shows(entries, alice, chief):
    one, _two = entries
    head, *rows = lines(chief)
    assert head == ["when", "who", "kind", "number", "object", "what"]
    assert [row[1] for row in rows] == ["two", "one"]
    [row] = lines(chief, f"?user__id__exact={one.pk}")[1:]
    assert row[1:] == ["one", "user", str(alice.pk), "'@alice", "Suspended: =SUM(A1)"]
    assert "Suspended" in chief.get(f"{LOG}?user__id__exact={one.pk}").text
    assert "HYPERLINK" not in chief.get(f"{LOG}?user__id__exact={one.pk}").text
    assert f"{FILE}?user__id__exact={one.pk}" in chief.get(f"{LOG}?user__id__exact={one.pk}").text


def test_no_text_becomes_a_formula(entries, chief):
    assert "'=HYPERLINK()" in [row[-1] for row in lines(chief)]


def test_an_export_is_on_record_itself(entries, chief):
    lines(chief)
    newest = LogEntry.objects.latest("pk")
    assert (newest.user.handle, newest.get_change_message()) == ("chief", "Log exported.")


def test_the_log_asks_for_the_permission_and_nobody_changes_it(entries, chief):
    assert browser_of(make_staff("moderation.change_report")).get(LOG).status_code == 403
    assert browser_of(make_staff("moderation.change_report")).get(FILE).status_code == 403
    reader = browser_of(make_staff("admin.view_logentry"))
    assert reader.get(LOG).status_code == 200
    assert reader.get(FILE).status_code == 200
    entry = LogEntry.objects.latest("pk")
    assert chief.post(f"{LOG}{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    assert LogEntry.objects.filter(pk=entry.pk).exists()


def test_it_is_searched_by_number(entries, alice, chief):
    text = chief.get(f"{LOG}?q={alice.pk}").text
    assert "Suspended" in text
    assert "HYPERLINK" not in text


def test_the_file_has_no_pages_and_refuses_what_is_no_filter(entries, chief, monkeypatch):
    monkeypatch.setattr(LogAdmin, "list_per_page", 1)
    assert f'{FILE}?q=1"' in chief.get(f"{LOG}?q=1&p=1").text
    for query in ("?p=999", "?user__id__exact=x", "?nonsense=1"):
        assert chief.get(f"{FILE}{query}").status_code == 400, query
