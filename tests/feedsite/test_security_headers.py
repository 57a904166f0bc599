"""Headers that every answer has, errors too."""

from io import BytesIO

import pytest
from django.conf import settings
from django.http import FileResponse, HttpRequest

from apps.http.security_headers import DEFAULTS, SecurityHeadersMiddleware

NOBODYS = "default-src 'none'"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    ["/login", "/healthz/live", "/healthz/ready", "/static/css/app.css", "/static/css/none.css", "/api/v2/instance",
     "/api/v1/timelines/home", "/nothing/here", "/login/", "/robots.txt", "/media/none.webp", "/admin/"],
)  # fmt: skip
def test_every_answer_has_all_of_them(client, path):
    answer = client.get(path)
    assert {name for name in DEFAULTS if name not in answer.headers} == set()
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert NOBODYS in answer.headers["Content-Security-Policy"]


def test_a_request_for_another_host_has_them_too(client):
    answer = client.get("/login", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert {name for name in DEFAULTS if name not in answer.headers} == set()


@pytest.mark.django_db
def test_what_a_page_says_itself_stays(client):
    """Pages may run their own scripts; files that somebody opens by themselves may not."""
    page = client.get("/login")
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    file = SecurityHeadersMiddleware(lambda _request: FileResponse(BytesIO(b"<svg/>")))(
        HttpRequest()
    )
    assert file.headers["Content-Security-Policy"] == DEFAULTS["Content-Security-Policy"]


def test_it_stands_above_all_that_answers():
    names = [name.rsplit(".", 1)[1] for name in settings.MIDDLEWARE]
    assert names[:2] == ["RequestIdMiddleware", "SecurityHeadersMiddleware"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "policy"),
    [("/oauth/authorize?client_id=x", "unsafe-none"), ("/login?next=%2Foauth%2Fauthorize%3Fa%3Dx", "unsafe-none"),
     ("/login/code", "unsafe-none"), ("/login", "same-origin"), ("/login?next=%2Fhome", "same-origin"),
     ("/login?next=%2Flogin%2Fcode", "same-origin"), ("/login?next=%2Foauth%2Fauthorized", "same-origin"),
     ("/login?next=http://[", "same-origin"), ("/?next=%2Foauth%2Fauthorize", "same-origin")],
)  # fmt: skip
def test_an_application_keeps_the_window_that_it_opened_for_consent(client, path, policy):
    assert client.get(path).headers["Cross-Origin-Opener-Policy"] == policy
