"""No shared cache keeps an answer; every answer is hardened."""

import pytest

from tests.support.cases import each

pytestmark = pytest.mark.django_db

PUBLIC, LOOKUP = "/api/v1/timelines/public", "/api/v1/accounts/lookup"


@each("path", [PUBLIC, "/api/v1/nowhere", LOOKUP, "/nowhere", "/about", "/"])
def test_no_shared_cache_may_keep_an_answer(client, path):
    headers = client.get(path).headers
    assert headers["Cache-Control"] == "private, no-cache"
    assert {"HX-Request", "Cookie"} <= {name.strip() for name in headers["Vary"].split(",")}


@each("path", [PUBLIC, "/api/v1/nowhere", "/nowhere", "/about"])
def test_every_answer_is_hardened(client, path):
    headers = client.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
