"""Every answer has an id, which its error names too."""

import re

import pytest

from tests.support.cases import each

pytestmark = pytest.mark.django_db

PUBLIC = "/api/v1/timelines/public"


@each("path", [PUBLIC, "/healthz/live", "/api/v1/nowhere", "/nowhere", "/x%00", "/about/"])
def test_every_answer_has_a_request_id_of_its_own(client, path):
    first, second = (
        client.get(path, headers={"X-Request-Id": "mine"}).headers["X-Request-Id"] for _ in range(2)
    )
    assert re.fullmatch(r"[0-9a-f]{16}", first)
    assert first != second


def test_an_error_names_the_request_id_of_its_header(client):
    answer = client.get("/api/v1/nowhere")
    assert answer.json()["request_id"] == answer.headers["X-Request-Id"]
