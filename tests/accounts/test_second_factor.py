"""The second factor: set up, asked for after the password, and not to be got around."""

import re
import time
from urllib.parse import quote

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from oauth2_provider.models import AccessToken as ApplicationToken

from apps.accounts.actions import issue_token
from apps.accounts.authentication import second_factor
from apps.accounts.email.rescue import RESCUE, reset_second_factor
from apps.accounts.models import AccessToken, Login
from apps.errors import Invalid, NotAllowed, TooMany
from apps.oauth.actions import issue_access, register_application
from feedsite.environment import relying_party
from tests.support.cases import each
from tests.support.factories import PASSWORD, deliver, make_user, publish
from tests.support.staff import browser_of, confirm, make_staff

pytestmark = pytest.mark.django_db
CODE = "/login/code"
SECURITY = "/settings/security"


@pytest.fixture
def clock():
    with time_machine.travel(1_800_000_000, tick=False) as moved:
        yield moved


def code_of(device, *, steps=0):
    """What the app shows now, or so many half minutes later."""
    made = TOTP(device.bin_key)
    made.time = time.time() + 30 * steps
    return f"{made.token():06d}"


def turn_on(user):
    """An app for a user, and the recovery codes; its first code is used by that."""
    device = second_factor.begin_app(user)
    device, codes = second_factor.confirm_app(user, device.pk, code_of(device))
    return device, codes


@pytest.fixture
def guarded(alice, clock):
    """alice with an app; the next half minute has begun, so that there is a fresh code."""
    device, codes = turn_on(alice)
    clock.shift(30)
    return alice, device, codes


def type_password(browser, handle="alice", **more):
    return browser.post("/login", {"username": handle, "password": PASSWORD, **more})


def half_in(handle="alice", **more):
    """A browser that has shown the password of somebody with a second factor."""
    browser = Client()
    answer = type_password(browser, handle, **more)
    assert (answer.status_code, answer["Location"]) == (303, CODE)
    return browser


def is_in(browser):
    return browser.get("/settings/account").status_code == 200


class TestSettingUp:
    def test_from_the_password_to_the_codes(self, alice, page_of, clock):
        browser = page_of(alice)
        assert 'href="/settings/security/app"' in browser.get(SECURITY).text
        assert browser.post(f"{SECURITY}/app", {"password": "wrong"}).status_code == 422
        assert not TOTPDevice.objects.exists()
        answer = browser.post(f"{SECURITY}/app", {"password": PASSWORD})
        assert (answer.status_code, answer["Location"]) == (303, f"{SECURITY}/app/code")
        page = browser.get(f"{SECURITY}/app/code")
        device = TOTPDevice.objects.get()
        secret = re.findall(r'id="secret">([A-Z2-7 ]+)<', page.text)[0].replace(" ", "")
        assert f"secret={secret}" in device.config_url
        assert "data:image/svg+xml" in page.text
        assert page["Cache-Control"] == "no-store"
        assert not second_factor.has_second_factor(alice)
        assert browser.post(f"{SECURITY}/app/code", {"code": "000000"}).status_code == 422
        clock.shift(2)
        codes = browser.post(f"{SECURITY}/app/code", {"code": code_of(device)})
        assert codes["Cache-Control"] == "no-store"
        assert len(re.findall(r"<li>[a-z2-7]{4}-[a-z2-7]{4}-[a-z2-7]{4}</li>", codes.text)) == 10
        assert second_factor.has_second_factor(alice)
        page = browser.get(SECURITY)
        assert page.status_code == 200  # who set it up has shown it
        assert "10 codes are left" in page.text
        assert secret not in page.text
        assert browser.get(f"{SECURITY}/app/code").status_code == 302  # the key is not shown again

    def test_only_the_session_that_began_sees_the_key(self, alice, page_of):
        page_of(alice).post(f"{SECURITY}/app", {"password": PASSWORD})
        assert page_of(alice).get(f"{SECURITY}/app/code")["Location"] == SECURITY

    def test_recovery_codes_are_stored_as_digests(self, guarded):
        _alice, _device, codes = guarded
        stored = set(StaticToken.objects.values_list("token", flat=True))
        assert len(stored) == 10
        assert not stored & {code.replace("-", "") for code in codes}

    def test_the_session_has_another_key_and_can_still_be_ended(self, alice, page_of, clock):
        browser = page_of(alice)
        before = browser.session.session_key
        browser.post(f"{SECURITY}/app", {"password": PASSWORD})
        device = TOTPDevice.objects.get()
        browser.post(f"{SECURITY}/app/code", {"code": code_of(device)})
        assert browser.session.session_key != before
        sessions = browser.get("/settings/account").context["sessions"]
        assert [session.is_current for session in sessions] == [True]

    def test_turning_it_on_ends_what_the_password_alone_let_in(self, alice, clock):
        issue_token(alice, name="old")
        program = register_application(name="Elephant", scopes="read")
        issue_access(alice, program.application, scopes=["read"])
        turn_on(alice)
        deliver()
        assert not AccessToken.objects.filter(revoked_at=None).exists()
        assert not ApplicationToken.objects.exists()

    def test_wrong_passwords_are_limited(self, alice, page_of, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "guess_device": (2, 60)}
        browser = page_of(alice)
        for _number in range(2):
            assert browser.post(f"{SECURITY}/app", {"password": "wrong"}).status_code == 422
        assert browser.post(f"{SECURITY}/app", {"password": PASSWORD}).status_code == 429

    def test_removing_the_last_one_takes_the_recovery_codes_along(self, guarded):
        alice, device, _codes = guarded
        browser = half_in()
        browser.post(CODE, {"code": code_of(device)})
        assert browser.post(f"{SECURITY}/app/remove", {"password": "wrong"}).status_code == 422
        assert second_factor.has_second_factor(alice)
        assert browser.post(f"{SECURITY}/app/remove", {"password": PASSWORD}).status_code == 303
        assert not second_factor.has_second_factor(alice)
        assert not StaticToken.objects.exists()
        assert type_password(Client())["Location"] == "/"

    def test_new_codes_end_the_old_ones(self, guarded):
        alice, device, codes = guarded
        browser = half_in()
        browser.post(CODE, {"code": code_of(device)})
        page = browser.post(f"{SECURITY}/codes", {"password": PASSWORD})
        new = re.findall(r"<li>([a-z2-7-]{14})</li>", page.text)
        assert second_factor.verify_code(alice, codes[0]) is None
        assert second_factor.second_factor_of(alice).codes_left == 10
        assert len(set(new) | set(codes)) == 20

    def test_there_is_one_app(self, guarded):
        alice, _device, _codes = guarded
        with pytest.raises(Invalid):
            second_factor.begin_app(alice)


class TestLoggingIn:
    def test_the_password_is_not_enough(self, guarded):
        browser = half_in()
        assert not is_in(browser)
        assert not Login.objects.exists()

    def test_a_code_lets_in_and_on(self, guarded):
        _alice, device, _codes = guarded
        browser = half_in(next="/bookmarks")
        before = browser.session.session_key
        answer = browser.post(CODE, {"code": code_of(device)})
        assert (answer.status_code, answer["Location"]) == (303, "/bookmarks")
        assert is_in(browser)
        assert browser.session.session_key != before
        assert TOTPDevice.objects.get().last_used_at is not None

    @each("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
    def test_nobody_is_sent_elsewhere(self, guarded, elsewhere):
        _alice, device, _codes = guarded
        browser = half_in(next=elsewhere)
        answer = browser.post(
            f"{CODE}?next={quote(elsewhere)}", {"code": code_of(device), "next": elsewhere}
        )
        assert answer["Location"] == "/"

    def test_the_session_is_another_one_after_the_password(self, guarded):
        browser = Client()
        session = browser.session
        session["fixed"] = "by somebody else"
        session.save()
        browser.cookies["sessionid"] = str(session.session_key)
        type_password(browser)
        assert browser.cookies["sessionid"].value != session.session_key

    def test_a_code_is_good_once(self, guarded):
        _alice, device, _codes = guarded
        code = code_of(device)
        assert half_in().post(CODE, {"code": code}).status_code == 303
        again = half_in()
        assert again.post(CODE, {"code": code}).status_code == 422
        assert not is_in(again)

    def test_the_code_that_turned_it_on_is_used(self, alice, clock):
        device, _codes = turn_on(alice)
        assert second_factor.verify_code(alice, code_of(device)) is None

    def test_older_codes_are_worth_nothing(self, guarded, clock):
        alice, device, _codes = guarded
        clock.shift(300)
        assert second_factor.verify_code(alice, code_of(device, steps=-2)) is None

    def test_a_recovery_code_is_good_once(self, guarded, clock):
        _alice, _device, codes = guarded
        assert half_in().post(CODE, {"code": f" {codes[0].upper()} "}).status_code == 303
        again = half_in()
        assert again.post(CODE, {"code": codes[0]}).status_code == 422
        clock.shift(2)
        assert again.post(CODE, {"code": codes[1]}).status_code == 303

    def test_a_recovery_code_of_somebody_else_is_none(self, guarded, carol, clock):
        _alice, _device, codes = guarded
        turn_on(carol)
        assert second_factor.verify_code(carol, codes[0]) is None

    def test_five_tries_then_from_the_beginning(self, guarded, clock):
        _alice, device, _codes = guarded
        browser = half_in()
        for number in range(4):
            assert browser.post(CODE, {"code": "000000"}).status_code == 422
            clock.shift(2**number + 1)
        assert browser.post(CODE, {"code": "000000"})["Location"] == "/login"
        clock.shift(3600)
        assert browser.post(CODE, {"code": code_of(device)})["Location"] == "/login"
        assert not is_in(browser)

    @pytest.mark.long
    @pytest.mark.gate
    def test_guessing_slows_down_over_sessions_and_without_redis(self, guarded, clock, monkeypatch):
        """The wait is in the database: another session, or a Redis that is away, changes nothing."""
        alice, device, _codes = guarded
        assert second_factor.verify_code(alice, "000000") is None
        looked_at = 1
        for _second in range(600):
            clock.shift(1)
            try:
                second_factor.verify_code(alice, "000000")
            except TooMany:
                continue
            looked_at += 1
        assert looked_at <= 11  # 1 + 2 + 4 + ... seconds
        with pytest.raises(TooMany):  # a right one waits too
            second_factor.verify_code(alice, code_of(device))

    def test_guessing_does_not_keep_the_owner_out_for_longer_than_half_an_hour(
        self, guarded, clock
    ):
        alice, device, _codes = guarded
        TOTPDevice.objects.update(throttling_failure_count=60)
        second_factor.verify_code(alice, "000000")
        clock.shift(2**12 + 30)
        assert second_factor.verify_code(alice, code_of(device)) == device

    def test_what_waits_ends_after_five_minutes(self, guarded, clock):
        _alice, device, _codes = guarded
        browser = half_in()
        clock.shift(301)
        assert browser.post(CODE, {"code": code_of(device)})["Location"] == "/login"
        assert not is_in(browser)

    def test_a_new_password_ends_what_the_old_one_began(self, guarded):
        alice, device, _codes = guarded
        browser = half_in()
        alice.set_password("another long passphrase")
        alice.save()
        assert browser.post(CODE, {"code": code_of(device)})["Location"] == "/login"

    def test_who_goes_back_begins_again(self, guarded):
        _alice, device, _codes = guarded
        browser = half_in()
        browser.get("/login")
        assert browser.post(CODE, {"code": code_of(device)})["Location"] == "/login"

    def test_a_suspension_too(self, guarded):
        alice, device, _codes = guarded
        browser = half_in()
        alice.is_active = False
        alice.save()
        assert browser.post(CODE, {"code": code_of(device)})["Location"] == "/login"

    def test_the_page_is_for_nobody_else(self, page_of, alice):
        assert page_of(None).get(CODE)["Location"] == "/login"
        assert page_of(alice).get(CODE)["Location"] == "/"

    def test_who_has_none_is_in_at_once(self, alice):
        browser = Client()
        assert type_password(browser)["Location"] == "/"
        assert is_in(browser)


def _patterns(resolver, before=""):
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from _patterns(one, before + str(one.pattern))
        elif isinstance(one, URLPattern):
            yield before + str(one.pattern)


def addresses():
    """Every address of the site, with something in the place of its parameters."""
    for pattern in _patterns(get_resolver()):
        plain = re.sub(r"\(\?P<\w+>[^)]*\)", "1", pattern)
        plain = re.sub(r"<(?:\w+:)?(?:handle|name)>", "alice", plain)
        yield "/" + re.sub(r"<[^>]+>", "1", plain).replace("^", "").replace("$", "").replace("\\", "")  # fmt: skip


class TestNotToBeGotAround:
    @pytest.mark.long
    def test_half_a_login_opens_no_more_than_none(self, guarded):
        """Every address answers who has only shown the password as it answers a visitor."""
        half, nobody = half_in(), Client()
        seen = 0
        for address in addresses():
            if address.startswith(("/login", "/healthz", "/logout", "/join", "/password", "/api/v1/apps")):  # fmt: skip
                continue
            for method in ("get", "post"):
                with_password, without = getattr(half, method)(address), getattr(nobody, method)(address)  # fmt: skip
                said = [(one.status_code, one.headers.get("Location")) for one in (with_password, without)]  # fmt: skip
                assert said[0] == said[1], (method, address)
                assert with_password.streaming or b'action="/logout"' not in with_password.content
                seen += 1
        assert seen > 300
        assert not is_in(half)

    def test_a_reset_password_does_not_skip_it(self, guarded, clock):
        _alice, device, _codes = guarded
        browser = Client()
        browser.post("/password/reset", {"email": "alice@example.org"})
        deliver()
        link = re.findall(r"/password/reset/\S+", str(mail.outbox[0].body))[0]
        form = browser.get(link)["Location"]
        new = "a quite different passphrase"
        browser.post(form, {"new_password1": new, "new_password2": new})
        assert not is_in(browser)
        answer = browser.post("/login", {"username": "alice", "password": new})
        assert answer["Location"] == CODE
        assert not is_in(browser)
        assert browser.post(CODE, {"code": code_of(device)})["Location"] == "/"

    def test_a_password_is_worth_no_token(self, guarded, carol):
        program = register_application(name="Elephant", scopes="read")
        said = {
            "grant_type": "password", "client_id": program.application.client_id, "client_secret": program.secret,
            "username": "alice", "password": PASSWORD, "scope": "read",
        }  # fmt: skip
        refused = Client().post("/oauth/token", said, content_type="application/json")
        wrong = Client().post(
            "/oauth/token", {**said, "password": "wrong"}, content_type="application/json"
        )
        assert refused.status_code == 400
        assert refused.json() == wrong.json()
        let_in = Client().post(
            "/oauth/token", {**said, "username": "carol"}, content_type="application/json"
        )
        assert let_in.status_code == 200

    def test_a_session_from_before_shows_it_for_consent_tokens_and_settings(
        self, alice, page_of, clock
    ):
        old = page_of(alice)
        device, _codes = turn_on(alice)
        clock.shift(30)
        program = register_application(
            name="Elephant", redirect_uris=["https://elephant.example/"], scopes="read"
        )
        asked = f"/oauth/authorize?response_type=code&client_id={program.application.client_id}&redirect_uri=https://elephant.example/&scope=read"
        for answer in (
            old.get(asked),
            old.post(asked, {"allow": "1"}),
            old.post("/settings/tokens", {"name": "mine", "scopes": ["read"]}),
            old.get(SECURITY),
            old.post(f"{SECURITY}/app/remove", {"password": PASSWORD}),
        ):
            assert answer["Location"].startswith(f"{CODE}?next="), answer
        assert not AccessToken.objects.filter(revoked_at=None).exists()
        assert is_in(old)  # what needs no more than the password goes on
        answer = old.post(old.get(asked)["Location"], {"code": code_of(device)})
        assert answer["Location"] == asked
        assert old.get(asked).status_code == 200

    def test_the_proof_ends_with_the_device(self, guarded):
        alice, device, _codes = guarded
        browser = half_in()
        browser.post(CODE, {"code": code_of(device)})
        assert browser.get(SECURITY).status_code == 200
        TOTPDevice.objects.update(confirmed=False)
        other = TOTPDevice.objects.create(user=alice, name="another")
        assert other.pk
        assert browser.get(SECURITY)["Location"].startswith(CODE)

    def test_a_signed_in_browser_has_five_tries_too(self, alice, page_of, clock):
        old = page_of(alice)
        turn_on(alice)
        for number in range(5):
            clock.shift(2**number + 1)
            answer = old.post(CODE, {"code": "000000"})
        assert answer["Location"] == "/login"
        assert not is_in(old)


class TestStaff:
    @pytest.fixture(autouse=True)
    def _wanted(self, settings):
        settings.STAFF_SECOND_FACTOR = True

    @pytest.fixture
    def chief(self):
        return make_staff(superuser=True, handle="chief")

    def test_who_has_none_sets_it_up_first_and_never_goes_in_a_circle(self, chief, clock):
        browser = browser_of(chief)
        answer = browser.get("/admin/accounts/user/", follow=True)
        assert answer.request["PATH_INFO"] == SECURITY
        assert "/settings/security/app?next=" in answer.text
        assert (
            "next=%2Fadmin%2Faccounts%2Fuser%2F" in answer.text
            or "next=/admin/accounts/user/" in answer.text
        )
        begun = browser.post(f"{SECURITY}/app?next=/admin/accounts/user/", {"password": PASSWORD})
        device = TOTPDevice.objects.get()
        page = browser.post(begun["Location"], {"code": code_of(device)})
        assert 'href="/admin/accounts/user/"' in page.text
        assert browser.get("/admin/accounts/user/").status_code == 200

    def test_who_has_one_shows_it_and_comes_back(self, chief, clock):
        browser = browser_of(chief)
        device, _codes = turn_on(chief)
        clock.shift(30)
        answer = browser.get("/admin/accounts/user/", follow=True)
        assert answer.request["PATH_INFO"] == CODE
        assert browser.post("/admin/accounts/user/", {}).status_code == 302
        here = f"{CODE}?{answer.request['QUERY_STRING']}"
        assert browser.post(here, {"code": code_of(device)})["Location"] == "/admin/accounts/user/"
        assert browser.get("/admin/accounts/user/").status_code == 200

    def test_the_admin_has_no_other_way_in(self, chief, clock):
        turn_on(chief)
        browser = Client()
        answer = browser.post("/admin/login/", {"username": "chief", "password": PASSWORD})
        assert answer["Location"].startswith("/login?next=")
        assert not is_in(browser)

    @pytest.mark.long
    @pytest.mark.gate
    def test_every_page_of_the_admin_asks(self, chief):
        browser, asked = browser_of(chief), 0
        for address in addresses():
            if address.startswith("/admin/") and not address.startswith(
                ("/admin/login", "/admin/logout", "/admin/jsi18n")
            ):
                answer = browser.get(address)
                assert answer.status_code in {301, 302, 403, 404}, address
                asked += answer.status_code == 302
        assert asked > 50

    def test_powers_outside_the_admin_ask_too(self, chief, alice, page_of, api_of, clock):
        post = publish(alice, "Still here.")
        browser, program = browser_of(chief), api_of(chief)
        where = f"/posts/{post.pk}/delete"
        assert browser.get(where)["Location"].startswith(f"{SECURITY}?next=")
        assert browser.post(where)["Location"].startswith(f"{SECURITY}?next=")
        assert browser.get("/@alice/explain").status_code in {302, 404}
        assert program.delete(f"/api/v1/statuses/{post.pk}").status_code == 404
        assert program.get("/api/x/policy").status_code in {403, 404}
        assert Client().get(f"/@alice/{post.pk}").status_code == 200

    def test_explanations_of_others_ask_too(self, chief, alice):
        address = next(one for one in addresses() if "explain" in one and "alice" in one)
        assert browser_of(chief).get(address)["Location"].startswith(f"{SECURITY}?next=")

    def test_their_own_posts_are_theirs(self, chief):
        post = publish(chief, "Mine.")
        assert browser_of(chief).post(f"/posts/{post.pk}/delete").status_code == 303

    def test_a_token_made_after_it_was_shown_may_act(self, chief, alice, api_of, clock):
        turn_on(chief)
        post = publish(alice, "Goes.")
        assert api_of(chief).delete(f"/api/v1/statuses/{post.pk}").status_code == 200

    def test_without_the_setting_the_password_is_enough(self, chief, settings):
        settings.STAFF_SECOND_FACTOR = False
        assert browser_of(chief).get("/admin/").status_code == 200

    def test_without_the_setting_who_has_one_shows_it_still(self, chief, settings, clock):
        settings.STAFF_SECOND_FACTOR = False
        browser = browser_of(chief)
        turn_on(chief)
        assert browser.get("/admin/", follow=True).request["PATH_INFO"] == CODE

    def test_it_is_on_unless_somebody_says_otherwise(self):
        source = (settings_file()).read_text()
        assert 'PRODUCTION = env.bool("PRODUCTION", True)' in source
        assert 'STAFF_SECOND_FACTOR = env.bool("STAFF_SECOND_FACTOR", PRODUCTION)' in source


def settings_file():
    from pathlib import Path  # noqa: PLC0415 -- of this one test

    return Path(__file__).parents[2] / "feedsite" / "settings.py"


class TestLockedOut:
    def test_staff_reset_it_and_it_is_written_down(self, guarded):
        alice, _device, _codes = guarded
        chief = make_staff(superuser=True, handle="chief")
        confirm(
            browser_of(chief),
            "/admin/accounts/user/",
            "reset_factor",
            [alice],
            reason="Lost her phone.",
        )
        assert not second_factor.has_second_factor(alice)
        entry = LogEntry.objects.get()
        assert (entry.object_id, entry.user) == (str(alice.pk), chief)
        assert "Second factor reset: Lost her phone." in entry.change_message

    def test_not_of_other_staff_and_not_their_own(self, alice, clock):
        moderator = make_staff("accounts.change_user", RESCUE, handle="moderator1")
        chief = make_staff(superuser=True, handle="chief")
        for user, by in ((chief, moderator), (moderator, moderator), (alice, alice)):
            turn_on(user)
            with pytest.raises(NotAllowed):
                reset_second_factor(user, by=by)
            assert second_factor.has_second_factor(user)
            clock.shift(60)

    def test_the_operator_at_the_command_line(self, guarded, capsys):
        alice, _device, _codes = guarded
        call_command("reset_second_factor", "alice")
        assert "@alice is reset" in capsys.readouterr().out
        assert not second_factor.has_second_factor(alice)
        with pytest.raises(CommandError, match="has no second factor"):
            call_command("reset_second_factor", "alice")

    @pytest.mark.slow
    def test_the_admin_shows_no_keys(self, guarded):
        alice, device, _codes = guarded
        chief = browser_of(make_staff(superuser=True, handle="chief"))
        assert chief.get("/admin/otp_totp/totpdevice/").status_code == 404
        assert chief.get("/admin/otp_static/staticdevice/").status_code == 404
        assert chief.get("/admin/django_otp_webauthn/webauthncredential/").status_code == 404
        assert device.key not in chief.get(f"/admin/accounts/user/{alice.pk}/change/").text


class TestWherePasskeysWork:
    @each(
        ("site", "name", "origin"),
        [
            ("https://feed.example.org", "feed.example.org", "https://feed.example.org"),
            ("https://feed.example.org:8443", "feed.example.org", "https://feed.example.org:8443"),
            ("http://localhost:8000", "localhost", "http://localhost:8000"),
            ("http://127.0.0.1:8000", "localhost", "http://localhost:8000"),
            ("http://[::1]:8000", "localhost", "http://localhost:8000"),
            ("http://feed.example.org", "localhost", "http://localhost"),
            ("https://192.0.2.1", "localhost", "http://localhost"),
        ],
    )
    def test_a_name_and_tls_or_this_machine(self, site, name, origin):
        assert relying_party(site) == (name, origin)

    def test_the_page_says_where(self, alice, page_of):
        page = page_of(alice).get(SECURITY).text
        assert 'href="/settings/security/passkeys"' not in page
        here = page_of(alice).get(SECURITY, headers={"Host": "localhost"}).text
        assert 'href="/settings/security/passkeys"' in here

    def test_only_staff_read_that_passkeys_do_not_work_here(self, alice, page_of):
        assert "asskey" not in re.sub("<small>.*?</small>", "", page_of(alice).get(SECURITY).text)
        staff = page_of(make_staff()).get(SECURITY).text
        assert "do not work at this address" in staff

    @pytest.mark.long
    @each(
        "answer", ["", "[]", "{}", "nonsense", '{"id": 1}', '{"id": "a", "rawId": "a", "response": {}}', "[" * 20_000,
                   ('{"id": "AA", "rawId": "AA", "type": "public-key", "response": {"clientDataJSON": "AA",'
                    ' "authenticatorData": "AA", "signature": "AA", "attestationObject": "AA"}}')]
    )  # fmt: skip
    def test_nonsense_is_refused(self, alice, page_of, answer):
        visitor = Client()
        assert visitor.post("/login/passkey/options").json()["userVerification"] == "required"
        assert visitor.post("/login/passkey", {"answer": answer})["Location"] == "/login"
        member = page_of(alice)
        refused = member.post(f"{SECURITY}/passkeys/options", {"password": "wrong"})
        assert refused.status_code == 422
        asked = member.post(f"{SECURITY}/passkeys/options", {"password": PASSWORD}).json()
        assert asked["authenticatorSelection"]["residentKey"] == "required"
        assert member.post(f"{SECURITY}/passkeys", {"name": "x", "answer": answer}).status_code == 422  # fmt: skip

    def test_questions_are_limited_per_address(self, settings, db):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "passkey": (1, 60)}
        assert Client().post("/login/passkey/options").status_code == 200
        assert Client().post("/login/passkey/options").status_code == 429


def test_a_new_account_is_in_at_once(db):
    browser = Client()
    said = {"handle": "newcomer", "display_name": "", "email": "", "password": PASSWORD}
    assert browser.post("/join", said).status_code == 303
    assert is_in(browser)
    assert make_user("other").pk
