"""What the project adds to every answer, and what it keeps away from every view."""

import re
import time

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from apps.accounts.models import User
from apps.refusals import BadRequest, Conflict, Invalid, NotAllowed, NotFound, TooMany, Unavailable
from feedsite import health
from feedsite.errors import refusal_response
from feedsite.slashes import TrailingSlashMiddleware
from tests.factories import publish
from tests.faults import dead_memcached, dead_redis

pytestmark = pytest.mark.django_db

PUBLIC, STATUSES, LOOKUP = "/api/v1/timelines/public", "/api/v1/statuses", "/api/v1/accounts/lookup"


# --- health ----------------------------------------------------------------------------------------


def test_a_live_process_says_so_without_asking_anybody(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get("/healthz/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


def test_ready_names_every_dependency(client):
    body = client.get("/healthz/ready").json()
    assert set(body["checks"]) >= {"postgresql", "redis", "memcached", "broker"}
    assert all(set(check) == {"ok", "ms"} for check in body["checks"].values())
    assert body["checks"]["postgresql"]["ok"]
    assert body["checks"]["redis"]["ok"]
    assert body["checks"]["broker"]["ok"]


def test_a_dead_redis_is_degraded_and_still_ready(client):
    with dead_redis():
        started = time.monotonic()
        answer = client.get("/healthz/ready")
        assert time.monotonic() - started < 5
    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, "degraded")
    assert {"redis", "broker"} <= set(body["degraded"])
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_dead_memcached_is_degraded_and_still_ready(client):
    with dead_memcached():
        answer = client.get("/healthz/ready")
    assert (answer.status_code, answer.json()["degraded"]) == (200, ["memcached"])


def test_a_dead_postgresql_is_not_ready(client, monkeypatch):
    monkeypatch.setitem(health._CHECKS, "postgresql", lambda: False)
    answer = client.get("/healthz/ready")
    assert (answer.status_code, answer.json()["status"]) == (503, "unavailable")


@pytest.mark.parametrize("path", ["/healthz/live", "/healthz/ready"])
def test_health_is_only_read(client, path):
    assert client.head(path).status_code == 200
    assert client.post(path).status_code == 405


def test_the_api_works_without_redis_and_memcached(alice, bob, api_of):
    post, api = publish(alice), api_of(bob)
    with dead_redis(), dead_memcached():
        for path in (
            "timelines/home",
            "timelines/public",
            f"statuses/{post.pk}",
            "notifications",
            "bookmarks",
        ):
            assert api.get(f"/api/v1/{path}").status_code == 200
        assert api.post(STATUSES, {"status": "still here"}).status_code == 200
        assert [one["content"] for one in api.get("/api/v1/timelines/home").json()] == [
            "<p>still here</p>",
            "<p>Hello.</p>",
        ]


# --- request ids and headers -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [PUBLIC, "/healthz/live", "/api/v1/nowhere", "/nowhere", "/x%00", "/about/"]
)
def test_every_answer_has_a_request_id_of_its_own(client, path):
    first, second = (
        client.get(path, headers={"X-Request-Id": "mine"}).headers["X-Request-Id"] for _ in range(2)
    )
    assert re.fullmatch(r"[0-9a-f]{16}", first)
    assert first != second


def test_an_error_names_the_request_id_of_its_header(client):
    answer = client.get("/api/v1/nowhere")
    assert answer.json()["request_id"] == answer.headers["X-Request-Id"]


@pytest.mark.parametrize("path", [PUBLIC, "/api/v1/nowhere", LOOKUP, "/nowhere", "/about", "/"])
def test_no_shared_cache_may_keep_an_answer(client, path):
    headers = client.get(path).headers
    assert headers["Cache-Control"] == "private, no-cache"
    assert {"HX-Request", "Cookie"} <= {name.strip() for name in headers["Vary"].split(",")}


@pytest.mark.parametrize("path", [PUBLIC, "/api/v1/nowhere", "/nowhere", "/about"])
def test_every_answer_is_hardened(client, path):
    headers = client.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_api_sets_no_cookie(alice, api_of):
    for client in (api_of(None), api_of(alice)):
        assert not client.get(PUBLIC).cookies


# --- slashes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "canonical"),
    [("/about/", "/about"), ("/about//", "/about"), ("/about/?a=1&b=/", "/about?a=1&b=/")],
)
def test_pages_are_redirected_to_the_form_without_a_slash(client, asked, canonical):
    answer = client.generic("GET", asked.partition("?")[0], QUERY_STRING=asked.partition("?")[2])
    assert (answer.status_code, answer.headers["Location"]) == (301, canonical)


@pytest.mark.parametrize("path", ["//evil.example/", "///evil.example//", "/\\evil.example/", "//evil.example/%2e%2e/", "/%09/evil.example/",
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


# --- the input guard -------------------------------------------------------------------------------

BROKEN = ["%00", "%FF", "%ED%A0%80", "%C0%AF", "a%00b", "%F5%80%80%80", "%E4%BD"]


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_not_text_is_a_400_in_path_and_query(client, broken):
    for path in (f"{LOOKUP}?acct={broken}", f"{PUBLIC}?{broken}=1", f"/about?x={broken}"):
        assert (path, client.get(path).status_code) == (path, 400)
    for path in (
        f"/api/v1/{broken}",
        f"/{broken}",
        f"/@{broken}",
        f"/api/v1/statuses/{broken}",
        f"/media/{broken}.png",
    ):
        assert (path, client.get(path).status_code) == (path, 400 if "%00" in broken else 404)


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_not_text_is_a_400_in_a_form(alice, api_of, client, broken):
    api = api_of(alice)
    for body in (f"status={broken}", f"{broken}=x&status=hello"):
        answer = api.post(STATUSES, body, content_type="application/x-www-form-urlencoded")
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert (
        client.post(
            "/login", f"username={broken}", content_type="application/x-www-form-urlencoded"
        ).status_code
        == 400
    )


def multipart(value):
    return (
        b'--b\r\nContent-Disposition: form-data; name="status"\r\n\r\n' + value + b"\r\n--b--\r\n"
    )


@pytest.mark.parametrize(
    ("value", "status"), [(b"hello", 200), (b"a\x00b", 400), (b"\xff\xfe", 200)]
)
def test_multipart_forms_never_fail(alice, api_of, value, status):
    answer = api_of(alice).post(
        STATUSES, multipart(value), content_type="multipart/form-data; boundary=b"
    )
    assert answer.status_code == status  # Django puts replacement characters for what is not UTF-8


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"x", "multipart/form-data"), (b"x", "multipart/form-data; boundary="), (b"--b\r\n", "multipart/form-data; boundary=b"),
     (b"status=x", "application/x-www-form-urlencoded; charset=utf-16"),
     (b"x", "text/plain"), (b"x", "application/xml"), (b"x", ""), (b"x", "\xff/\xff"), (b"a=1&" * 300, "application/x-www-form-urlencoded"),
     (b"status=" + b"x" * 2_000_000, "application/x-www-form-urlencoded")],
)  # fmt: skip
def test_odd_bodies_are_refused_and_never_fail(alice, api_of, body, kind):
    answer = api_of(alice).generic("POST", STATUSES, body, content_type=kind)
    assert 400 <= answer.status_code < 500
    assert answer.json()["status"] == answer.status_code


def test_a_long_query_is_refused(client):
    assert client.get(PUBLIC, {"x": "a" * 9000}).status_code == 400
    assert client.get(PUBLIC, {"x": "a" * 8000}).status_code == 200


def test_ordinary_text_of_every_script_passes(client, alice):
    for text in ("中文", "𝔘𝔫𝔦", "👩‍🚀", "é", "%", "+", "\ufffd", "\u2028"):
        assert client.get(LOOKUP, {"acct": text}).status_code == 404
        assert client.get(f"/nowhere/{text}").status_code == 404


@pytest.mark.parametrize("name", ["sessionid", "csrftoken", "lang", "theme", "messages", "x"])
@pytest.mark.parametrize(
    "value", ['"\\000aaaaaaaaaaaa"', '"\\377\\376aaaaaaaa"', "\xff" * 10, "x" * 4000, '"', ""]
)
def test_odd_cookies_never_fail(name, value):
    answer = Client(raise_request_exception=False).get(
        "/about", headers={"Cookie": f"{name}={value}"}
    )
    assert answer.status_code in {200, 400}


@pytest.mark.parametrize("name", ["Accept", "Accept-Language", "Accept-Encoding", "Referer", "User-Agent", "HX-Request", "HX-Current-URL",
                                  "Authorization", "Range", "If-None-Match", "X-Forwarded-For", "X-Forwarded-Host", "Idempotency-Key",
                                  "Content-Type"])  # fmt: skip
def test_odd_headers_never_fail(name):
    client = Client(raise_request_exception=False)
    for value in (
        "",
        "\xff\xfe",
        "x" * 5000,
        "*/*;q=nope",
        "{{7*7}}",
        ",,,;;;",
        "%00",
        "en-" * 1000,
    ):
        for path in ("/about", PUBLIC):
            answer = client.get(path, headers={name: value})
            assert answer.status_code < 500, (name, value, path)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "testserver.evil.example",
        "testserver:99999x",
        "",
        "a b",
        "testserver@evil.example",
        "\xff",
    ],
)
def test_a_foreign_host_is_refused(client, host):
    for path in (PUBLIC, "/about"):
        answer = client.get(path, headers={"Host": host}, SERVER_NAME="evil.example")
        assert answer.status_code == 400


def test_a_forwarded_host_is_not_believed(alice, bob, client):
    for number in range(3):
        publish(alice, f"post {number}")
    answer = client.get(PUBLIC, {"limit": 1}, headers={"X-Forwarded-Host": "evil.example"})
    assert "evil" not in answer.headers["Link"]
    assert b"evil" not in answer.content


# --- errors ----------------------------------------------------------------------------------------

MEMBERS = {"error", "type", "title", "status", "code", "detail", "instance", "request_id", "errors"}


@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [(BadRequest("no"), 400, "bad_request"), (NotAllowed("no"), 403, "not_allowed"), (NotFound("no"), 404, "not_found"),
     (Conflict("no"), 409, "conflict"), (Invalid("no", errors={"x": "y"}), 422, "validation_failed"),
     (TooMany("no", retry_after=7), 429, "too_many_requests"), (Unavailable("no"), 503, "unavailable"),
     (NotFound("no", code="other"), 404, "other")],
)  # fmt: skip
def test_a_refusal_is_a_page_for_people_and_a_problem_for_programs(refusal, status, code):
    for path in ("/api/v1/x", "/x"):
        request = RequestFactory().get(path)
        answer = refusal_response(request, refusal)
        assert answer.status_code == status
        assert answer.headers.get("Retry-After") == {429: "7", 503: "2"}.get(status)
        assert ("application/json" in answer.headers["Content-Type"]) == path.startswith("/api/")


def test_every_error_of_the_api_has_the_same_members(alice, client, api_of):
    answers = [
        client.get("/api/v1/nowhere"), client.get("/api/v1/statuses/5"), client.get("/api/v1/timelines/home"), client.get(f"{PUBLIC}?limit=x"),
        client.post(PUBLIC), client.get("/api/v1/%00"), client.get(PUBLIC, headers={"Host": "evil.example"}, SERVER_NAME="evil.example"),
        api_of(alice).post(STATUSES, {"status": ""}), api_of(alice).post(STATUSES, {"visibility": "x"}),
        api_of(alice).generic("POST", STATUSES, b"x", content_type="text/plain"), client.get(PUBLIC, headers={"Accept": "text/csv"}),
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


def test_a_failure_of_ours_is_a_500_without_details(monkeypatch, alice):
    monkeypatch.setattr("apps.timeline.api.timelines.public_timeline", lambda *_args: 1 / 0)
    client = Client(raise_request_exception=False)
    answer = client.get(PUBLIC)
    assert (answer.status_code, set(answer.json())) == (500, MEMBERS)
    assert b"ZeroDivision" not in answer.content
    assert b"Traceback" not in answer.content


def test_a_stale_form_is_explained():
    answer = Client(enforce_csrf_checks=True).post("/login", {"username": "x", "password": "y"})
    assert answer.status_code == 403
    assert b"Reason" not in answer.content


# --- media -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../settings.py", "..%2f..%2fetc/passwd.png", "/etc/passwd.png", "x.svg", "x.html", "x.png/", "pictures", "%2e%2e/x.png",
                                  "x.PNG.html", "a" * 5000 + ".png", "nowhere.png"])  # fmt: skip
def test_nothing_but_stored_pictures_is_served(client, name):
    assert client.get(f"/media/{name}").status_code in {400, 404}


def test_a_stored_picture_can_be_kept_for_a_year_and_runs_nothing(
    alice, client, settings, tmp_path
):
    settings.MEDIA_ROOT = str(tmp_path)
    (tmp_path / "avatars").mkdir()
    (tmp_path / "avatars/a.png").write_bytes(b"\x89PNG<script>")
    assert client.get("/media/avatars/a.png").status_code == 404  # nobody's
    User.objects.filter(pk=alice.pk).update(avatar="avatars/a.png")
    answer = client.get("/media/avatars/a.png")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, s-maxage=60, immutable"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert b"".join(answer.streaming_content).startswith(b"\x89PNG")
    answer.close()


# --- what programs have no use for ------------------------------------------------------------------


def test_a_session_means_nothing_to_the_api(bob, page_of, django_assert_num_queries):
    browser = page_of(bob)
    assert browser.get("/home").status_code == 200
    with django_assert_num_queries(0):
        answer = browser.get("/api/v1/timelines/home")
    assert answer.status_code == 401
    assert browser.post("/api/v1/statuses", {"status": "Hello."}).status_code == 401
