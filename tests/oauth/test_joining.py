"""Accounts that programs make, and several at once."""

import pytest
from django.test import Client

from apps.accounts.models import User
from tests.api.test_endpoints import application_client
from tests.support.factories import PASSWORD, make_user, suspend

pytestmark = pytest.mark.django_db

NEW = {
    "username": "newcomer",
    "email": "new@example.org",
    "password": PASSWORD,
    "agreement": True,
    "locale": "en",
}


def test_a_program_makes_an_account_and_acts_for_it():
    client = application_client()
    body = client.post("/api/v1/accounts", NEW, format="json").json()
    assert (body["token_type"], body["scope"]) == ("Bearer", "read write")
    me = Client().get(
        "/api/v1/accounts/verify_credentials",
        headers={"Authorization": f"Bearer {body['access_token']}"},
    )
    assert me.json()["username"] == "newcomer"
    assert User.objects.get().email == "new@example.org"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"username": "x"}, "username"), ({"username": "admin"}, "username"), ({"username": "alice"}, "username"),
        ({"password": "short"}, "password"), ({"agreement": False}, "agreement"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_field_by_field(alice, wrong, field):
    answer = application_client().post("/api/v1/accounts", {**NEW, **wrong}, format="json")
    assert answer.status_code == 422
    assert list(answer.json()["details"]) == [field]
    assert answer.json()["details"][field][0]["description"] in answer.json()["error"]
    assert User.objects.get() == alice


def test_people_do_not_make_accounts_and_programs_only_so_many(alice, api_of, settings):
    assert api_of(alice).post("/api/v1/accounts", NEW, format="json").status_code == 401
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "sign_up": (1, 300)}
    client = application_client()
    assert client.post("/api/v1/accounts", NEW, format="json").status_code == 200
    again = {**NEW, "username": "another", "email": "another@example.org"}
    assert client.post("/api/v1/accounts", again, format="json").status_code == 429


def test_several_accounts_come_in_the_order_asked(
    alice, bob, carol, client, django_assert_num_queries
):
    gone = make_user()
    suspend(gone)
    asked = "&".join(f"id[]={pk}" for pk in (carol.pk, gone.pk, alice.pk, 999999, carol.pk))
    with django_assert_num_queries(1):
        body = client.get(f"/api/v1/accounts?{asked}").json()
    assert [account["username"] for account in body] == ["carol", "alice"]
    assert client.get("/api/v1/accounts").json() == []
    assert client.get("/api/v1/accounts?id[]=x").status_code == 400
