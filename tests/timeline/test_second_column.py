"""The second column of home: a setting of the member, and nothing on the page of who does not want it."""

import pytest

from apps.accounts.actions import update_settings
from apps.engagement.actions import like_post
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import UserList
from apps.web.timelines.second_column import second_columns
from tests.support.cases import each
from tests.support.factories import deliver, publish

pytestmark = pytest.mark.django_db
COLUMN, READING = "/home/beside", "/settings/reading"
HTMX = {"HX-Request": "true"}


def choose(browser, value):
    return browser.post(READING, {"density": "comfortable", "second_column": value})


@pytest.fixture
def friends(alice, bob):
    """A list of bob's that alice is in, with a post of hers."""
    own = create_group(UserList, bob, name="Friends & <b>more")
    add_members(UserList, bob, own.pk, [alice.pk])
    publish(alice, "Fog at the river.")
    deliver()
    return own


def test_home_asks_for_it_only_where_it_is_wanted(bob, page_of):
    browser = page_of(bob)
    before = browser.get("/").text
    assert COLUMN not in before
    assert "notifications.css" not in before
    assert choose(browser, "notifications").status_code == 303
    assert f'hx-get="{COLUMN}"' in browser.get("/").text
    assert "checked" in browser.get(READING).text.split('value="notifications"')[1].split(">")[0]
    choose(browser, "")
    assert COLUMN not in browser.get("/").text


def test_notifications_are_shown_and_stay_unread(alice, bob, page_of):
    like_post(bob, publish(alice, "Fog at the river.").pk)
    deliver()
    browser = page_of(alice)
    choose(browser, "notifications")
    shown = browser.get(COLUMN, headers=HTMX).text
    assert "Fog at the river." in shown
    assert 'href="/notifications"' in shown
    assert browser.get("/notifications/unread").text == "2\n"  # a like, and the follow


def test_a_list_is_shown(alice, bob, friends, page_of):
    browser = page_of(bob)
    assert (f"list-{friends.pk}", friends.name) in second_columns(bob)
    choose(browser, f"list-{friends.pk}")
    shown = browser.get(COLUMN, headers=HTMX).text
    assert "Fog at the river." in shown
    assert "Friends &amp; &lt;b&gt;more" in shown
    assert browser.get(COLUMN).headers["Location"] == f"/lists/{friends.pk}"  # without scripts


def test_a_list_of_somebody_else_or_that_is_gone_shows_nothing(bob, carol, friends, page_of):
    assert choose(page_of(carol), f"list-{friends.pk}").status_code == 422
    update_settings(carol, second_column=f"list-{friends.pk}")
    shown = page_of(carol).get(COLUMN, headers=HTMX)
    assert shown.status_code == 200
    assert "This list no longer exists." in shown.text
    assert "Fog" not in shown.text


@each("value", ["circle-1", "list-", "list-x", "list-0", "public", "x" * 40])
def test_what_is_no_choice_is_refused(bob, page_of, value):
    assert choose(page_of(bob), value).status_code == 422


def test_without_a_choice_the_address_leads_to_notifications(bob, page_of):
    assert page_of(bob).get(COLUMN).headers["Location"] == "/notifications"
    assert page_of(None).get(COLUMN).headers["Location"].startswith("/login")
