"""What only pages need is left out for endpoints."""

import pytest
from django.conf import settings

from tests.support.cases import each

pytestmark = pytest.mark.django_db

OF_PAGES = ("session", "csp_nonce", "htmx", "_messages")  # each set by another middleware
BEGIN, END = (f"feedsite.middleware.Pages{name}" for name in ("Begin", "End"))


@each("path, is_page", [("/about", True), ("/nowhere", True), ("/api/docs", True), ("/healthz/x", True),
                        ("/api/v1/timelines/public", False), ("/api/v2/instance", False),
                        ("/api/x/nowhere", False), ("/api/v1/timelines/public/", False)])  # fmt: skip
def test_sessions_forms_and_messages_are_for_pages(client, path, is_page):
    request = client.get(path).wsgi_request
    assert [hasattr(request, name) for name in OF_PAGES] == [is_page] * len(OF_PAGES)


def test_a_page_has_its_own_policy_and_an_endpoint_the_strictest(client):
    policies = [
        client.get(path).headers["Content-Security-Policy"] for path in ("/about", "/api/docs")
    ]
    assert all("script-src 'self'" in policy for policy in policies)
    strictest = client.get("/api/v1/timelines/public").headers["Content-Security-Policy"]
    assert "script-src" not in strictest
    assert strictest.startswith("default-src 'none'")


def test_every_part_for_pages_has_an_end():
    marks = [name for name in settings.MIDDLEWARE if name in {BEGIN, END}]
    assert marks == [BEGIN, END] * (len(marks) // 2)
    assert marks


@each(
    "path, kept",
    [("/about", "private, no-cache"), ("/api/v1/timelines/public", "public, no-cache")],
)
def test_the_rest_is_for_both(client, path, kept):
    answer = client.get(path, headers={"Accept-Language": "zh-hans"})
    assert answer.headers["Content-Language"] == "zh-hans"
    assert answer.headers["Cache-Control"] == kept
    assert client.get(path, headers={"Host": "elsewhere.example"}).status_code == 400
