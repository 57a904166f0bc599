"""Pages of accounts: join, log in, passwords, settings."""

import re
from io import BytesIO

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from apps.accounts.actions import issue_token
from apps.accounts.models import AccessToken, User
from tests.support.cases import each
from tests.support.factories import PASSWORD, deliver, make_user, user_of_token
from tests.support.pages import ERROR
from tests.support.staff import browser_of, make_staff

NEW = {
    "handle": "newcomer",
    "display_name": "New Comer",
    "email": "new@example.org",
    "password": PASSWORD,
}


def _picture() -> SimpleUploadedFile:
    buffer = BytesIO()
    Image.new("RGB", (60, 40), "red").save(buffer, "PNG")
    return SimpleUploadedFile("me.png", buffer.getvalue(), "image/png")


@pytest.mark.django_db
class TestJoining:
    def test_makes_an_account_and_logs_in(self):
        browser = Client()
        response = browser.post("/join", NEW)
        assert (response.status_code, response["Location"]) == (303, "/welcome")
        assert "New Comer" in browser.get("/").text

    def test_keeps_what_was_typed_and_says_what_is_wrong(self):
        response = Client().post("/join", {**NEW, "handle": "A!", "password": "hunter-2"})
        assert response.status_code == 422
        assert 'value="new@example.org"' in response.text
        assert 'aria-describedby="id_handle_helptext id_handle_error"' in response.text
        assert "hunter-2" not in response.text
        assert not User.objects.exists()

    def test_goes_on_to_where_the_visitor_was(self):
        response = Client().post("/join", {**NEW, "next": "/public"})
        assert response["Location"] == "/public"

    def test_is_limited_per_address(self, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "sign_up": (1, 60)}
        assert Client().post("/join", NEW).status_code == 303
        response = Client().post("/join", {**NEW, "handle": "second", "email": ""})
        assert response.status_code == 429
        assert 0 < int(response["Retry-After"]) <= 60


class TestLoggingIn:
    def _log_in(self, browser, **fields):
        return browser.post("/login", {"username": "alice", "password": PASSWORD, **fields})

    @each("name", ["alice", "@Alice", "alice@example.org"])
    def test_takes_handle_or_address(self, alice, name):
        assert self._log_in(Client(), username=name).status_code == 303

    def test_says_no_more_than_that_it_is_wrong(self, alice):
        wrong = self._log_in(Client(), password="wrong")
        unknown = self._log_in(Client(), username="nobody")
        assert wrong.status_code == unknown.status_code == 422
        assert wrong.context["form"].errors == unknown.context["form"].errors

    def test_goes_back_to_where_the_visitor_was(self, alice):
        assert self._log_in(Client(), next="/bookmarks")["Location"] == "/bookmarks"

    @each(
        "elsewhere",
        ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"],
    )
    def test_never_leads_to_another_site(self, alice, elsewhere):
        assert self._log_in(Client(), next=elsewhere)["Location"] == "/"

    @each("word", ["true", "front", "login", "a/b"])
    def test_a_word_is_no_address(self, alice, page_of, word):
        for path in ("/login", "/login/code"):
            answer = page_of(alice).get(path, {"next": word})
            assert (answer.status_code, answer["Location"]) == (302, "/")

    def test_failures_are_limited_and_successes_are_not(self, alice, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "log_in": (2, 60)}
        for _ in range(3):
            assert self._log_in(Client()).status_code == 303
        for _ in range(2):
            assert self._log_in(Client(), password="wrong").status_code == 422
        assert self._log_in(Client()).status_code == 429
        assert self._log_in(Client(), username="alice@example.org").status_code == 303

    def test_suspended_accounts_stay_outside(self, alice):
        User.objects.update(is_active=False)
        assert self._log_in(Client()).status_code == 422

    def test_out_again_takes_a_form(self, alice, page_of):
        browser = page_of(alice)
        assert browser.get("/logout").status_code == 405
        response = browser.post("/logout")
        assert (response.status_code, response["Location"]) == (303, "/")
        assert browser.get("/bookmarks").status_code == 302


class TestPasswords:
    def test_change_keeps_the_session(self, alice, page_of):
        browser = page_of(alice)
        fields = {
            "old_password": PASSWORD,
            "new_password1": "quite another one",
            "new_password2": "quite another one",
        }
        assert browser.post("/password/change", fields).status_code == 303
        assert browser.get("/settings/account").status_code == 200
        alice.refresh_from_db()
        assert alice.check_password("quite another one")

    def test_change_asks_for_the_old_one(self, alice, page_of):
        fields = {
            "old_password": "wrong",
            "new_password1": "quite another one",
            "new_password2": "quite another one",
        }
        assert page_of(alice).post("/password/change", fields).status_code == 422

    def test_reset_by_mail(self, alice):
        browser = Client()
        assert browser.post("/password/reset", {"email": alice.email}).status_code == 303
        deliver()
        [link] = re.findall(r"http://testserver(/password/reset/\S+)", str(mail.outbox[0].body))
        form = browser.get(link, follow=True)
        address = form.redirect_chain[-1][0]
        fields = {"new_password1": "quite another one", "new_password2": "quite another one"}
        assert browser.post(address, fields)["Location"] == "/login"
        alice.refresh_from_db()
        assert alice.check_password("quite another one")
        assert "no longer works" in browser.get(link, follow=True).text

    def test_reset_says_the_same_for_unknown_addresses(self, alice):
        known = Client().post("/password/reset", {"email": alice.email}, follow=True)
        unknown = Client().post("/password/reset", {"email": "no@example.org"}, follow=True)
        said = "If an account has this address, a link for choosing a new password has been sent to it."
        assert said in known.text
        assert said in unknown.text
        deliver()
        assert len(mail.outbox) == 1

    def test_reset_is_limited(self, alice, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "password_reset": (1, 60)}
        assert Client().post("/password/reset", {"email": "a@example.org"}).status_code == 303
        assert Client().post("/password/reset", {"email": "a@example.org"}).status_code == 429


class TestSettings:
    def test_profile(self, alice, page_of):
        fields = {"display_name": "Alice W.", "bio": "Tea.", "avatar": _picture()}
        assert page_of(alice).post("/settings/profile", fields).status_code == 303
        alice.refresh_from_db()
        assert (alice.name, alice.bio, bool(alice.avatar)) == ("Alice W.", "Tea.", True)
        assert alice.avatar_url in page_of(alice).get("/@alice").text

    @pytest.mark.slow
    def test_the_picture_goes_again(self, alice, page_of):
        page_of(alice).post("/settings/profile", {"avatar": _picture()})
        page_of(alice).post("/settings/profile", {"remove_avatar": "on"})
        alice.refresh_from_db()
        assert alice.avatar_url == ""

    def test_a_file_that_is_no_picture(self, alice, page_of):
        file = SimpleUploadedFile("me.png", b"nothing", "image/png")
        response = page_of(alice).post("/settings/profile", {"display_name": "X", "avatar": file})
        assert response.status_code == 422
        assert ERROR in response.text
        alice.refresh_from_db()
        assert alice.name == "Alice Wen"

    def test_appearance(self, alice, page_of):
        browser = page_of(alice)
        fields = {"theme": "dark", "text_size": "large", "language": "zh-hans"}
        assert browser.post("/settings/appearance", fields).status_code == 303
        page = browser.get("/").text
        assert 'lang="zh-hans"' in page
        assert 'data-theme="dark"' in page
        assert 'data-size="large"' in page
        browser.post("/settings/appearance", fields | {"language": ""})
        assert 'lang="en"' in browser.get("/").text

    def test_account_asks_for_the_password(self, alice, page_of):
        browser = page_of(alice)
        wrong = browser.post("/settings/account", {"email": "x@example.org", "password": "no"})
        assert wrong.status_code == 422
        right = browser.post("/settings/account", {"email": "x@example.org", "password": PASSWORD})
        assert right.status_code == 303
        alice.refresh_from_db()
        assert alice.email == "x@example.org"

    def test_a_token_is_shown_once(self, alice, page_of):
        browser = page_of(alice)
        said = {"name": "my phone", "scopes": ["read", "follow"]}
        response = browser.post("/settings/tokens", said, follow=True)
        [token] = re.findall(r"rill_[\w-]+", response.text)
        assert response["Cache-Control"] == "no-store"
        assert user_of_token(token) == alice
        assert AccessToken.objects.get().scopes == "read follow"
        assert token not in browser.get("/settings/account").text

    def test_scopes_of_staff_are_offered_to_staff_only(self, alice, page_of):
        staff = browser_of(make_staff())
        said = {"name": "my bot", "scopes": ["read", "admin:read:reports"]}
        browser = page_of(alice)
        assert "admin:" not in browser.get("/settings/account").text
        assert browser.post("/settings/tokens", said).status_code == 422
        assert not AccessToken.objects.exists()
        page = staff.get("/settings/account").text
        for scope in ("admin:read", "admin:write", "admin:write:ip_blocks"):
            assert f'value="{scope}"' in page
        assert staff.post("/settings/tokens", said).status_code == 303
        assert AccessToken.objects.get().scopes == "read admin:read:reports"

    def test_tokens_of_others_are_out_of_reach(self, alice, page_of):
        carol = make_user("carol")
        token = issue_token(carol, name="hers")
        pk = AccessToken.objects.get().pk
        assert page_of(alice).post(f"/settings/tokens/{pk}/revoke").status_code == 303
        assert user_of_token(token) == carol
        assert page_of(carol).post(f"/settings/tokens/{pk}/revoke").status_code == 303
        assert user_of_token(token) is None


@pytest.mark.django_db
class TestFooter:
    def test_visitors_keep_language_and_theme_in_cookies(self):
        browser = Client()
        chosen = browser.post("/appearance", {"language": "zh-hans", "next": "/public"})
        assert (chosen.status_code, chosen["Location"]) == (303, "/public")
        browser.post("/appearance", {"theme": "dark"})
        page = browser.get("/public").text
        assert 'lang="zh-hans"' in page
        assert 'data-theme="dark"' in page

    def test_nonsense_changes_nothing(self):
        browser = Client()
        assert browser.post("/appearance", {"theme": "<script>"}).status_code == 303
        assert not browser.cookies

    def test_a_foreign_cookie_is_not_printed(self):
        browser = Client()
        browser.cookies["theme"] = "pink"
        assert "pink" not in browser.get("/login").text

    def test_members_keep_it_in_their_account(self, alice, page_of):
        page_of(alice).post("/appearance", {"theme": "light"})
        alice.refresh_from_db()
        assert alice.theme == "light"


def test_a_new_token_may_read_unless_more_is_chosen(alice, page_of):
    form = page_of(alice).get("/settings/account").text.split('id="tokens"')[1].split("</form>")[0]
    assert re.findall(r'value="([\w:]+)"[^>]* checked', form) == ["read"]


def test_settings_and_composer_call_audiences_the_same(alice, page_of):
    browser = page_of(alice)
    for name in ("Public", "Quiet public", "Followers"):
        for address in ("/settings/writing", "/compose"):
            assert f">{name}<" in browser.get(address).text
