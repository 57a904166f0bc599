"""Refusals have the content type of RFC 9457 for those who name it, and the same body for everybody."""

import re

import pytest

from tests.support.cases import each

pytestmark = pytest.mark.django_db
ADDRESSES = ["/api/v1/accounts/1", "/api/v1/timelines/home", "/api/v1/nowhere", "/api/v1/timelines/public?max_id=x",
             "/api/v1/timelines/public?max_id=%00"]  # fmt: skip


@each("address", ADDRESSES)
def test_who_names_the_type_gets_it_and_nobody_else(client, address):
    usual = client.get(address, headers={"Accept": "application/json, */*"})
    named = client.get(address, headers={"Accept": "application/json, Application/Problem+JSON;q=0.9"})  # fmt: skip
    assert usual.status_code == named.status_code >= 400
    assert usual.headers["Content-Type"].startswith("application/json")
    assert named.headers["Content-Type"] == "application/problem+json"
    assert "accept" in usual.headers["Vary"].lower()
    bodies = [{**one.json(), "request_id": ""} for one in (usual, named)]
    assert bodies[0] == bodies[1]
    assert {"error", "type", "title", "status", "code", "detail", "instance"} <= bodies[0].keys()


def test_answers_and_pages_keep_their_types(client):
    accept = {"Accept": "application/json, application/problem+json, text/html"}
    answer = client.get("/api/v1/timelines/public", headers=accept)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    page = client.get("/@nobody", headers=accept)
    assert (page.status_code, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")


@each(
    "body, field",
    [
        ({"status": "x", "poll": {"options": "one", "expires_in": 600}}, "poll[options]"),
        ({"status": "x", "poll": {"options": [{}, "b"], "expires_in": 600}}, "poll[options][0]"),
        ({"status": "x", "poll": "yes"}, "poll"),
        ({"status": "x", "media_ids": "1"}, "media_ids"),
        ({"status": "x", "media_ids": ["1", "none"]}, "media_ids[1]"),
        ({"status": None, "poll": {}}, "poll[options]"),
    ],
)
def test_what_is_wrong_inside_is_said_in_sentences(alice, api_of, body, field):
    answer = api_of(alice).post("/api/v1/statuses", body, format="json")
    assert answer.status_code == 422
    said = answer.json()
    assert said["errors"][0]["field"] == field
    for sentence in (said["error"], *(error["detail"] for error in said["errors"])):
        assert not re.search(r"ErrorDetail|code=|[{}]|dictionary|\bstr\b", sentence), sentence
    assert said["error"].startswith(f"{field}: ")


def test_objects_in_objects_are_named_by_their_path(alice, api_of):
    program, address = api_of(alice), "/api/v1/accounts/update_credentials"
    for source, field in (
        ({"quote_policy": "whoever"}, "source[quote_policy]"),
        ("public", "source"),
    ):
        said = program.patch(address, {"source": source}, format="json").json()
        assert [error["field"] for error in said["errors"]] == [field]
        assert "ErrorDetail" not in said["error"]
