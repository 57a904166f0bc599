"""Refusals and failures, as pages and as problem JSON."""

import pytest
from django.test import Client, RequestFactory

from apps.errors import BadRequest, Conflict, Invalid, NotAllowed, NotFound, TooMany, Unavailable
from apps.http.errors import error_response
from tests.support.cases import each

pytestmark = pytest.mark.django_db

PUBLIC, STATUSES = "/api/v1/timelines/public", "/api/v1/statuses"
MEMBERS = {"error", "type", "title", "status", "code", "detail", "instance", "request_id", "errors"}


@each(
    ("refusal", "status", "code"),
    [(BadRequest("no"), 400, "bad_request"), (NotAllowed("no"), 403, "not_allowed"), (NotFound("no"), 404, "not_found"),
     (Conflict("no"), 409, "conflict"), (Invalid("no", errors={"x": "y"}), 422, "validation_failed"),
     (TooMany("no", retry_after=7), 429, "too_many_requests"), (Unavailable("no"), 503, "unavailable"),
     (NotFound("no", code="other"), 404, "other")],
)  # fmt: skip
def test_a_refusal_is_a_page_for_people_and_a_problem_for_programs(refusal, status, code):
    for path in ("/api/v1/x", "/x"):
        request = RequestFactory().get(path)
        answer = error_response(request, refusal)
        assert answer.status_code == status
        assert answer.headers.get("Retry-After") == {429: "7", 503: "2"}.get(status)
        assert ("application/json" in answer.headers["Content-Type"]) == path.startswith("/api/")


def test_every_error_of_the_api_has_the_same_members(alice, client, api_of):
    answers = [
        client.get("/api/v1/nowhere"), client.get("/api/v1/statuses/5"), client.get("/api/v1/timelines/home"),
        client.get(f"{PUBLIC}?limit=x"),
        client.post(PUBLIC), client.get("/api/v1/%00"),
        client.get(PUBLIC, headers={"Host": "evil.example"}, SERVER_NAME="evil.example"),
        api_of(alice).post(STATUSES, {"status": ""}), api_of(alice).post(STATUSES, {"visibility": "x"}),
        api_of(alice).generic("POST", STATUSES, b"x", content_type="text/plain"),
        client.get(PUBLIC, headers={"Accept": "text/csv"}),
    ]  # fmt: skip
    for answer in answers:
        assert answer.headers["Content-Type"].startswith("application/json")
        body = answer.json()
        assert set(body) == MEMBERS
        assert body["status"] == answer.status_code
        assert body["error"]
        assert all(set(error) == {"field", "detail"} for error in body["errors"])
    assert {answer.status_code for answer in answers} == {400, 401, 404, 405, 406, 415, 422}


def test_an_error_page_says_what_is_wrong_and_runs_nothing(client):
    answer = client.get("/nowhere/<script>alert(1)</script>")
    assert answer.status_code == 404
    assert b"<script>alert" not in answer.content
    assert answer.headers["X-Request-Id"].encode() in answer.content or b"404" in answer.content


def test_an_error_page_has_search_and_for_members_navigation(alice, page_of, client):
    for browser, is_member in ((page_of(alice), True), (client, False)):
        for address, status in (("/nobody/here", 404), ("/posts", 405)):
            answer = browser.get(address)
            assert answer.status_code == status
            assert 'action="/search"' in answer.text
            for address in ("/notifications", "/conversations", "/settings", "/bookmarks"):
                assert (f'href="{address}"' in answer.text) == is_member
            assert answer.text.count("<h1>") == 1


def test_a_failure_of_ours_is_a_500_without_details(monkeypatch, alice):
    monkeypatch.setattr("apps.api.views.timelines.public_timeline", lambda *_args: 1 / 0)
    client = Client(raise_request_exception=False)
    answer = client.get(PUBLIC)
    assert (answer.status_code, set(answer.json())) == (500, MEMBERS)
    assert b"ZeroDivision" not in answer.content
    assert b"Traceback" not in answer.content


def test_a_stale_form_is_explained():
    answer = Client(enforce_csrf_checks=True).post("/login", {"username": "x", "password": "y"})
    assert answer.status_code == 403
    assert b"Reason" not in answer.content
