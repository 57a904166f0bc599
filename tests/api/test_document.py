"""The OpenAPI document as programs read it that generate clients from it."""

import pytest
from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

from apps.scopes import NAMES
from apps.streaming import streams
from apps.streaming.streams import Stream
from tests.support.factories import publish

FILES = {
    "/api/v1/accounts/update_credentials",
    "/api/v1/profile",
    "/api/v1/media",
    "/api/v2/media",
    "/api/v1/media/{media_id}",
}
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(public=True)


@pytest.fixture(scope="module")
def operations(document):
    return [
        (path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]


def test_ids_in_addresses_are_texts_as_in_the_answers(operations):
    """JavaScript makes another id of a number of 19 digits."""
    places = [
        (path, one["name"], one["schema"]["type"])
        for path, operation in operations
        for one in operation.get("parameters", ())
        if one["in"] == "path"
    ]
    assert len(places) > 90
    assert [place for place in places if place[2] != "string"] == []


def test_each_body_has_one_form(operations):
    """Generated clients send a body in every form that is named, all at once."""
    for path, operation in operations:
        forms = list(operation.get("requestBody", {}).get("content", {}))
        if forms:
            expected = "multipart/form-data" if path in FILES else "application/json"
            if path.startswith("/oauth/"):
                expected = "application/x-www-form-urlencoded"
            assert forms == [expected], path


def test_it_says_where_the_site_is_and_what_its_tags_are(document, operations):
    assert document["servers"] == [{"url": settings.SITE_URL}]
    known = {tag["name"] for tag in document["tags"] if tag["description"]}
    assert known == {tag for _path, operation in operations for tag in operation["tags"]}


@pytest.mark.slow
def test_it_says_what_a_token_has_to_be_for(document):
    scheme = document["components"]["securitySchemes"]["oauth2"]
    for flow in scheme["flows"].values():
        assert flow["tokenUrl"] == f"{settings.SITE_URL}/oauth/token"
        assert set(flow["scopes"]) == NAMES
    assert document["paths"]["/api/v1/lists"]["post"]["security"] == [{"oauth2": ["write:lists"]}]
    status = document["paths"]["/api/v1/statuses/{status_id}"]["get"]
    assert status["security"] == [{"oauth2": ["read:statuses"]}, {}]


@pytest.mark.slow
@pytest.mark.django_db
def test_it_names_the_headers_that_answers_have(document, api_of, alice):
    """Where the document says so, the site does."""
    publish(alice)
    for path in ("/api/v1/timelines/home", "/api/v1/accounts/verify_credentials"):
        named = set(document["paths"][path]["get"]["responses"]["200"]["headers"])
        assert named <= set(api_of(alice).get(path).headers)
        assert named >= {"ETag", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
        assert ("Link" in named) == ("timelines" in path)
    refusal = document["paths"]["/api/v1/statuses"]["post"]["responses"]["429"]
    assert "Retry-After" in refusal["headers"]
    known = set(document["components"]["headers"])
    assert known >= set(refusal["headers"])


def test_it_describes_each_stream(document):
    """Those of one path: a parameter makes another stream of some."""
    described = {
        Stream.parse(
            path.removeprefix("/api/v1/streaming/").replace("/", ":"), {"tag": "x", "list": "1"}
        ): operations["get"]
        for path, operations in document["paths"].items()
        if path.startswith("/api/v1/streaming/")
    }
    assert {stream.name for stream in described} == {
        name for name in streams.NAMES if not name.endswith(":media")
    }
    for stream, operation in described.items():
        assert operation["security"] == [{"oauth2": list(stream.scopes)}]
        assert "text/event-stream" in operation["responses"]["200"]["content"]
        required = {one["name"] for one in operation["parameters"] if one.get("required")}
        assert required == ({"list"} if stream.name == "list" else {"tag"} if stream.is_tag else set())  # fmt: skip


def test_fields_with_a_default_may_be_left_out(document):
    """openapi-typescript makes every field that has one in the document a field that must be given."""
    fields = document["components"]["schemas"]["ListInput"]
    assert fields["required"] == ["title"]
    assert 'By default "list".' in fields["properties"]["replies_policy"]["description"]
    assert [
        (name, key)
        for name, schema in document["components"]["schemas"].items()
        for key, field in schema.get("properties", {}).items()
        if "default" in field
    ] == []
