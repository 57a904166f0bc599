"""Staff read and type times of their own zone."""

from datetime import UTC, datetime

import pytest

from apps.notifications.models import Announcement
from tests.support.cases import each
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
LIST = "/admin/notifications/announcement/"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def browser():
    return browser_of(make_staff(superuser=True))


@pytest.fixture
def said():
    return Announcement.objects.create(text="Hello.", published_at=NOON)


@pytest.mark.slow
@each("zone, shown, name", [("Asia/Shanghai", "8 p.m.", "Asia/Shanghai"), 
                            ("America/New_York", "7 a.m.", "America/New_York"),
                            ("", "noon", "UTC"), ("No/Where", "noon", "UTC"), ("../../etc/passwd", "noon", "UTC"),
                            ("Asia", "noon", "UTC"), ("x" * 3000, "noon", "UTC")])  # fmt: skip
def test_lists_show_the_zone_of_the_reader(browser, said, zone, shown, name):
    browser.cookies["zone"] = zone
    page = browser.get(LIST).text
    assert f"March 1, 2026, {shown}" in page
    assert f"Time zone: {name}" in page


def test_forms_take_it_and_have_one_labelled_field_for_a_moment(browser, said):
    browser.cookies["zone"] = "Asia/Shanghai"
    address = f"{LIST}{said.pk}/change/"
    page = browser.get(address).text
    assert 'type="datetime-local" name="published_at" value="2026-03-01T20:00"' in page
    assert 'for="id_published_at"' in page
    form = {"text": "Hello.", "published_at": "2026-03-02T08:30", "starts_at": "", "ends_at": ""}
    assert browser.post(address, form).status_code == 302
    said.refresh_from_db()
    assert said.published_at == datetime(2026, 3, 2, 0, 30, tzinfo=UTC)


def test_other_pages_do_not_know_the_cookie(alice, page_of):
    browser = page_of(alice)
    browser.cookies["zone"] = "Asia/Shanghai"
    before = browser.get("/settings/account").text
    browser.cookies["zone"] = ""
    assert "Asia/Shanghai" not in before
    assert browser.get("/settings/account").status_code == 200
