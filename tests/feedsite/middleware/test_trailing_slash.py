"""Addresses with a trailing slash lead to those without one."""

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from feedsite.middleware.trailing_slash import TrailingSlashMiddleware
from tests.support.cases import each

pytestmark = pytest.mark.django_db

PUBLIC = "/api/v1/timelines/public"


@each(
    ("asked", "canonical"),
    [("/about/", "/about"), ("/about//", "/about"), ("/about/?a=1&b=/", "/about?a=1&b=/")],
)
def test_pages_are_redirected_to_the_form_without_a_slash(client, asked, canonical):
    answer = client.generic("GET", asked.partition("?")[0], QUERY_STRING=asked.partition("?")[2])
    assert (answer.status_code, answer.headers["Location"]) == (301, canonical)


@each("path", ["//evil.example/", "///evil.example//", "/\\evil.example/", "//evil.example/%2e%2e/",
                                  "/%09/evil.example/",
                                  "/%0d%0aLocation:x/"])  # fmt: skip
def test_no_slash_leads_to_another_site(path):
    request = RequestFactory().get("/")
    request.path = request.path_info = path.replace("%09", "\t").replace("%0d%0a", "\r\n")
    location = TrailingSlashMiddleware(lambda _request: HttpResponse())(request).headers["Location"]
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))
    assert "\n" not in location


def test_the_api_answers_both_forms_itself(client):
    assert client.get(f"{PUBLIC}/").status_code == client.get(PUBLIC).status_code == 200


def test_a_form_sent_with_a_slash_is_not_lost(client):
    assert client.post("/healthz/live/").status_code == 405
