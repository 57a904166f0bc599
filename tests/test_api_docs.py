"""docs/api.md: every endpoint of ours is in its tables, and what these do not call refused is there."""

import re
from pathlib import Path

import pytest
from drf_spectacular.generators import SchemaGenerator

ROWS = re.compile(r"\| (GET|POST|PUT|PATCH|DELETE) `([^`]+)` \| (.*?) \|(.*)")
DOCUMENT = (Path(__file__).resolve().parent.parent / "docs" / "api.md").read_text()
TABLED = {(method, path): state for method, path, state, _why in ROWS.findall(DOCUMENT)}
NOT_IN_THE_SCHEMA = (
    "/api/v1/streaming",
    "/oauth/authorize",
    "/.well-known/",
    "/api/oembed",
)  # other servers, pages


@pytest.fixture(scope="module")
def served():
    document = SchemaGenerator().get_schema(public=True)
    return {
        (method.upper(), re.sub(r"\{[^}]*\}", ":id", path))
        for path, methods in document["paths"].items()
        for method in methods
    }


@pytest.mark.slow
def test_every_endpoint_of_ours_is_in_the_tables(served):
    assert {one for one in served if one[1].startswith("/api/")} - TABLED.keys() == set()


def test_what_is_refused_is_not_there_and_everything_else_is(served):
    for (method, path), state in TABLED.items():
        if not path.startswith(NOT_IN_THE_SCHEMA):
            assert (method, path, (method, path) in served) == (method, path, state != "refused")


def test_the_table_is_long_enough_to_be_mastodons():
    assert len(TABLED) > 200
    assert {"as Mastodon", "differs", "refused"} <= set(TABLED.values())
