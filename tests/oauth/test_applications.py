"""Registration of programs."""

import pytest

from apps.oauth.models import Application

pytestmark = pytest.mark.django_db
APPS = "/api/v1/apps"


def register(client, form="json", **said):
    return client.post(APPS, {"client_name": "Elephant", **said}, format=form)


def test_a_program_registers_itself(api_of):
    body = register(api_of(None), website="https://elephant.example", scopes="read write").json()
    assert body["client_id"]
    assert body["client_secret"]
    assert body["redirect_uris"] == ["urn:ietf:wg:oauth:2.0:oob"]
    assert body["redirect_uri"] == "urn:ietf:wg:oauth:2.0:oob"
    assert (body["name"], body["scopes"]) == ("Elephant", ["read", "write"])
    assert Application.objects.get().scopes == "read write"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("json", {"redirect_uris": "https://a.example/b\nelephant://back"}),
        ("json", {"redirect_uris": ["https://a.example/b", "elephant://back"]}),
        ("multipart", {"redirect_uris": "https://a.example/b\r\nelephant://back"}),
        ("multipart", {"redirect_uris[]": ["https://a.example/b", "elephant://back"]}),
    ],
)
def test_addresses_come_in_lines_or_as_a_list(api_of, form, said):
    body = register(api_of(None), form, **said).json()
    assert body["redirect_uris"] == ["https://a.example/b", "elephant://back"]


SENSELESS = [
        ("client_name", ""), ("client_name", "x" * 61), ("client_name", "\u202e"),
        ("website", "javascript:alert(1)"), ("website", "https://"),
        *(("redirect_uris", address) for address in (
            "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "https://", "https://a.example/#x",
            "nothing",
            "https://me@a.example/", "//a.example", "/local", "https://a.example:99999/", "vbscript:x", "https://[::1",
            7,
            ["https://a.example", 7], "https://" + "x" * 2000, "\n".join(["https://a.example"] * 11))),
]  # fmt: skip


def test_scopes_that_do_not_exist_are_not_granted(api_of):
    body = register(api_of(None), scopes="read admin:all read:horoscopes").json()
    assert body["scopes"] == ["read"]
    assert register(api_of(None), scopes="admin:all").json()["scopes"] == ["read"]


def test_what_makes_no_sense_is_refused_by_name(api_of):
    for field, value in SENSELESS:
        answer = register(api_of(None), **{field: value})
        assert answer.status_code == 422, value
        assert [error["field"] for error in answer.json()["errors"]] == [field], value


def test_registrations_are_limited(api_of, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "register_application": (2, 300)}
    assert [register(api_of(None)).status_code for _try in range(3)] == [200, 200, 429]


def test_a_personal_token_shows_as_a_program_of_its_own(alice, api_of):
    body = api_of(alice).get(f"{APPS}/verify_credentials").json()
    assert (body["id"], body["name"], body["website"]) == ("0", "test", None)
