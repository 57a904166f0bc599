"""Guessing of passwords: limits by address, by account and for the site;
closed when Redis is away; nobody is locked out.
"""

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.module_loading import import_string

from apps.accounts.authentication.backends import login_name
from apps.oauth.actions import register_application
from feedcache.connections import limits
from tests.support.cases import each
from tests.support.clusters import addresses
from tests.support.factories import PASSWORD, make_user
from tests.support.faults import dead_redis, frozen
from tests.support.services import running

pytestmark = pytest.mark.django_db

NEW = "quite another passphrase"


@pytest.fixture
def hashed(monkeypatch):
    """The passwords that a hash was computed for."""
    found: list[str] = []
    for module in ("django.contrib.auth.base_user", "django.contrib.auth.hashers"):
        monkeypatch.setattr(f"{module}.make_password", _counting(found, f"{module}.make_password"))
    return found


def _counting(found, name):
    real = import_string(name)

    def make_password(password, *args, **options):
        found.append(password)
        return real(password, *args, **options)

    return make_password


def narrow(settings, **limits_):
    """Limits of so many in five minutes."""
    settings.RATE_LIMITS = {
        **settings.RATE_LIMITS,
        **{name: (number, 300) for name, number in limits_.items()},
    }


def log_in(browser=None, name="alice", password="wrong", address="198.51.100.1"):
    said = {"username": name, "password": password}
    return (browser or Client()).post("/login", said, REMOTE_ADDR=address).status_code


def from_elsewhere(number):
    return f"203.0.113.{number}"


def test_one_address_cannot_try_every_account(settings):
    narrow(settings, guess_address=6)
    assert [log_in(name=f"user{n}") for n in range(8)] == [422] * 6 + [429] * 2
    assert log_in(name="user1", address=from_elsewhere(1)) == 422


def test_one_subscriber_of_ipv6_is_one_address(settings):
    narrow(settings, guess_address=3)
    answers = [log_in(name=f"user{n}", address=f"2001:db8:1:2::{n}") for n in range(1, 6)]
    assert answers == [422] * 3 + [429] * 2
    assert log_in(name="user1", address="2001:db8:1:3::1") == 422


def test_one_account_is_not_tried_from_everywhere(alice, settings):
    narrow(settings, guess_account=5)
    answers = [log_in(address=from_elsewhere(n)) for n in range(7)]
    assert answers == [422] * 5 + [429] * 2
    assert log_in(name="bob") == 422


SPELLINGS = [
    "alice",
    "@alice",
    "ALICE",
    "@ alice",
    "@" + 20 * " " + "alice",
    "@@alice",
    " @ @Alice ",
    "alice\u3000",
    "@\u2003alice",
]


@pytest.mark.long
@pytest.mark.gate
@each("where", ["page", "grant"])
def test_an_account_is_one_however_it_is_spelled(alice, settings, where):
    narrow(settings, guess_account=5)
    answers = [guess_at(where, name, n) for n, name in enumerate(SPELLINGS)]
    assert answers == [WRONG[where]] * 5 + [429] * 4
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "guess_account": (50, 300)}
    right = [guess_at(where, name, n, PASSWORD) for n, name in enumerate(SPELLINGS)]
    assert right == [RIGHT[where]] * 9


WRONG, RIGHT = {"page": 422, "grant": 400}, {"page": 303, "grant": 200}


def guess_at(where, name, number, password="wrong"):
    address = from_elsewhere(number)
    if where == "page":
        return log_in(name=name, address=address, password=password)
    program = register_application(name="Elephant", scopes="read")
    said = {"grant_type": "password", "client_id": program.application.client_id, "client_secret": program.secret,
            "username": name, "password": password, "scope": "read"}  # fmt: skip
    return Client().post("/oauth/token", said, REMOTE_ADDR=address).status_code


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_login_name_stays_as_it_is_once_it_is_one(text):
    assert login_name(text) == "alice" == login_name(login_name(text))


def test_the_backend_takes_login_names_only(alice):
    assert authenticate(username="alice", password=PASSWORD) == alice
    assert [authenticate(username=name, password=PASSWORD) for name in SPELLINGS[1:]] == [None] * 8


def test_a_link_to_a_new_password_is_one_however_it_is_spelled(alice, settings):
    """The last character of a number in base 64 has bits that are not read."""
    narrow(settings, guess_account=2)
    number = urlsafe_base64_encode(force_bytes(alice.pk))
    spellings = {
        urlsafe_base64_encode(f"{blanks}{alice.pk}".encode())
        for blanks in ("", " ", "+", "0", "00", "\n")
    }
    answers = [Client().get(f"/password/reset/{each}/wrong-token", REMOTE_ADDR=from_elsewhere(n)).status_code
               for n, each in enumerate([number, *spellings])]  # fmt: skip
    assert answers[2:] == [429] * 5


def test_the_whole_site_takes_only_so_many_failures(alice, settings):
    narrow(settings, guess_site=5)
    for _ in range(7):  # what succeeds is no failure
        assert log_in(password=PASSWORD) == 303
    answers = [log_in(name=f"user{n}", address=from_elsewhere(n)) for n in range(7)]
    assert answers == [422] * 5 + [429] * 2


def test_what_is_refused_uses_up_no_other_limit(alice, settings):
    narrow(settings, log_in=2, guess_account=4)
    for _ in range(20):
        log_in()
    assert log_in(address=from_elsewhere(1)) == 422


@pytest.mark.long
@pytest.mark.gate
@each("limit", ["log_in", "guess_address", "guess_account", "guess_site"])
def test_nobody_locks_out_whoever_has_been_here_before(alice, settings, limit):
    browser = Client()
    assert log_in(browser, password=PASSWORD) == 303
    browser.post("/logout")
    narrow(settings, **{limit: 2})
    for _ in range(4):
        log_in()
    assert log_in(password=PASSWORD) == 429
    assert log_in(browser, password=PASSWORD) == 303


def test_a_device_is_known_to_its_own_account_and_has_a_limit_too(alice, carol, settings):
    browser = Client()
    log_in(browser, password=PASSWORD)
    browser.post("/logout")
    narrow(settings, guess_account=2, guess_device=3)
    answers = [log_in(browser) for _ in range(5)]
    assert answers == [422] * 3 + [429] * 2
    assert [log_in(browser, name="carol") for _ in range(3)] == [422] * 2 + [429]


def test_a_new_password_makes_old_devices_unknown(alice, settings):
    browser = Client()
    log_in(browser, password=PASSWORD)
    browser.post("/logout")
    alice.set_password(NEW)
    alice.save()
    narrow(settings, guess_account=2)
    assert [log_in(browser) for _ in range(3)] == [422] * 2 + [429]


def test_a_forged_device_is_unknown(alice, settings):
    narrow(settings, guess_account=2)
    browser = Client()
    browser.cookies["device"] = f'[{alice.pk},"x","y"]:1x:forged'
    assert [log_in(browser) for _ in range(3)] == [422] * 2 + [429]


def test_no_limit_tells_whose_address_it_is(alice, settings):
    narrow(settings, log_in=2, guess_account=3)
    for n in range(5):
        log_in(address=from_elsewhere(n))
    assert log_in(name="alice@example.org") == 422
    assert log_in(name="nobody@example.org") == 422


def test_nothing_is_hashed_for_a_guess_that_is_refused(alice, settings, hashed):
    narrow(settings, log_in=2)
    assert [log_in(name="nobody") for _ in range(5)] == [422] * 2 + [429] * 3
    assert hashed == ["wrong"] * 2


IN_A_SESSION = {
    "/password/change": {"old_password": "wrong", "new_password1": NEW, "new_password2": NEW},
    "/settings/account": {"email": "alice@example.net", "password": "wrong"},
    "/settings/delete": {"is_meant": "on", "password": "wrong"},
}


@pytest.mark.long
@pytest.mark.gate
@each("where", IN_A_SESSION)
def test_a_password_cannot_be_guessed_inside_a_session(alice, page_of, settings, where):
    narrow(settings, guess_device=4)
    browser = page_of(alice)
    answers = [browser.post(where, IN_A_SESSION[where]).status_code for _ in range(6)]
    assert answers == [422] * 4 + [429] * 2
    assert page_of(alice).post(where, IN_A_SESSION[where]).status_code == 422  # another session


def test_the_limit_inside_a_session_is_one_for_all_pages(alice, page_of, settings):
    narrow(settings, guess_device=3)
    browser = page_of(alice)
    answers = [browser.post(page, said).status_code for page, said in IN_A_SESSION.items()]
    assert answers == [422] * 3
    right = {"email": "alice@example.net", "password": PASSWORD}
    assert browser.post("/settings/account", right).status_code == 429


def test_failures_inside_sessions_count_for_their_address(alice, page_of, settings):
    narrow(settings, guess_address=4)
    browser = page_of(alice)
    for _ in range(4):
        browser.post("/settings/account", IN_A_SESSION["/settings/account"])
    assert log_in(name="somebody", address="127.0.0.1") == 429
    assert browser.post("/settings/account", IN_A_SESSION["/settings/account"]).status_code == 422


def test_right_passwords_inside_a_session_use_up_nothing(alice, page_of, settings):
    narrow(settings, guess_device=2)
    browser, said = page_of(alice), {"email": "alice@example.org", "password": PASSWORD}
    for _ in range(4):
        assert browser.post("/settings/account", said).status_code == 303


def test_the_admin_has_no_page_of_its_own_for_the_old_password(admin, page_of):
    answer = page_of(admin).post("/admin/password_change/", IN_A_SESSION["/password/change"])
    assert (answer.status_code, answer["Location"]) == (302, "/password/change")


@pytest.fixture
def admin(db):
    staff = make_user("operator")
    staff.is_staff = True
    staff.save()
    return staff


def test_the_password_grant_shares_the_limits(alice, settings):
    made = register_application(name="A program", scopes="read")
    said = {
        "grant_type": "password", "client_id": made.application.client_id, "client_secret": made.secret,
        "username": "alice", "password": "wrong",
    }  # fmt: skip
    narrow(settings, guess_account=3)
    answers = [
        Client().post("/oauth/token", said, REMOTE_ADDR=from_elsewhere(n)).status_code
        for n in range(5)
    ]
    assert answers == [400] * 3 + [429] * 2
    assert log_in() == 429


def test_wrong_links_to_a_new_password_are_counted_and_right_ones_are_not(alice, settings):
    narrow(settings, log_in=3)
    uid = urlsafe_base64_encode(force_bytes(alice.pk))
    right = f"/password/reset/{uid}/{default_token_generator.make_token(alice)}"
    for _ in range(5):
        assert Client().get(right).status_code == 302
    wrong = [Client().get(f"/password/reset/{uid}/abc-{n}").status_code for n in range(5)]
    assert wrong == [200] * 3 + [429] * 2


def test_new_passwords_are_asked_for_one_mailbox_so_often_whether_it_is_anybodys(alice, settings):
    narrow(settings, password_reset_account=2)
    for email in ("alice@example.org", "nobody@example.org"):
        answers = [
            Client().post("/password/reset", {"email": email}, REMOTE_ADDR=from_elsewhere(n))
            for n in range(3)
        ]
        assert [answer.status_code for answer in answers] == [303, 303, 429]


def test_new_accounts_are_limited_for_the_site(settings):
    narrow(settings, sign_up_site=2)
    answers = [
        Client().post(
            "/join", {"handle": f"new{n}", "password": PASSWORD}, REMOTE_ADDR=from_elsewhere(n)
        )
        for n in range(3)
    ]
    assert [answer.status_code for answer in answers] == [303, 303, 429]


class TestWithoutRedis:
    def test_the_eleventh_wrong_password_is_refused(self, alice):
        with dead_redis():
            assert [log_in() for _ in range(13)] == [422] * 10 + [429] * 3
            assert log_in(name="bob") == 422

    def test_frozen_the_eleventh_wrong_password_is_refused(self, alice, settings):
        with addresses(settings, REDIS_TIMEOUT_SECONDS=0.2), frozen(running().redis):
            assert [log_in() for _ in range(13)] == [422] * 10 + [429] * 3

    def test_a_limit_that_was_used_up_grants_nothing_new(self, alice):
        assert [log_in() for _ in range(11)] == [422] * 10 + [429]
        with dead_redis():
            assert [log_in() for _ in range(5)] == [429] * 5

    @pytest.mark.slow
    def test_every_limit_is_closed(self, alice, settings, page_of):
        narrow(settings, guess_address=4, guess_device=3)
        browser = page_of(alice)
        with dead_redis():
            spray = [log_in(name=f"user{n}") for n in range(6)]
            session = [
                browser.post("/settings/account", IN_A_SESSION["/settings/account"]).status_code
                for _ in range(5)
            ]
        assert spray == [422] * 4 + [429] * 2
        assert session == [422] * 3 + [429] * 2

    def test_a_full_redis_is_none(self, alice):
        client = limits()
        client.config_set("maxmemory", 1)
        try:
            assert [log_in() for _ in range(12)] == [422] * 10 + [429] * 2
        finally:
            client.config_set("maxmemory", 0)
