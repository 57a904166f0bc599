"""The policy of notifications and what it holds back, as pages."""

import re

import pytest

from apps.accounts.queries import user_by_id
from apps.engagement.actions import like_post
from apps.notifications.actions import change_policy
from apps.notifications.kinds import NotificationKind
from apps.notifications.queries import notifications_page, policy_of
from apps.pagination import Cursor
from tests.support.factories import delivered, publish
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db
SETTINGS, HELD = "/settings/notifications", "/notifications/requests"
KINDS = list(NotificationKind.values)


@pytest.fixture
def news(alice, bob, carol):
    """What alice, who follows nobody, holds back of bob, who follows her, and of carol."""
    change_policy(alice, for_not_following="filter")
    post = publish(alice, "What a day.")
    for user in (bob, carol):
        like_post(user, post.pk)
    delivered(carol, "@alice Indeed.", reply_to_id=post.pk)


def told(user):
    return [item.actor.handle for item in notifications_page(user_by_id(user.pk), Cursor()).items]


def test_the_policy_is_chosen_by_a_form_and_kept(alice, page_of):
    browser = page_of(alice)
    said = {"kinds": KINDS, "for_not_following": "filter", "for_new_accounts": "drop"}
    assert browser.post(SETTINGS, said).status_code == 303
    policy = policy_of(user_by_id(alice.pk))
    assert (policy.for_not_following, policy.for_new_accounts) == ("filter", "drop")
    assert policy.for_not_followers == "accept"
    page = browser.get(SETTINGS).text
    assert re.findall(r'<option value="(\w+)" selected', page) == [
        "filter",
        "accept",
        "drop",
        "accept",
        "accept",
    ]


def test_what_is_not_said_stays(alice, page_of):
    change_policy(alice, for_not_following="drop")
    assert page_of(alice).post(SETTINGS, {"kinds": KINDS}).status_code == 303
    assert policy_of(alice).for_not_following == "drop"


def test_what_is_no_verdict_is_refused(alice, page_of):
    said = {"kinds": KINDS, "for_not_following": "maybe"}
    assert page_of(alice).post(SETTINGS, said).status_code == 422
    assert policy_of(alice).for_not_following == "accept"


def test_the_way_there_is_shown_to_those_who_hold_something_back(alice, page_of):
    browser = page_of(alice)
    assert HELD not in browser.get("/notifications").text
    change_policy(alice, for_not_following="filter")
    assert f'href="{HELD}"' in browser.get("/notifications").text


@pytest.mark.slow
def test_held_back_by_account_then_one_by_one(news, alice, carol, page_of):
    browser = page_of(alice)
    page = browser.get(HELD).text
    assert page.index("@carol") < page.index("@bob")
    assert "2 notifications" in page
    page = browser.get(f"{HELD}/@carol").text
    assert "@alice Indeed." in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "left"), [("accept", ["carol", "carol", "bob"]), ("dismiss", ["bob"])]
)
def test_accounts_are_accepted_or_dismissed(news, alice, page_of, verb, left):
    browser = page_of(alice)
    answer = browser.post(f"{HELD}/@carol/{verb}")
    assert (answer.status_code, answer["Location"]) == (303, HELD)
    assert told(alice) == left
    assert "@carol</span>" not in browser.get(HELD).text.split("<main")[1].split("</main>")[0]
    assert browser.get(f"{HELD}/@carol").status_code == 404
    change_policy(alice, for_not_following="accept")
    assert ("carol" in told(alice)) is (verb == "accept")


def test_nothing_held_back_says_what_decides(alice, page_of):
    page = page_of(alice).get(HELD).text
    assert EMPTY in page
    assert SETTINGS in page


@pytest.mark.slow
def test_nobody_sees_or_answers_what_is_held_back_of_others(news, alice, bob, page_of):
    assert "@carol" not in page_of(bob).get(HELD).text.split("<main")[1].split("</main>")[0]
    page_of(bob).post(f"{HELD}/@carol/dismiss")
    assert "2 notifications" in page_of(alice).get(HELD).text
    assert page_of(None).get(HELD)["Location"].startswith("/login")
    assert page_of(alice).get(f"{HELD}/@carol/accept").status_code == 405
    assert page_of(alice).post(f"{HELD}/@nobody/accept").status_code == 404
