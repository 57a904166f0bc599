"""Where somebody is logged in, and how to end it."""

import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from apps.accounts.actions import issue_token
from apps.accounts.authentication.sessions import device_of, named_device, sessions_of
from apps.accounts.models import Login
from apps.oauth.actions import issue_access, register_application
from apps.oauth.queries import bearer_of
from tests.support.cases import each
from tests.support.factories import PASSWORD, deliver, user_of_token

pytestmark = pytest.mark.django_db

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36"


def logged_in(user_agent):
    browser = Client(headers={"User-Agent": user_agent})
    assert browser.post("/login", {"username": "alice", "password": PASSWORD}).status_code == 303
    return browser


@each(
    ("user_agent", "device"),
    [
        (FIREFOX, "Firefox on Linux"),
        (PHONE, "Chrome on Android"),
        (
            "Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X) Version/18.0 Safari/604.1",
            "Safari on iPad",
        ),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("curl/8", "An unknown device"),
        ("", "An unknown device"),
        ("Firefox" * 9999, "Firefox"),
    ],
)
def test_a_device_has_a_name_in_few_words(user_agent, device):
    assert named_device(device_of(user_agent)) == device


def test_a_device_is_named_in_the_language_of_the_page(alice):
    browser = logged_in(FIREFOX)
    for language, name in (("en", "Firefox on Linux"), ("zh-hans", "Linux 上的 Firefox")):
        browser.cookies["lang"] = language
        assert name in browser.get("/settings/account").text


def test_each_login_is_shown_and_can_be_ended_from_another(alice):
    here, phone = logged_in(FIREFOX), logged_in(PHONE)
    shown = here.get("/settings/account").text
    assert "Firefox on Linux" in shown
    assert "Chrome on Android" in shown
    (end,) = re.findall(r"/settings/sessions/\d+/end", shown)  # not of this one
    assert phone.get("/settings/account").status_code == 200
    assert here.post(end).status_code == 303
    assert phone.get("/settings/account").status_code == 302
    assert "Chrome on Android" not in here.get("/settings/account").text


def test_nobody_ends_the_sessions_of_others(alice, carol, page_of):
    browser = logged_in(FIREFOX)
    page_of(carol).post(f"/settings/sessions/{Login.objects.get(user=alice).pk}/end")
    assert browser.get("/settings/account").status_code == 200


def test_who_logged_out_is_on_no_list(alice):
    logged_in(PHONE).post("/logout")
    assert sessions_of(alice, current_key=None) == []


def test_old_logins_are_forgotten(alice):
    logged_in(PHONE)
    Login.objects.update(created_at=timezone.now() - timedelta(days=31))
    Session.objects.update(expire_date=timezone.now())
    logged_in(FIREFOX)
    assert [login.device for login in Login.objects.all()] == ["Firefox, Linux"]


def test_a_login_is_kept_as_long_as_its_session_lives(alice):
    logged_in(PHONE)
    Login.objects.update(created_at=timezone.now() - timedelta(days=31))
    logged_in(FIREFOX)
    assert len(sessions_of(alice, current_key=None)) == 2


def test_a_list_of_any_length_costs_two_queries(alice, django_assert_num_queries):
    for _login in range(3):
        logged_in(PHONE)
    assert Session.objects.count() == 3
    with django_assert_num_queries(2):
        assert len(sessions_of(alice, current_key=None)) == 3


@pytest.mark.parametrize("way", ["change", "reset"])
def test_a_new_password_ends_what_the_old_one_let_in(alice, way, mailoutbox):
    elsewhere, here = logged_in(PHONE), logged_in(FIREFOX)
    personal = issue_token(alice, name="script")
    program = register_application(name="Elephant", scopes="read").application
    given, _row = issue_access(alice, program, scopes=["read"])
    new = {"new_password1": "quite another one", "new_password2": "quite another one"}
    if way == "change":
        here.post("/password/change", {"old_password": PASSWORD, **new})
    else:
        here.post("/password/reset", {"email": alice.email})
        deliver()
        [link] = re.findall(r"/password/reset/\S+", str(mailoutbox[0].body))
        here.post(here.get(link).headers["Location"], new)
    deliver()
    assert user_of_token(personal) is None
    assert bearer_of(given) is None
    assert elsewhere.get("/settings/account").status_code == 302
    alice.refresh_from_db()
    assert alice.check_password("quite another one")
