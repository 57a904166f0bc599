"""One's own profile, changed by programs."""

from urllib.parse import urlsplit

import pytest

from apps.graph.actions import follow_user
from tests.support.cases import each
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db
UPDATE, ME = "/api/v1/accounts/update_credentials", "/api/v1/accounts/verify_credentials"


@pytest.mark.slow
def test_everything_changes_and_is_seen_by_others(alice, bob, api_of, picture):
    answer = api_of(alice).patch(
        UPDATE,
        {
            "display_name": "Alice in Paris", "note": "Tea.\nhttps://tea.example", "bot": "1", "locked": "true",
            "discoverable": "False", "indexable": "0", "avatar": picture(form="JPEG"), "header": picture(form="PNG"),
            "fields_attributes[0][name]": "Web", "fields_attributes[0][value]": "https://tea.example",
            "fields_attributes[1][name]": "", "fields_attributes[1][value]": "",
            "source[privacy]": "private", "source[sensitive]": "true", "source[language]": "zh", "unknown": "x",
        },
        format="multipart",
    )  # fmt: skip
    body = answer.json()
    assert answer.status_code == 200
    assert body["source"] | {"note": ""} == {
        "privacy": "private", "sensitive": True, "language": "zh", "note": "", "follow_requests_count": 0,
        "quote_policy": "public", "attribution_domains": [],
        "fields": [{"name": "Web", "value": "https://tea.example", "verified_at": None}],
        "discoverable": False, "indexable": False, "hide_collections": False,
    }  # fmt: skip
    seen = api_of(bob).get(f"/api/v1/accounts/{alice.pk}").json()
    assert (seen["display_name"], seen["bot"], seen["locked"], seen["noindex"]) == (
        "Alice in Paris",
        True,
        True,
        True,
    )
    assert (seen["discoverable"], seen["indexable"]) == (False, False)
    assert '<a href="https://tea.example"' in seen["fields"][0]["value"]
    for name in ("avatar", "header"):
        stored = api_of(bob).get(urlsplit(seen[name]).path)
        assert stored.headers["Content-Type"] == "image/webp"
        assert stored.getvalue()[8:12] == b"WEBP"
    assert "source" not in seen


def test_what_is_not_sent_stays(alice, api_of):
    client = api_of(alice)
    client.patch(
        UPDATE, {"note": "Tea.", "fields_attributes": [{"name": "a", "value": "b"}]}, format="json"
    )
    body = client.patch(UPDATE, {"bot": True}, format="json").json()
    assert (body["source"]["note"], body["display_name"], body["bot"]) == (
        "Tea.",
        "Alice Wen",
        True,
    )
    assert [line["name"] for line in body["fields"]] == ["a"]
    body = client.patch(
        UPDATE, {"fields_attributes": {"0": {"name": "c", "value": "d"}}}, format="json"
    ).json()
    assert [line["name"] for line in body["fields"]] == ["c"]
    assert client.patch(UPDATE, {}, format="json").json() == body
    assert client.patch(UPDATE, {"fields_attributes": []}, format="json").json()["fields"] == []


@pytest.mark.slow
@each(
    "wrong",
    [
        {"display_name": "x" * 51}, {"note": "x" * 501}, {"note": "a\x00b"}, {"bot": "perhaps"}, {"avatar": "text"},
        {"source": {"privacy": "direct"}}, {"source": {"language": "no tongue"}}, {"source": "x"},
        {"fields_attributes": "x"},
        {"fields_attributes": [{"name": str(n), "value": "x"} for n in range(5)]}, {"fields_attributes": ["x"]},
        {"fields_attributes": [{"name": "x" * 256, "value": ""}]}, {"locked": "perhaps"},
    ],
)  # fmt: skip
def test_what_breaks_a_rule_changes_nothing(alice, api_of, wrong):
    before = api_of(alice).get(ME).json()
    answer = api_of(alice).patch(UPDATE, {"display_name": "new", **wrong}, format="json")
    assert answer.status_code in {400, 422}
    assert answer.json()["errors"] or answer.status_code == 400
    assert api_of(alice).get(ME).json() == before


@pytest.mark.slow
def test_a_file_that_is_no_picture_is_refused_by_name(alice, api_of, tmp_path):
    for name in ("avatar", "header"):
        file = tmp_path / "x.png"
        file.write_bytes(b"<svg onload=alert(1)>")
        with file.open("rb") as upload:
            answer = api_of(alice).patch(UPDATE, {name: upload}, format="multipart")
        assert answer.status_code == 422
        assert [error["field"] for error in answer.json()["errors"]] == [name]


def test_nobody_makes_himself_staff(alice, api_of):
    said = {"is_staff": True, "is_superuser": True, "id": "1", "handle": "root", "username": "root",
            "email": "x@example.org",
            "suspended_at": None, "created_at": "2000-01-01T00:00:00Z", "__class__": "x"}  # fmt: skip
    assert api_of(alice).patch(UPDATE, said, format="json").status_code == 200
    alice.refresh_from_db()
    assert (alice.is_staff, alice.is_superuser, alice.handle, alice.email) == (
        False,
        False,
        "alice",
        "alice@example.org",
    )


def test_its_account_tells_how_many_ask_to_follow(alice, api_of):
    client = api_of(alice)
    client.patch(UPDATE, {"locked": True}, format="json")
    for _number in range(2):
        follow_user(make_user(), alice)
    assert client.get(ME).json()["source"]["follow_requests_count"] == 2
    assert client.patch(UPDATE, {}, format="json").json()["source"]["follow_requests_count"] == 2


def test_preferences_follow_the_profile(alice, api_of):
    client = api_of(alice)
    client.patch(UPDATE, {"source": {"privacy": "unlisted", "language": "zh"}}, format="json")
    body = client.get("/api/v1/preferences").json()
    assert body["posting:default:visibility"] == "unlisted"
    assert body["posting:default:language"] == "zh"
    assert body["posting:default:sensitive"] is False
