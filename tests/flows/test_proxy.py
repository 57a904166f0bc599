"""The site behind nginx with TLS, as deploy/nginx.conf has it and as a site in production is set."""

import base64
import re
import secrets
import socket
import ssl
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
import requests
from django.core.files.base import ContentFile

from apps.accounts.actions import issue_token
from apps.posts.models import Attachment, Medium
from tests.flows import proxies
from tests.support.factories import PASSWORD, deliver, delivered, make_user, publish
from tests.support.pictures import picture
from tests.support.ports import free_port
from tests.support.processes import start_web, stop
from tests.support.streams import listening, streaming_server

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not proxies.program("nginx"), reason="no nginx on this machine"),
    pytest.mark.skipif(not proxies.program("openssl"), reason="no openssl to make a certificate"),
    pytest.mark.clusters,
    pytest.mark.flows,
]
REDIRECT = "urn:ietf:wg:oauth:2.0:oob"


class Site:
    """What a client knows of it."""

    def __init__(self, address, plain, web, signed):
        self.address, self.plain, self.web = address, plain, web
        self.tls = ssl.create_default_context(cafile=signed)
        self.http = requests.Session()
        self.http.verify = str(signed)
        self.http.trust_env = False

    def get(self, path, **options):
        return self.http.get(f"{self.address}{path}", timeout=20, **options)

    def submit(self, path, **values):
        """Open a page, and send its form back as a browser does."""
        token = re.findall(r'csrfmiddlewaretoken" value="([^"]+)"', self.get(path).text)[0]
        headers = {"Referer": f"{self.address}{path}", "Origin": self.address}
        return self.http.post(
            f"{self.address}{path}", data={"csrfmiddlewaretoken": token, **values},
            headers=headers, allow_redirects=False, timeout=20,
        )  # fmt: skip


@pytest.fixture(scope="module")
def behind(django_db_setup, tmp_path_factory):
    directory, port = tmp_path_factory.mktemp("proxy"), free_port()
    address = f"https://localhost:{port}"
    production = {
        "PRODUCTION": "1",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "SITE_URL": address,
        "STREAMING_URL": address,
        "ALLOWED_HOSTS": "localhost,127.0.0.1",
        "SECURE_COOKIES": "1",
        "SECURE_SSL_REDIRECT": "1",
        "SECURE_HSTS_SECONDS": "3600",
        "SECURE_PROXY_SSL_HEADER": "HTTP_X_FORWARDED_PROTO,https",
        "TRUSTED_PROXY_HOPS": "1",
        "EMAIL_URL": "smtp://localhost:25",
        "MEDIA_ACCEL_URL": "/_media/",
    }
    with streaming_server(directory, **production) as streaming:
        process, web = start_web(directory, **production)
        try:
            with proxies.nginx(directory, tls_port=port, web=web, streaming=streaming) as (
                signed,
                plain,
            ):
                yield Site(address, plain, web, signed)
        finally:
            stop(process)


@pytest.fixture
def site(behind, transactional_db):
    behind.http.cookies.clear()
    return behind


@pytest.fixture
def author(with_password):
    return with_password


def test_a_page_comes_without_a_loop_and_pins_tls(site):
    page = site.get("/login", allow_redirects=False)
    assert page.status_code == 200
    assert page.headers["Strict-Transport-Security"].startswith("max-age=3600")


def test_plain_addresses_lead_to_tls(site):
    answer = plainly(site, "/login?next=/")
    assert answer.status_code == 301
    assert answer.headers["Location"] == "https://localhost/login?next=/"
    past = requests.get(f"{site.web}/login", allow_redirects=False, timeout=20)
    assert past.headers["Location"] == site.web.replace("http:", "https:") + "/login"


def test_probes_need_no_tls(site):
    assert (
        requests.get(f"{site.web}/healthz/live", allow_redirects=False, timeout=20).status_code
        == 200
    )


def test_nobody_says_by_himself_that_he_has_tls(site):
    forged = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "1.2.3.4"}
    assert plainly(site, "/login", **forged).status_code == 301


def plainly(site, path, **headers):
    address = f"http://127.0.0.1:{site.plain}{path}"
    return requests.get(
        address, headers={"Host": "localhost", **headers}, allow_redirects=False, timeout=20
    )


def test_another_name_leads_nowhere(site):
    """Not to where the client wants, for instance out of a shared cache."""
    with pytest.raises(requests.ConnectionError):
        plainly(site, "/x", Host="evil.example")
    place = urlsplit(site.address)
    with (
        socket.create_connection((place.hostname, place.port), timeout=20) as wire,
        pytest.raises(ssl.SSLError),
    ):
        site.tls.wrap_socket(wire, server_hostname="evil.example")


def test_a_flood_of_one_address_ends_at_the_proxy(site):
    """From many threads, because the allowance grows by thirty requests a second."""
    ended, answers = threading.Event(), Counter()

    def flood():
        for _ in range(200):
            status = site.get("/healthz/live").status_code
            answers[status] += 1
            if status == 429 or ended.is_set():
                ended.set()
                return

    with ThreadPoolExecutor(16) as threads:
        for running in [threads.submit(flood) for _ in range(16)]:
            running.result()
    assert answers.keys() == {200, 429}
    assert answers[200] >= 300


def test_people_log_in(site, author):
    answer = site.submit("/login", username="alice", password=PASSWORD)
    assert answer.status_code in {302, 303}, answer.text
    assert all(cookie.secure for cookie in site.http.cookies)
    assert "alice" in site.get("/home").text


def test_a_program_logs_in_and_pages_under_tls(site, author):
    post_ids = [str(publish(author, f"Number {n}.").pk) for n in range(3)]
    deliver()
    program = site.http.post(
        f"{site.address}/api/v1/apps",
        data={"client_name": "A program", "redirect_uris": REDIRECT, "scopes": "read"}, timeout=20,
    ).json()  # fmt: skip
    site.submit("/login", username="alice", password=PASSWORD)
    asked = f"/oauth/authorize?response_type=code&client_id={program['client_id']}&redirect_uri={REDIRECT}&scope=read"
    [code] = re.findall(r'id="code">([^<]+)<', site.submit(asked, allow="1").text)
    token = site.http.post(
        f"{site.address}/oauth/token",
        data={"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT,
              "client_id": program["client_id"], "client_secret": program["client_secret"]}, timeout=20,
    ).json()["access_token"]  # fmt: skip
    headers = {"Authorization": f"Bearer {token}"}
    first = site.get("/api/v1/timelines/home?limit=1", headers=headers)
    assert first.json()[0]["id"] == post_ids[2]
    assert first.links["next"]["url"].startswith(f"{site.address}/api/v1/timelines/home?")
    assert first.links["prev"]["url"].startswith(f"{site.address}/")
    second = site.http.get(first.links["next"]["url"], headers=headers, timeout=20)
    assert second.json()[0]["id"] == post_ids[1]
    assert first.json()[0]["url"].startswith(f"{site.address}/@alice/")


def test_nginx_sends_pictures_and_the_site_decides_who_sees_them(site, author):
    data = picture()
    row = Attachment(owner=author, medium=Medium.IMAGE, width=64, height=48)
    row.file.save("a.png", ContentFile(data))
    address = f"/media/{row.file.name}"
    answer = site.get(address)
    assert (answer.status_code, answer.content) == (200, data)
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Cache-Control"].startswith("public, max-age=31536000")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Strict-Transport-Security"].startswith("max-age=3600")
    assert "X-Accel-Redirect" not in answer.headers
    part = site.get(address, headers={"Range": "bytes=5-14"})
    assert (part.status_code, part.content) == (206, data[5:15])
    unchanged = site.get(address, headers={"If-None-Match": answer.headers["ETag"]})
    assert unchanged.status_code == 304
    assert site.get(f"/_media/{row.file.name}").status_code == 404  # only the site can ask for it
    row.delete()
    assert site.get(address).status_code == 404
    assert site.get(address, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 404


def test_streams_are_told_at_once(site, author):
    reader = make_user("reader")
    token = issue_token(reader, name="test")
    with listening(site.address, "public", token, tls=site.tls) as stream:
        post = delivered(author, "Through the proxy.")
        assert [(name, data["id"]) for name, data in stream.wait(1)] == [("update", str(post.pk))]


def test_websockets_pass(site, author):
    token = issue_token(author, name="test")
    place = urlsplit(site.address)
    with (
        socket.create_connection((place.hostname, place.port), timeout=20) as plain,
        site.tls.wrap_socket(plain, server_hostname="localhost") as wire,
    ):
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        wire.sendall(
            f"GET /api/v1/streaming?stream=public&access_token={token} HTTP/1.1\r\nHost: {place.netloc}\r\n"
            f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        assert wire.recv(4096).startswith(b"HTTP/1.1 101 ")
        delivered(author, "To a socket.")
        assert b"To a socket." in wire.recv(65536)


def test_a_slow_body_waits_at_the_proxy(site):
    """More of them than the web server has threads (4), and pages are still answered at once."""
    place = urlsplit(site.address)
    slow = []
    try:
        for _ in range(8):
            wire = site.tls.wrap_socket(
                socket.create_connection((place.hostname, place.port), timeout=20),
                server_hostname="localhost",
            )
            wire.sendall(
                f"POST /login HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 5000\r\n\r\nab".encode()
            )
            slow.append(wire)
        assert site.get("/login", allow_redirects=False).status_code == 200
    finally:
        for wire in slow:
            wire.close()
