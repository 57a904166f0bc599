"""docs/api.md says of every endpoint and parameter of Mastodon what the expectations have found."""

from tests.api.conformance.document import DOCUMENT, document, endpoint_of, sections
from tests.api.conformance.tables import AREAS

ENDPOINTS = [one for rows in sections().values() for one in rows]


def test_the_tables_are_those_of_the_expectations():
    assert DOCUMENT.read_text() == document(), "python -P -m tests.api.conformance.document"


def test_every_endpoint_is_asked_for_or_refused():
    assert [one.name for one in ENDPOINTS if not one.is_asked] == []


def test_every_parameter_is_asked_with():
    assert {one.name: one.unasked() for one in ENDPOINTS if one.unasked()} == {}


def test_what_is_refused_answers_to_nobody():
    assert [
        one.name
        for one in ENDPOINTS
        if one.refused and any(row.status < 300 and not row.differs for row in one.expectations)
    ] == []


def test_every_expectation_is_of_an_endpoint_of_mastodon():
    asked = {(one.step.method, one.step.path) for rows in AREAS.values() for one in rows}
    steps = [one.step for rows in AREAS.values() for one in rows]
    unknown = {f"{step.method} {step.path}" for step in steps if not endpoint_of(step, ENDPOINTS)}
    assert unknown == {
        "HEAD /api/v1/timelines/public",
        "HEAD /api/v2/instance",
        "GET /api/v1/nothing",
        "DELETE /api/v1/timelines/home",
        "GET /nodeinfo/2.0",
        "GET /.well-known/nodeinfo",
    }
    assert len(asked) > 300
