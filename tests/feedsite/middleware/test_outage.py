"""PostgreSQL takes no writes, as a standby after a failover, or a disk is full:
what only reads goes on, the rest is 503 with Retry-After.
"""

import time
from collections import OrderedDict
from unittest.mock import Mock

import psycopg
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.urls import resolve

from apps.posts.models import Attachment
from feedcache import breaker
from feedsite.middleware import outage
from feedsite.middleware.outage import ERROR, OutageMiddleware, is_away
from tests.support.factories import publish
from tests.support.pictures import picture
from tools.drill.disks import Disk, why_not

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def read_only():
    """`read_only()`: from now on, until the end of the test."""

    def now():
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")

    yield now
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = off")


def refused(answer):
    return answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0


def test_programs_read_and_are_told_that_they_cannot_write(alice, api_of, read_only):
    post, program = publish(alice, "Still here."), api_of(alice)
    program.raise_request_exception = False
    read_only()
    answer = program.post("/api/v1/statuses", {"status": "Not now."}, format="json")
    assert refused(answer)
    assert answer.json()["error"].startswith("Our database accepts no changes right now.")
    assert refused(program.post(f"/api/v1/statuses/{post.pk}/favourite"))
    assert refused(program.post(f"/api/v1/statuses/{post.pk}/pin"))
    for address in ("timelines/home", "timelines/public", "notifications", f"statuses/{post.pk}"):
        assert program.get(f"/api/v1/{address}").status_code == 200, address


def test_people_read_and_are_told_that_they_cannot_write(alice, page_of, read_only):
    post, browser = publish(alice, "Still here."), page_of(alice)
    browser.raise_request_exception = False
    read_only()
    assert refused(browser.post(f"/posts/{post.pk}/like"))
    for address in ("/home", "/public", "/@alice"):
        answer = browser.get(address)
        assert answer.status_code == 200, address
        assert "Still here." in answer.content.decode()


@pytest.fixture
def no_space():
    """`no_space()`: until the end of the test, PostgreSQL has no space for another post, as on a full disk."""

    def now():
        with connection.cursor() as sql:
            sql.execute(
                "CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';"
                " END $$; CREATE TRIGGER no_space BEFORE INSERT ON posts_post EXECUTE FUNCTION no_space()"
            )

    yield now
    with connection.cursor() as sql:
        sql.execute("DROP FUNCTION IF EXISTS no_space CASCADE")


def test_a_database_without_space_reads_and_accepts_no_changes(alice, api_of, no_space):
    post, program = publish(alice, "Still here."), api_of(alice)
    program.raise_request_exception = False
    no_space()
    for _time in range(10):  # it has not gone away, so reads go on
        answer = program.post("/api/v1/statuses", {"status": "Not now."}, format="json")
        assert refused(answer)
        assert answer.json()["error"].startswith("Our database accepts no changes right now.")
    for address in ("timelines/home", "timelines/public", f"statuses/{post.pk}"):
        assert program.get(f"/api/v1/{address}").status_code == 200, address


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one megabyte."""
    if why_not():
        pytest.skip(why_not())
    disk = Disk(tmp_path / "media", 1)
    yield disk
    disk.unmount()


def test_without_space_for_pictures_uploads_are_refused_and_leave_nothing(
    alice, api_of, settings, small_disk
):
    program = api_of(alice)
    program.raise_request_exception = False
    settings.MEDIA_ROOT = small_disk.place
    small_disk.fill()
    for _time in range(10):
        file = SimpleUploadedFile("a.png", picture(), "image/png")
        answer = program.post("/api/v2/media", {"file": file}, format="multipart")
        assert refused(answer)
        assert answer.json()["error"].startswith("We have no space for new files right now.")
    assert not Attachment.objects.exists()
    assert [file.name for file in small_disk.place.rglob("*") if file.is_file()] == ["filler"]
    assert program.get("/api/v1/timelines/home").status_code == 200
    small_disk.free()
    file = SimpleUploadedFile("a.png", picture(), "image/png")
    assert program.post("/api/v2/media", {"file": file}, format="multipart").status_code == 200


def test_a_row_that_somebody_else_holds_is_no_database_that_is_away(alice, api_of):
    program = api_of(alice)
    program.raise_request_exception = False
    with psycopg.connect(connection.connection.info.dsn) as other:
        other.execute("SELECT FROM accounts_usercounts WHERE user_id = %s FOR UPDATE", [alice.pk])
        with connection.cursor() as sql:
            sql.execute("SET lock_timeout = '20ms'")
        answer = program.post("/api/v1/statuses", {"status": "Not now."}, format="json")
        with connection.cursor() as sql:
            sql.execute("RESET lock_timeout")
    assert refused(answer)
    assert answer.json()["error"].startswith("This took too long and was given up")
    assert program.get("/api/v1/timelines/home").status_code == 200


def test_another_server_that_postgresql_cannot_reach_is_not_postgresql_that_is_away():
    with pytest.raises(OperationalError) as reported, connection.cursor() as sql:
        sql.execute(
            "DO $$ BEGIN RAISE EXCEPTION 'a worker is away' USING ERRCODE = '08001'; END $$"
        )
    assert not is_away(reported.value)
    assert is_away(OperationalError("connection refused"))


def test_figures_can_be_read_during_an_outage_and_do_not_end_it(rf):
    """/metrics responds without PostgreSQL, so its response does not show that PostgreSQL is back."""
    asked = []

    def respond(request):
        asked.append(request.path)
        if request.path == "/home":
            setattr(request, ERROR, OperationalError("connection refused"))
        return HttpResponse()

    middleware = OutageMiddleware(respond)
    statuses = [middleware(rf.get(path)).status_code for path in ("/home", "/metrics", "/home")]
    assert statuses == [503, 200, 503]
    assert asked == ["/home", "/metrics"]  # the breaker is still open


def test_a_response_that_needed_no_postgresql_does_not_end_an_outage(rf, monkeypatch):
    """PostgreSQL itself is asked, and no request is tried before it answers."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 0)
    asked = []

    def respond(request):
        asked.append(request.path)
        if request.path == "/home":
            setattr(request, ERROR, OperationalError("connection refused"))
        return HttpResponse()

    middleware = OutageMiddleware(respond)
    middleware(rf.get("/home"))
    answered_at = middleware._answered_at
    with monkeypatch.context() as away:
        away.setattr(outage.connection, "cursor", Mock(side_effect=OperationalError("refused")))
        assert middleware(rf.get("/api/v1/custom_emojis")).status_code == 503
    assert asked == ["/home"]
    assert middleware._answered_at == answered_at
    assert middleware(rf.get("/api/v1/custom_emojis")).status_code == 200
    assert middleware._answered_at > answered_at


def test_a_copy_that_another_thread_evicts_at_once_is_no_error(rf):
    class Crowded(OrderedDict):
        """Other threads evict each key as soon as it is here."""

        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            del self[key]

    pages, request = outage.StalePages(), rf.get("/public")
    request.resolver_match = resolve("/public")
    pages._stored_at = Crowded()
    pages.store(request, HttpResponse("For everybody."))
    copy = pages.find(request, answered_at=time.time())
    assert copy is not None
    assert copy.content == b"For everybody."
