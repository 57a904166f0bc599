"""The page of an account has what staff know of it, each by permission."""

import pytest

from apps.moderation.actions import file_report, suspend_user
from tests.support.factories import publish
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
SEES, ACTS = "moderation.view_report", "moderation.change_report"


@pytest.fixture
def report(alice, carol):
    return file_report(carol, alice, post_ids=[publish(alice, "You are all fools.").pk])


@pytest.fixture
def mod():
    permissions = (SEES, ACTS, "posts.delete_post", "posts.view_post", "accounts.change_user")
    return make_staff(*permissions, handle="mod")


@pytest.mark.slow
def test_an_account_has_its_reports_posts_sessions_and_what_staff_did(report, mod, alice, page_of):
    page_of(alice)
    suspend_user(alice, by=mod, reason="Insults.")
    listed = f"/admin/moderation/report/{report.pk}/change/"
    address = f"/admin/accounts/user/{alice.pk}/change/"
    text = browser_of(mod).get(address).text
    for part in ("Suspended: Insults.", listed, "You are all fools.", "Where it is logged in"):
        assert part in text
    few = browser_of(make_staff("accounts.view_user")).get(address).text
    assert "Suspended: Insults." in few
    assert "You are all fools." not in few
    assert listed not in few


def test_texts_for_few_are_not_on_the_page_of_an_account(mod, alice):
    publish(alice, "For few.", visibility="followers")
    text = browser_of(mod).get(f"/admin/accounts/user/{alice.pk}/change/").text
    assert "For few." not in text
    assert "(limited audience)" in text


@pytest.mark.long
def test_permissions_are_there_and_folded(chief, alice):
    text = chief.get(f"/admin/accounts/user/{alice.pk}/change/").text
    assert 'name="user_permissions"' in text
    assert "<details" in text[: text.index('name="user_permissions"')]
