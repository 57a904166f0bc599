"""What shared caches may keep: nothing of one person; every answer is hardened."""

import pytest

from tests.support.cases import each

pytestmark = pytest.mark.django_db

PUBLIC, LOOKUP = "/api/v1/timelines/public", "/api/v1/accounts/lookup"


@each("path", ["/nowhere", "/about", "/"])
def test_no_shared_cache_may_keep_a_page(client, path):
    headers = client.get(path).headers
    assert headers["Cache-Control"] == "private, no-cache"
    assert {"HX-Request", "Cookie"} <= {name.strip() for name in headers["Vary"].split(",")}


@each("path", [PUBLIC, "/api/v2/instance"])
def test_shared_caches_ask_again_before_they_use_what_the_api_told_nobody(client, path):
    headers = client.get(path).headers
    assert headers["Cache-Control"] == "public, no-cache"
    varies = {name.strip() for name in headers["Vary"].split(",")}
    assert {"Authorization", "Cookie", "Accept-Language"} <= varies
    again = client.get(path, headers={"If-None-Match": headers["ETag"]})
    assert (again.status_code, again.headers["Cache-Control"]) == (304, "public, no-cache")


def test_they_keep_nothing_that_was_told_to_somebody(alice, api_of, page_of, client):
    for answer in (
        api_of(alice).get(PUBLIC),
        page_of(alice).get(PUBLIC),  # in the language of the account
        client.get("/api/v1/nowhere"),
        client.post("/api/v1/apps"),
    ):
        assert answer.headers["Cache-Control"] == "private, no-cache"


@each("path", [PUBLIC, "/api/v1/nowhere", "/nowhere", "/about"])
def test_every_answer_is_hardened(client, path):
    headers = client.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
