import pytest
from django.contrib.auth import authenticate

from apps.accounts.actions import issue_token
from apps.accounts.authentication.backends import HandleOrEmailBackend, login_name
from apps.api.authentication import TOKEN_MAX_CHARACTERS
from apps.moderation.actions import restore_user, suspend_user
from tests.support.cases import each
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db

ME = "/api/v1/accounts/verify_credentials"


@each("name", ["alice", "@Alice", " ALICE ", "alice@example.org", "Alice@Example.ORG"])
def test_people_log_in_with_handle_or_address(alice, name):
    assert authenticate(username=login_name(name), password=PASSWORD) == alice


@each(
    ("name", "password"),
    [
        ("alice", "wrong"),
        ("alice", ""),
        ("alice", None),
        ("nobody", PASSWORD),
        ("", PASSWORD),
        (None, None),
        ("", ""),
    ],
)
def test_anything_else_logs_nobody_in(alice, name, password):
    assert authenticate(username=name, password=password) is None


def test_an_account_without_an_address_is_not_found_by_an_empty_one(alice):
    alice.email = None
    alice.save()
    assert authenticate(username="", password=PASSWORD) is None


def test_the_password_is_hashed_even_when_there_is_no_such_name(db, monkeypatch):
    """So that an answer takes equally long."""
    hashed = []
    monkeypatch.setattr(
        "apps.accounts.models.User.set_password", lambda self, password: hashed.append(password)
    )
    authenticate(username="nobody", password="x")
    assert hashed == ["x"]


def test_a_suspension_ends_sessions_with_the_next_request(alice, admin, page_of):
    alice.is_staff = True
    alice.save()
    browser = page_of(alice)
    assert browser.get("/admin/").status_code == 200
    suspend_user(alice, by=admin, reason="spam")
    assert browser.get("/admin/").status_code == 302
    assert HandleOrEmailBackend().get_user(alice.pk) is None
    assert authenticate(username="alice", password=PASSWORD) is None


def test_a_restored_account_can_log_in_again(alice, admin):
    suspend_user(alice, by=admin, reason="spam")
    restore_user(alice, by=admin, reason="appeal")
    assert authenticate(username="alice", password=PASSWORD) == alice


def status_of(api_client, header):
    return api_client.get(ME, headers={"Authorization": header}).status_code


def test_a_bearer_token_is_a_login(alice, client):
    token = issue_token(alice, name="phone")
    assert status_of(client, f"Bearer {token}") == 200
    assert status_of(client, f"bearer {token}") == 200


@each(
    "header",
    ["", "Bearer", "Bearer ", "Bearer x", "Basic YTpi", "Token x", "Bearer  x",
     "Bearer " + "x" * (TOKEN_MAX_CHARACTERS + 1),
     "Bearer \xff\xfe", "Bearer a b", "Bearer '; DROP TABLE accounts_user; --", "Bearer x\ty"],
)  # fmt: skip
def test_anything_else_is_a_401_that_says_how(alice, client, header):
    answer = client.get(ME, headers={"Authorization": header})
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="api"')


def test_a_session_is_no_login_for_the_api(alice, page_of):
    """So that the API needs no protection against forged requests."""
    assert page_of(alice).get(ME).status_code == 401


def test_a_bad_token_is_refused_even_where_none_is_needed(client, db):
    assert (
        client.get("/api/v1/timelines/public", headers={"Authorization": "Bearer x"}).status_code
        == 401
    )


def test_a_suspended_accounts_token_is_refused_at_once(alice, admin, api_of):
    program = api_of(alice)
    assert program.get(ME).status_code == 200
    suspend_user(alice, by=admin, reason="spam")
    assert program.get(ME).status_code == 401
