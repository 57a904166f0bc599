"""A session is for pages; the API knows tokens."""

import pytest

pytestmark = pytest.mark.django_db

PUBLIC = "/api/v1/timelines/public"


def test_a_session_means_nothing_to_the_api(bob, page_of, django_assert_num_queries):
    browser = page_of(bob)
    assert browser.get("/home").status_code == 200
    with django_assert_num_queries(0):
        answer = browser.get("/api/v1/timelines/home")
    assert answer.status_code == 401
    assert browser.post("/api/v1/statuses", {"status": "Hello."}).status_code == 401


def test_the_api_sets_no_cookie(alice, api_of):
    for client in (api_of(None), api_of(alice)):
        assert not client.get(PUBLIC).cookies
