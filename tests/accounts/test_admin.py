"""The admin as a whole, and accounts in it."""

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from apps.accounts.actions import issue_token
from apps.accounts.models import AccessToken, User
from apps.events import admin as events_admin
from tests.support.cases import each
from tests.support.factories import PASSWORD, make_user, publish, suspend
from tests.support.staff import browser_of, choose, confirm, make_staff

pytestmark = pytest.mark.django_db
USERS = "/admin/accounts/user/"


@pytest.fixture
def moderator():
    return browser_of(make_staff("accounts.view_user", "accounts.change_user", handle="moderator1"))


def page(user: User) -> str:
    return f"{USERS}{user.pk}/change/"


def lists() -> list[str]:
    return [
        reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")
        for model in admin.site._registry
    ]


@pytest.mark.long
@pytest.mark.gate
@each("path", ["/admin/", *lists()])
def test_only_staff_get_in(page_of, alice, path):
    refused = page_of(None).get(path)
    assert refused.status_code == 302
    login = page_of(None).get(refused["Location"])
    assert login.status_code == 302
    assert login["Location"].startswith("/login?next=/admin/")
    members = page_of(alice).get(path, follow=True)
    assert members.status_code == 403


def test_login_never_sends_in_a_circle(chief):
    assert chief.get("/admin/login/")["Location"] == "/admin/"


@pytest.mark.long
@pytest.mark.gate
def test_every_list_is_closed_without_the_right_to_see_it(subtests):
    browser = browser_of(make_staff())
    for path in lists():
        with subtests.test(path=path):
            assert browser.get(path).status_code == 403


def test_site_name_is_the_title(chief, settings):
    assert settings.SITE_NAME in chief.get("/admin/").content.decode()


@pytest.mark.slow
@each("query", ["alice", "@Alice", "ALI", "Wen", "alice@example", "wen", "Alice Wen"])
def test_search_finds_handle_name_and_address(chief, alice, carol, query):
    found = chief.get(USERS, {"q": query}).content.decode()
    assert page(alice) in found
    assert page(carol) not in found


@pytest.mark.slow
@each("query", ["nobody", "%", "_", "o'brien", "\\", "x" * 5000])
def test_search_for_nothing(chief, alice, query):
    answer = chief.get(USERS, {"q": query})
    assert answer.status_code == 200
    assert page(alice) not in answer.content.decode()


def test_counting_is_bounded(chief, monkeypatch):
    assert "1 result" in chief.get(USERS).content.decode()
    monkeypatch.setattr(events_admin, "MAX_COUNTED", 2)
    make_user()
    assert "2 results" in chief.get(USERS).content.decode()
    make_user()
    assert "2+ results" in chief.get(USERS).content.decode()


def test_order_by_followers(chief, alice, bob, carol):
    text = chief.get(USERS, {"o": "-4.1"}).content.decode()
    assert text.index(page(alice)) < text.index(page(bob)) < text.index(page(carol))


def test_filters_and_order(chief, alice, carol):
    suspend(carol)
    only = chief.get(USERS, {"suspended": "yes"}).content.decode()
    assert (page(carol) in only, page(alice) in only) == (True, False)
    others = chief.get(USERS, {"suspended": "no", "o": "-4.3"}).content.decode()
    assert (page(carol) in others, page(alice) in others) == (False, True)
    assert page(alice) not in chief.get(USERS, {"is_staff__exact": "1"}).content.decode()


@pytest.mark.slow
def test_user_page_shows_facts_and_no_password(chief, alice):
    publish(alice)
    text = chief.get(page(alice)).content.decode()
    assert alice.password not in text
    assert "argon2" not in text
    assert 'name="id"' not in text
    assert 'name="handle"' not in text


def test_profile_can_be_corrected_and_facts_cannot(chief, alice):
    form = {
        "display_name": "Alice\u202e  W.", "bio": "", "email": "New@Example.org", "id": "1", "handle": "admin",
        "suspended_at_0": "2020-01-01", "password": "x", "posts": "99",
    }  # fmt: skip
    assert chief.post(page(alice), form).status_code == 302
    after = User.objects.select_related("counts").get(pk=alice.pk)
    assert (after.display_name, after.email, after.handle) == (
        "Alice W.",
        "alice@example.org",
        "alice",
    )
    assert after.pending_email == "new@example.org"
    assert (after.suspended_at, after.password, after.counts.posts) == (None, alice.password, 0)


def test_empty_addresses_do_not_collide(chief, alice, carol):
    for user in (alice, carol):
        assert (
            chief.post(page(user), {"display_name": "", "bio": "", "email": ""}).status_code == 302
        )
    assert set(
        User.objects.filter(pk__in=[alice.pk, carol.pk]).values_list("email", flat=True)
    ) == {None}


@pytest.mark.slow
def test_address_of_another_account_is_refused(chief, alice, carol):
    answer = chief.post(page(alice), {"display_name": "", "bio": "", "email": "CAROL@example.org"})
    assert answer.status_code == 200
    assert "already exists" in answer.content.decode()


@pytest.mark.long
@each("rights", [None, ("accounts.view_user", "accounts.change_user", "accounts.rescue_user")])
def test_nobody_sets_the_password_of_another_account(alice, rights):
    browser = browser_of(make_staff(*(rights or ()), superuser=rights is None))
    path = f"{USERS}{alice.pk}/password/"
    assert path not in browser.get(page(alice)).text
    new = "another long passphrase"
    form = {"password1": new, "password2": new, "usable_password": "true", "set-password": "1"}
    assert [browser.get(path).status_code, browser.post(path, form).status_code] == [403, 403]
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_moderators_cannot_give_rights_or_touch_staff(moderator, alice):
    form = {"display_name": "A", "bio": "", "email": "", "is_staff": "on", "is_superuser": "on"}
    assert moderator.post(page(alice), form).status_code == 302
    alice.refresh_from_db()
    assert (alice.display_name, alice.is_staff, alice.is_superuser) == ("A", False, False)
    other = make_staff()
    assert moderator.post(page(other), form).status_code == 403
    assert moderator.post(f"{USERS}{other.pk}/password/", {}).status_code == 403


def test_accounts_are_neither_added_nor_deleted(chief, alice):
    assert chief.get(f"{USERS}add/").status_code == 403
    assert chief.post(f"{USERS}{alice.pk}/delete/", {"post": "yes"}).status_code == 403
    confirm(chief, USERS, "delete_selected", [alice])
    assert User.objects.filter(pk=alice.pk).exists()


def test_suspend_asks_with_numbers_and_wants_a_reason(chief, alice, carol):
    publish(alice)
    publish(alice)
    question = choose(chief, USERS, "suspend", [alice, carol]).content.decode()
    assert "Suspend 2 accounts? Nobody will see them or their 2 posts." in question
    assert "@alice: 2 posts, 0 followers" in question
    assert "errornote" not in question
    again = confirm(chief, USERS, "suspend", [alice], reason="  ").content.decode()
    assert "errornote" in again
    assert not User.objects.exclude(suspended_at=None).exists()


def test_suspend_hides_the_account_and_ends_its_tokens(chief, page_of, alice, carol):
    post = publish(alice)
    issue_token(alice, name="phone")
    text = confirm(chief, USERS, "suspend", [alice], reason="spam links").content.decode()
    assert "1 account suspended." in text
    alice.refresh_from_db()
    assert (alice.is_suspended, alice.is_active, alice.suspension_reason) == (
        True,
        False,
        "spam links",
    )
    assert not AccessToken.objects.filter(user=alice, revoked_at=None).exists()
    assert LogEntry.objects.get(object_id=str(alice.pk)).change_message == "Suspended: spam links"
    assert page_of(carol).get(f"{alice.url}/{post.pk}").status_code == 404
    assert not page_of(None).login(username="alice", password=PASSWORD)


def test_restore_shows_the_account_again(chief, alice):
    suspend(alice)
    assert (
        "Restore 1 account with 0 posts?"
        in choose(chief, USERS, "restore", [alice]).content.decode()
    )
    confirm(chief, USERS, "restore", [alice], reason="appeal")
    alice.refresh_from_db()
    assert (alice.is_suspended, alice.is_active, alice.suspension_reason) == (False, True, "")
    assert LogEntry.objects.latest("pk").change_message == "Restored: appeal"


def test_nobody_suspends_themselves_and_moderators_no_superusers(chief, moderator):
    boss = User.objects.get(handle="chief")
    confirm(chief, USERS, "suspend", [boss], reason="tired")
    text = confirm(moderator, USERS, "suspend", [boss], reason="revenge").content.decode()
    assert "You do not have permission to do this." in text
    boss.refresh_from_db()
    assert not boss.is_suspended


def test_actions_need_the_right_to_change(alice):
    viewer = browser_of(make_staff("accounts.view_user"))
    confirm(viewer, USERS, "suspend", [alice], reason="because")
    alice.refresh_from_db()
    assert not alice.is_suspended


def test_at_most_a_hundred_at_once(chief):
    users = [make_user() for _ in range(101)]
    text = confirm(chief, USERS, "suspend", users, reason="all").content.decode()
    assert "At most 100 at once." in text
    assert not User.objects.exclude(suspended_at=None).exists()


def test_an_account_is_suspended_from_its_own_page(moderator, alice):
    form = moderator.get(page(alice)).text
    assert 'form="tool" name="action" value="suspend"' in form
    asked = moderator.post(USERS, {"action": "suspend", "_selected_action": [alice.pk]})
    assert "Nobody will see it" in asked.text
    suspend(alice)
    assert 'form="tool" name="action" value="restore"' in moderator.get(page(alice)).text


def test_the_list_of_accounts_says_in_words_what_is_unusual(moderator, alice):
    suspend(alice)
    shown = moderator.get(USERS).text
    assert "icon-no" not in shown
    assert ">Suspended<" in shown
