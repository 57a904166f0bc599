"""The token endpoint: who gets a token, in which form one may ask, and what one is worth."""

from datetime import timedelta
from hashlib import sha256

import pytest
from django.utils import timezone
from oauth2_provider.models import AccessToken, RefreshToken

from apps.moderation.actions import restore_user
from apps.oauth.actions import end_access, issue_access, purge, register_application
from apps.oauth.models import Application
from apps.oauth.queries import bearer_of
from tests.support.factories import PASSWORD, deliver, moderator, suspend

pytestmark = pytest.mark.django_db

TOKEN, REVOKE = "/oauth/token", "/oauth/revoke"
ME = "/api/v1/accounts/verify_credentials"


def with_password(program, **more):
    return {
        "grant_type": "password", "client_id": program.application.client_id, "client_secret": program.secret,
        "username": "alice", "password": PASSWORD, "scope": "read write follow", **more,
    }  # fmt: skip


def me(client, token):
    return client.get(ME, headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("form", ["json", "multipart", None])
@pytest.mark.parametrize("slash", ["", "/"])
def test_a_password_is_worth_a_token_in_whatever_form_it_comes(alice, api_of, program, form, slash):
    client, said = api_of(None), with_password(program)
    answer = (
        client.post(TOKEN + slash, said, format=form)
        if form
        else client.post(TOKEN + slash, "&".join(f"{name}={value}" for name, value in said.items()).replace(" ", "+"),
                         content_type="application/x-www-form-urlencoded")
    )  # fmt: skip
    body = answer.json()
    assert (answer.status_code, body["token_type"], body["scope"]) == (
        200,
        "Bearer",
        "read write follow",
    )
    assert body["created_at"] > 1_700_000_000
    assert body["expires_in"] > 365 * 24 * 3600
    assert answer.headers["Cache-Control"] == "no-store"
    assert me(client, body["access_token"]).json()["username"] == "alice"


def test_tokens_are_stored_as_hashes_only(alice, api_of, program):
    body = api_of(None).post(TOKEN, with_password(program), format="json").json()
    for model, name in ((AccessToken, "access_token"), (RefreshToken, "refresh_token")):
        row = model.objects.values().get()
        assert row["token"] == ""
        assert body[name] not in str(row)
    assert program.secret not in str(program.application.__class__.objects.values().get())


@pytest.mark.parametrize(
    ("wrong", "status", "error"),
    [
        ({"password": "wrong"}, 400, "invalid_grant"),
        ({"username": "nobody"}, 400, "invalid_grant"),
        ({"client_secret": "wrong"}, 401, "invalid_client"),
        ({"client_id": "nobody"}, 401, "invalid_client"),
        ({"grant_type": "implicit"}, 400, "unsupported_grant_type"),
        ({"grant_type": ""}, 400, "unsupported_grant_type"),
        ({"username": "a\x00b"}, 400, None),
        ({"client_id": ["a"]}, 401, "invalid_client"),
    ],
)
def test_anything_else_is_refused_in_the_words_of_oauth(
    alice, api_of, program, wrong, status, error
):
    answer = api_of(None).post(TOKEN, with_password(program, **wrong), format="json")
    assert answer.status_code == status
    if error:
        assert answer.json()["error"] == error
        assert not AccessToken.objects.exists()


def test_a_program_gets_no_more_than_it_registered_for(alice, api_of):
    modest = register_application(name="Reader", scopes="read:statuses")
    client = api_of(None)
    assert (
        client.post(TOKEN, with_password(modest), format="json").json()["error"] == "invalid_scope"
    )
    body = client.post(TOKEN, with_password(modest, scope="read:statuses"), format="json").json()
    assert me(client, body["access_token"]).json()["code"] == "insufficient_scope"


def test_guesses_of_a_password_are_counted_like_failed_logins(alice, api_of, program, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "log_in": (3, 300)}
    client = api_of(None)
    for _good in range(5):  # what succeeds is given back
        assert client.post(TOKEN, with_password(program), format="json").status_code == 200
    wrong = with_password(program, password="wrong")
    assert [client.post(TOKEN, wrong, format="json").status_code for _try in range(4)] == [
        400,
        400,
        400,
        429,
    ]
    assert client.post(TOKEN, with_password(program), format="json").headers["Retry-After"]
    browser_form = {"username": "@Alice", "password": PASSWORD}
    assert client.post("/login", browser_form).status_code == 429


def test_an_application_may_ask_for_itself(db, api_of, program):
    client = api_of(None)
    said = {
        "grant_type": "client_credentials", "client_id": program.application.client_id, "client_secret": program.secret
    }  # fmt: skip
    body = client.post(TOKEN, said, format="json").json()
    assert body["scope"] == "read"
    headers = {"Authorization": f"Bearer {body['access_token']}"}
    seen = client.get("/api/v1/apps/verify_credentials", headers=headers).json()
    assert (seen["name"], seen["website"]) == ("Elephant", "https://elephant.example")
    assert client.get("/api/v1/timelines/public", headers=headers).status_code == 200
    assert client.get(ME, headers=headers).status_code == 403


def test_a_token_is_renewed_once(alice, api_of, program):
    """Who copies the means of renewal and uses it again ends the whole family."""
    client = api_of(None)
    first = client.post(TOKEN, with_password(program), format="json").json()
    said = {
        **with_password(program),
        "grant_type": "refresh_token",
        "refresh_token": first["refresh_token"],
    }
    second = client.post(TOKEN, said, format="json").json()
    assert second["scope"] == "read write follow"
    assert me(client, first["access_token"]).status_code == 401
    assert me(client, second["access_token"]).status_code == 200
    assert client.post(TOKEN, said, format="json").json()["error"] == "invalid_grant"
    assert me(client, second["access_token"]).status_code == 401


def test_a_program_ends_its_own_tokens_and_no_others(alice, api_of, program):
    client, other = api_of(None), register_application(name="Other", scopes="read")
    token = client.post(TOKEN, with_password(program), format="json").json()["access_token"]
    for asking, status in ((other, 401), (program, 200)):
        assert me(client, token).status_code == 200
        said = {
            "token": token,
            "client_id": asking.application.client_id,
            "client_secret": asking.secret,
        }
        if status == 401:
            answer = client.post(REVOKE, {**said, "client_secret": "wrong"}, format="json")
            assert answer.status_code == 401
        answer = client.post(REVOKE, said, format="json")
        assert (answer.status_code, answer.json()) == (200, {})
    assert me(client, token).status_code == 401
    assert not RefreshToken.objects.filter(revoked=None).exists()


def test_access_can_be_ended_for_one_program(alice, api_of, program):
    client = api_of(None)
    token = client.post(TOKEN, with_password(program), format="json").json()["access_token"]
    end_access(alice.pk, application_id=program.application.pk)
    assert bearer_of(token) is None


def test_a_suspension_ends_tokens_and_a_restoration_brings_none_back(alice, api_of, program):
    client = api_of(None)
    token = client.post(TOKEN, with_password(program), format="json").json()["access_token"]
    suspend(alice)
    assert me(client, token).status_code == 401
    deliver()
    restore_user(alice, by=moderator(), reason="A test.")
    assert me(client, token).status_code == 401


def test_asking_costs_two_queries(alice, api_of, program, django_assert_num_queries):
    token = api_of(None).post(TOKEN, with_password(program), format="json").json()["access_token"]
    # for the token, and for its account, which may be on another server
    with django_assert_num_queries(2):
        bearer = bearer_of(token)
        assert bearer
        assert bearer.user
        assert bearer.application
        assert (bearer.user.counts.posts, bearer.application.name) == (0, "Elephant")


def test_an_expired_token_is_worth_nothing(alice, api_of, program):
    token = api_of(None).post(TOKEN, with_password(program), format="json").json()["access_token"]
    AccessToken.objects.update(expires="2020-01-01T00:00:00Z")
    assert bearer_of(token) is None


def test_how_to_ask_is_told_where_clients_may_believe_it(client, settings):
    """They take no address that is not https, and give up where they are told of one."""
    settings.SITE_URL = "http://127.0.0.1:8000"
    assert client.get("/.well-known/oauth-authorization-server").status_code == 404
    settings.SITE_URL = "https://rill.example"
    body = client.get("/.well-known/oauth-authorization-server").json()
    assert body["issuer"] == "https://rill.example"
    assert body["token_endpoint"] == "https://rill.example/oauth/token"
    assert body["code_challenge_methods_supported"] == ["S256"]
    assert {"read", "write:statuses"} <= set(body["scopes_supported"])
    assert "push" in body["scopes_supported"]
    assert "password" in body["grant_types_supported"]


def test_what_ended_is_forgotten_and_what_lives_is_kept(alice, api_of, program):
    token = api_of(None).post(TOKEN, with_password(program), format="json").json()["access_token"]
    idle = register_application(name="Idle", scopes="read").application
    fresh = register_application(name="Fresh", scopes="read").application
    old = timezone.now() - timedelta(days=31)
    Application.objects.exclude(pk=fresh.pk).update(created=old)
    gone, _row = issue_access(alice, program.application, scopes=["read"])
    AccessToken.objects.filter(token_checksum=sha256(gone.encode()).hexdigest()).update(expires=old)
    purge()
    assert set(Application.objects.all()) == {fresh, program.application}
    assert idle not in Application.objects.all()
    assert AccessToken.objects.count() == 1
    assert me(api_of(None), token).status_code == 200


def test_an_expired_token_stays_while_it_can_be_refreshed(api_of, alice, program):
    found = api_of(None).post(TOKEN, with_password(program), format="json").json()
    AccessToken.objects.update(expires=timezone.now() - timedelta(days=1))
    purge()
    said = {
        "grant_type": "refresh_token",
        "refresh_token": found["refresh_token"],
        "client_id": program.application.client_id,
        "client_secret": program.secret,
    }
    fresh = api_of(None).post(TOKEN, said, format="json").json()
    assert me(api_of(None), fresh["access_token"]).status_code == 200
    AccessToken.objects.update(expires=timezone.now() - timedelta(days=1))
    RefreshToken.objects.update(revoked=timezone.now())
    purge()
    assert not AccessToken.objects.exists()


def test_the_end_of_a_token_is_told_to_those_who_hold_streams_open(
    alice, api_of, program, monkeypatch
):
    told = []
    monkeypatch.setattr(
        "apps.accounts.cache.announce", lambda name, **ids: told.append((name, ids))
    )
    client = api_of(None)
    token = client.post(TOKEN, with_password(program), format="json").json()["access_token"]
    said = {
        "token": token,
        "client_id": program.application.client_id,
        "client_secret": program.secret,
    }
    client.post(REVOKE, said, format="json")
    client.post(REVOKE, said, format="json")
    assert told == [("tokens_ended", {"user_id": alice.pk})]
