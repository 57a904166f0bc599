"""Clients that send or read slowly cost a connection each, and nobody else anything:
a real server, bounded loads on loopback.
"""

import io
import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, transaction
from PIL import Image

from apps.accounts.actions import issue_token
from apps.posts.models import Attachment, Post
from runner import programs
from tests.support.factories import make_user, publish
from tests.support.processes import environment, start_web, stop
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows

BODY_SECONDS = 3
BEGUN = (
    b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nname="
)


@pytest.fixture(scope="module")
def web(django_db_setup, django_db_blocker, tmp_path_factory):
    with django_db_blocker.unblock():
        process, address = start_web(
            tmp_path_factory.mktemp("web"),
            BODY_SECONDS=str(BODY_SECONDS),
            LIMIT_API_ADDRESS="10000",
            LIMIT_API_ADDRESS_WRITES="10000",
            LIMIT_API_ADDRESS_REST="10000",
        )
    yield address
    stop(process)


def connect(address):
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=10)


@contextmanager
def slow(address, number, begun=BEGUN):
    """So many clients that have begun a request and go on by a byte whenever they are asked to."""
    clients = [connect(address) for _ in range(number)]

    def drip():
        for client in clients:
            with suppress(OSError):
                client.send(b"x")

    try:
        for client in clients:
            client.sendall(begun)
        yield clients, drip
    finally:
        for client in clients:
            client.close()


def status(address, path="/public"):
    try:
        with urllib.request.urlopen(address + path, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def answer_of(client):
    """The status and the rest of what comes until the server closes."""
    came = io.BytesIO()
    with suppress(ConnectionResetError):
        while part := client.recv(65536):
            came.write(part)
    text = came.getvalue().decode(errors="replace")
    return int(text.split()[1]) if text else 0, text


@pytest.mark.parametrize("number", [5, 50, 300])
@pytest.mark.django_db(transaction=True)
def test_slow_bodies_take_nothing_from_others(web, number):
    with slow(web, number) as (_clients, drip):
        codes = []
        for _ in range(8):
            drip()
            codes.append(status(web))
    assert codes == [200] * 8


@pytest.mark.django_db(transaction=True)
def test_slow_headers_take_nothing_from_others(web):
    with slow(web, 100, b"GET /public HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ") as (_clients, drip):
        drip()
        assert [status(web) for _ in range(4)] == [200] * 4


@pytest.mark.django_db(transaction=True)
def test_a_body_that_never_ends_is_answered_408_and_cut_off(web):
    with slow(web, 1) as (clients, _drip):
        clients[0].settimeout(BODY_SECONDS + 20)
        code, text = answer_of(clients[0])
    assert code == 408
    assert "too long to arrive" in text


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        (b"Content-Length: 2000000\r\nContent-Type: application/json", 413),
        (b"Content-Length: 90000000\r\nContent-Type: multipart/form-data; boundary=x", 413),
        (b"Transfer-Encoding: chunked\r\nContent-Type: application/json", 411),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_what_will_not_be_read_is_said_before_it_is_sent(web, headers, code):
    with connect(web) as client:
        client.sendall(
            b"POST /api/v1/statuses HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://a.example\r\n"
            b"Expect: 100-continue\r\n" + headers + b"\r\n\r\n"
        )  # fmt: skip
        found, text = answer_of(client)
    assert found == code
    problem = json.loads(text.partition("\r\n\r\n")[2])
    assert (problem["status"], "access-control-allow-origin" in text.lower()) == (code, True)


@pytest.mark.django_db(transaction=True)
def test_a_client_that_waits_to_be_told_is_told_to_go_on(web):
    body = b'{"client_name": "x", "redirect_uris": "urn:ietf:wg:oauth:2.0:oob"}'
    with connect(web) as client:
        client.sendall(
            b"POST /api/v1/apps HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nExpect: 100-continue\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        assert client.recv(1024).startswith(b"HTTP/1.1 100")
        client.sendall(body)
        assert answer_of(client)[0] == 200


@pytest.mark.django_db(transaction=True)
def test_half_a_body_is_no_request(web):
    alice = make_user("alice")
    token = issue_token(alice, name="test", scopes="read write")
    with connect(web) as client:
        client.sendall(
            b"POST /api/v1/statuses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nstatus=half"
            % token.encode()
        )  # fmt: skip
    assert status(web) == 200
    assert not Post.objects.filter(author=alice).exists()


@pytest.mark.django_db(transaction=True)
def test_a_large_form_goes_over_the_disk_and_comes_whole(web):
    token = issue_token(make_user("alice"), name="test", scopes="read write")
    picture = io.BytesIO()
    Image.effect_noise((700, 700), 80).save(picture, "PNG")
    assert picture.tell() > 300_000
    boundary = b"xxBOUNDARYxx"
    body = (b"--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n"
            b"Content-Type: image/png\r\n\r\n%s\r\n--%s--\r\n" % (boundary, picture.getvalue(), boundary))  # fmt: skip
    request = urllib.request.Request(
        f"{web}/api/v2/media",
        body,
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": f"multipart/form-data; boundary={boundary.decode()}",
        },
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert answer.status == 200


@pytest.mark.django_db(transaction=True)
def test_who_reads_slowly_holds_no_thread(web):
    """40 readers of a file that fits into no buffer; the server has 32 threads."""
    name = default_storage.save("pictures/large.webp", ContentFile(b"x" * 12_000_000))
    Attachment.objects.create(post=publish(make_user()), file=name, width=1, height=1)
    readers = [connect(web) for _ in range(40)]
    try:
        for reader in readers:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.sendall(f"GET /media/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            # one after the other: forty at once would be refused as a storm
            assert reader.recv(16).startswith(b"HTTP/1.1 200")
        assert [status(web) for _ in range(4)] == [200] * 4
        with urllib.request.urlopen(f"{web}/media/{name}", timeout=20) as answer:
            assert len(answer.read()) == 12_000_000
    finally:
        for reader in readers:
            reader.close()
        default_storage.delete(name)


@pytest.mark.django_db(transaction=True)
def test_one_connection_carries_heads_bodies_and_pages_in_turn(web):
    parts = urlsplit(web)
    client = HTTPConnection(parts.hostname, parts.port, timeout=20)
    asked = [
        ("HEAD", "/public", None),
        ("POST", "/api/v1/apps", b"{}"),
        ("GET", "/public", None),
        ("POST", "/nowhere", b"x"),
    ]
    codes = []
    for method, path, body in asked * 2:
        client.request(method, path, body, {"Content-Type": "application/json"})
        with client.getresponse() as answer:
            codes.append((answer.status, bool(answer.read())))
            assert not answer.will_close
    client.close()
    assert codes == [(200, False), (422, True), (200, True), (404, True)] * 2


@pytest.mark.django_db(transaction=True)
def test_requests_that_have_begun_are_answered_before_the_server_ends(tmp_path):
    """One waits for PostgreSQL, which waits for this test, while the server is told to end."""
    process, address = start_web(tmp_path, BODY_SECONDS=str(BODY_SECONDS))
    name = "pictures/nobody.webp"
    try:
        with connect(address) as client:
            with transaction.atomic(), connection.cursor() as sql:
                sql.execute("LOCK TABLE posts_attachment IN ACCESS EXCLUSIVE MODE")
                client.sendall(f"GET /media/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                wait_until(is_somebody_waiting, "the request waits for the table")
                os.killpg(process.pid, signal.SIGTERM)
            assert answer_of(client)[0] == 404
        assert process.wait(20) == 0
    finally:
        stop(process)


def is_somebody_waiting():
    with connection.cursor() as sql:
        sql.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return sql.fetchone()[0]


@pytest.mark.django_db(transaction=True)
def test_a_second_server_cannot_have_the_same_port(web):
    port = urlsplit(web).port
    command = programs.web(host="127.0.0.1", port=port)
    second = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=20
    )
    assert second.returncode != 0
    assert "Address already in use" in second.stderr
