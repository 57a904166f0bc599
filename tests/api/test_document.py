"""The OpenAPI document as programs read it that generate clients from it."""

import pytest
from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

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
    known = {tag["name"] for tag in document["tags"]}
    assert known == {tag for _path, operation in operations for tag in operation["tags"]}
