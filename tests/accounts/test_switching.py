"""Several accounts in one browser: put aside, switched to, ended."""

import pytest
from django.test import Client

from apps.accounts.authentication.sessions import end_sessions
from apps.web.account.switching import COOKIE, MAX_OTHERS
from tests.support.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db


def log_in(browser, user):
    browser.post("/login", {"username": user.handle, "password": PASSWORD})
    return is_in(browser, user)


def is_in(browser, user):
    return browser.get("/accounts").context["viewer"].pk == user.pk


def others(browser):
    return {user.handle for user in browser.get("/accounts").context["others"]}


@pytest.fixture
def browser(alice, bob):
    """Of alice, who has put bob aside."""
    browser = Client()
    assert log_in(browser, bob)
    assert browser.post("/accounts/add")["Location"] == "/login"
    assert browser.get("/accounts").status_code == 302  # nobody, until somebody logs in
    assert log_in(browser, alice)
    return browser


def test_there_and_back(browser, alice, bob):
    assert others(browser) == {"bob"}
    for user, other in ((bob, alice), (alice, bob)):
        assert browser.post(f"/accounts/{user.handle}/switch").status_code == 303
        assert is_in(browser, user)
        assert others(browser) == {other.handle}


def test_who_logs_out_is_the_other_one(browser, bob):
    assert "Switched to @bob." in browser.post("/logout", follow=True).text
    assert others(browser) == set()
    browser.post("/logout")
    assert browser.get("/accounts").status_code == 302


def test_a_session_that_was_ended_elsewhere_is_gone(browser, bob):
    end_sessions(bob.pk)
    assert others(browser) == set()
    assert browser.post("/accounts/bob/switch").status_code == 404


def test_a_new_password_ends_what_was_put_aside(browser, bob):
    bob.set_password("another long enough one")
    bob.save()
    assert others(browser) == set()


@pytest.mark.parametrize("value", ["", "x", "x:y:z", "." * 50])
def test_a_forged_cookie_is_nobody(browser, value):
    browser.cookies[COOKIE] = value
    assert others(browser) == set()
    assert browser.post("/accounts/bob/switch").status_code == 404


def test_only_this_browser_can_switch(alice, bob, page_of, browser):
    assert page_of(alice).post("/accounts/bob/switch").status_code == 404
    assert not any(
        browser.cookies[COOKIE].value in page.text
        for page in (browser.get("/"), browser.get("/accounts"))
    )
    assert browser.cookies[COOKIE]["httponly"]


def test_there_is_an_end_to_it(browser):
    for number in range(MAX_OTHERS - 1):
        browser.post("/accounts/add")
        assert log_in(browser, make_user(f"more{number}"))
    assert len(others(browser)) == MAX_OTHERS
    assert browser.post("/accounts/add")["Location"] == "/accounts"
    assert len(others(browser)) == MAX_OTHERS


def test_a_forged_form_is_refused(browser):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    for address in ("/accounts/add", "/accounts/bob/switch"):
        assert strict.post(address).status_code == 403
