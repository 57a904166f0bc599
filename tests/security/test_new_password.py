"""A new password ends what the old one let in, in its own transaction: no worker runs in any of these tests."""

import re
import threading
from io import StringIO

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from oauth2_provider.models import AccessToken, Grant, RefreshToken

from apps.accounts.actions import issue_token
from apps.accounts.authentication.sessions import sessions_of
from apps.accounts.models import Login, User
from apps.moderation.actions import restore_user
from apps.oauth.actions import register_application
from apps.oauth.queries import bearer_of
from tests.support.factories import PASSWORD, deliver, moderator, suspend, user_of_token
from tests.support.staff import browser_of, confirm, make_staff
from tests.support.threads import together

pytestmark = pytest.mark.django_db
NEW = "quite another one"
ME = "/api/v1/accounts/verify_credentials"


@pytest.fixture
def program(db):
    return register_application(
        name="Elephant", redirect_uris=["https://elephant.example/back"], scopes="read write"
    )


@pytest.fixture
def let_in(alice, program):
    """What a password lets in: sessions, a personal token, an application's token, what renews it, a code."""
    return Access(program)


class Access:
    def __init__(self, program):
        self.program, self.here, self.elsewhere = program, browser(), browser()
        self.personal = issue_token(User.objects.get(handle="alice"), name="script")
        body = self.ask(grant_type="password", username="alice", password=PASSWORD)
        self.token, self.renewal = body["access_token"], body["refresh_token"]
        asked = {
            "response_type": "code", "client_id": program.application.client_id, "scope": "read",
            "redirect_uri": "https://elephant.example/back",
        }  # fmt: skip
        self.here.post("/oauth/authorize", {"allow": "1"}, query_params=asked)
        self.code = Grant.objects.get().code

    def ask(self, **said):
        who = {
            "client_id": self.program.application.client_id,
            "client_secret": self.program.secret,
        }
        return Client().post("/oauth/token", who | said, content_type="application/json").json()

    def living(self) -> set[str]:
        by_token = {"personal": self.personal, "application": self.token}
        found = {name for name, token in by_token.items() if answers(token)}
        if answers(self.elsewhere):
            found.add("elsewhere")
        back = "https://elephant.example/back"
        if "error" not in self.ask(grant_type="refresh_token", refresh_token=self.renewal):
            found.add("renewal")
        code = self.ask(grant_type="authorization_code", code=self.code, redirect_uri=back)
        return found if "error" in code else found | {"code"}


def browser():
    found = Client()
    assert found.post("/login", {"username": "alice", "password": PASSWORD}).status_code == 303
    return found


def answers(who) -> bool:
    if isinstance(who, Client):
        return who.get("/settings/account").status_code == 200
    return Client().get(ME, headers={"Authorization": f"Bearer {who}"}).status_code == 200


def change(let_in, _mails):
    said = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert let_in.here.post("/password/change", said).status_code == 303


def reset(_let_in, mails):
    Client().post("/password/reset", {"email": "alice@example.org"})
    follow_link(mails)


def by_staff(_let_in, mails):
    alice = User.objects.get(handle="alice")
    chief = browser_of(make_staff(superuser=True))
    confirm(chief, "/admin/accounts/user/", "mail_password", [alice], reason="asked")
    follow_link(mails)


def follow_link(mails):
    deliver()
    [link] = re.findall(r"/password/reset/\S+", str(mails[0].body))
    said, visitor = {"new_password1": NEW, "new_password2": NEW}, Client()
    assert visitor.post(visitor.get(link).headers["Location"], said).status_code == 303


def unusable(_let_in, _mails):
    user = User.objects.get(handle="alice")
    user.set_unusable_password()
    user.save()


def by_command(_let_in, _mails):
    given = iter([NEW, NEW])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("getpass.getpass", lambda *_args, **_more: next(given))
        call_command("changepassword", "alice", stdout=StringIO())


def by_code(_let_in, _mails):
    user = User.objects.get(handle="alice")
    user.set_password(NEW)
    user.save()


WAYS = [change, reset, by_staff, unusable, by_command, by_code]


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("way", WAYS)
def test_nothing_lives_on(let_in, mailoutbox, way):
    assert answers(let_in.token)
    assert answers(let_in.personal)
    assert answers(let_in.elsewhere)
    way(let_in, mailoutbox)
    assert let_in.living() == set()
    assert answers(let_in.here) == (way is change)


def test_suspensions_end_the_same_and_a_restoration_brings_nothing_back(let_in, alice):
    suspend(alice)
    restore_user(alice, by=moderator(), reason="appeal")
    assert let_in.living() == set()
    assert not answers(let_in.here)


def test_it_is_one_transaction(let_in):
    """Either the new password is there and nothing of the old one, or the other way round."""
    user = User.objects.get(handle="alice")
    user.set_password(NEW)

    with transaction.atomic():
        user.save(update_fields=["password"])
        assert bearer_of(let_in.token) is None
        transaction.set_rollback(True)
    assert User.objects.get(handle="alice").check_password(PASSWORD)
    assert answers(let_in.token)
    assert answers(let_in.elsewhere)


def test_who_changes_it_stays_and_is_the_only_login_on_the_list(let_in, alice, mailoutbox):
    change(let_in, mailoutbox)
    key = let_in.here.session.session_key
    assert [one.is_current for one in sessions_of(alice, current_key=key)] == [True]
    assert Session.objects.count() == Login.objects.count() == 1
    assert let_in.here.get("/streams/ticket").status_code == 200


@pytest.mark.slow
def test_a_password_that_is_hashed_in_a_better_way_is_no_new_one(let_in, alice, settings):
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        "django.contrib.auth.hashers.MD5PasswordHasher",
    ]
    assert browser()
    alice.refresh_from_db()
    assert alice.password.startswith(PBKDF2PasswordHasher.algorithm)
    assert answers(let_in.token)
    assert user_of_token(let_in.personal) is not None


@pytest.mark.django_db(transaction=True)
def test_a_token_asked_for_with_the_old_password_meanwhile_is_none(program, alice, monkeypatch):
    """The password is checked, then changed by somebody else, and only then the token written."""
    checked, changed = threading.Event(), threading.Event()
    usual = User.check_password

    def slowly(self, raw):
        right = usual(self, raw)
        checked.set()
        changed.wait(10)
        return right

    def ask():
        said = {
            "grant_type": "password", "client_id": program.application.client_id,
            "client_secret": program.secret, "username": "alice", "password": PASSWORD,
        }  # fmt: skip
        return Client().post("/oauth/token", said, content_type="application/json").json()

    def change_it():
        assert checked.wait(10)
        user = User.objects.get(pk=alice.pk)
        user.set_password(NEW)
        user.save()
        changed.set()
        return {}

    monkeypatch.setattr(User, "check_password", slowly)
    answer, _nothing = together(2, lambda number: [ask, change_it][number]())
    assert answer["error"] == "invalid_grant"
    assert not AccessToken.objects.filter(user=alice).exists()
    assert not RefreshToken.objects.filter(user=alice).exists()
