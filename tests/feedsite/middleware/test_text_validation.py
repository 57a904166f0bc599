"""What is not text never reaches a view, and odd requests never fail."""

from itertools import product

import pytest
from django.test import Client

from tests.support.cases import each
from tests.support.factories import publish

pytestmark = pytest.mark.django_db

PUBLIC, STATUSES, LOOKUP = "/api/v1/timelines/public", "/api/v1/statuses", "/api/v1/accounts/lookup"
BROKEN = ["%00", "%FF", "%ED%A0%80", "%C0%AF", "a%00b", "%F5%80%80%80", "%E4%BD"]


@pytest.mark.slow
@each("broken", BROKEN)
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


@each("broken", BROKEN)
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


@each(("value", "status"), [(b"hello", 200), (b"a\x00b", 400), (b"\xff\xfe", 200)])
def test_multipart_forms_never_fail(alice, api_of, value, status):
    answer = api_of(alice).post(
        STATUSES, multipart(value), content_type="multipart/form-data; boundary=b"
    )
    assert answer.status_code == status  # Django puts replacement characters for what is not UTF-8


@each(
    ("body", "kind"),
    [(b"x", "multipart/form-data"), (b"x", "multipart/form-data; boundary="),
     (b"--b\r\n", "multipart/form-data; boundary=b"),
     (b"status=x", "application/x-www-form-urlencoded; charset=utf-16"),
     (b"x", "text/plain"), (b"x", "application/xml"), (b"x", ""), (b"x", "\xff/\xff"),
     (b"a=1&" * 300, "application/x-www-form-urlencoded"),
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


NAMES = ["sessionid", "csrftoken", "lang", "theme", "messages", "x"]
VALUES = ['"\\000aaaaaaaaaaaa"', '"\\377\\376aaaaaaaa"', "\xff" * 10, "x" * 4000, '"', ""]


@pytest.mark.slow
@each("name, value", product(NAMES, VALUES))
def test_odd_cookies_never_fail(name, value):
    answer = Client(raise_request_exception=False).get(
        "/about", headers={"Cookie": f"{name}={value}"}
    )
    assert answer.status_code in {200, 400}


@pytest.mark.long
@each("name", ["Accept", "Accept-Language", "Accept-Encoding", "Referer", "User-Agent", "HX-Request",
                                  "HX-Current-URL",
                                  "Authorization", "Range", "If-None-Match", "X-Forwarded-For", "X-Forwarded-Host",
                                  "Idempotency-Key",
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


@each(
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


def test_a_forwarded_host_is_not_trusted(alice, bob, client):
    for number in range(3):
        publish(alice, f"post {number}")
    answer = client.get(PUBLIC, {"limit": 1}, headers={"X-Forwarded-Host": "evil.example"})
    assert "evil" not in answer.headers["Link"]
    assert b"evil" not in answer.content
