"""Archives: complete, one's own only, for their owner only, for a few days only."""

import csv
import io
import json
from datetime import timedelta
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, storages
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_otp_webauthn.models import WebAuthnCredential

from apps.accounts.authentication.second_factor import new_codes
from apps.errors import TooMany
from apps.events import leases
from apps.events.leases import State
from apps.posts.actions.uploads import upload_picture
from apps.privacy import export
from apps.privacy.archive import BATCH, PARTS, escape_formula, write_archive
from apps.privacy.hooks import ARCHIVE
from apps.privacy.models import Export
from tests.privacy.conftest import CANARY
from tests.support.factories import make_user, publish
from tests.support.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.long]
PAGE = "/settings/export"


def made(user):
    """An archive of a user, as the worker makes it."""
    row = export.request_export(user)
    export.run_due(limit=1)
    row.refresh_from_db()
    return row


def stored(row):
    with storages["private"].open(row.name) as file:
        return file.read()


def opened(row):
    return ZipFile(io.BytesIO(stored(row)))


def table(archive, name):
    return list(csv.DictReader(io.TextIOWrapper(archive.open(name), "utf-8")))


def lines(archive, name):
    return [json.loads(line) for line in archive.read(name).splitlines()]


def test_an_archive_has_something_of_every_kind(life, settings):
    alice, _bob, _carol, _dora = life
    archive = opened(made(alice))
    assert archive.testzip() is None
    empty = {
        "follow_requests.csv",
        "applications.csv",
        "blocked_accounts.csv",
        "recommended_accounts.csv",
        "unwanted_notifications.csv",
        "authenticator_apps.csv",
        "passkeys.csv",
    }
    for part in PARTS:
        assert bool(archive.read(part.file)) == (part.file not in empty), part.file
    readme = archive.read("README.txt").decode()
    assert all(part.file in archive.namelist() and part.line in readme for part in ARCHIVE)
    posts = {post["text"]: post for post in lines(archive, "posts.jsonl")}
    first = posts[f"first {CANARY}, better"]
    assert first["earlier_versions"][0]["text"] == f"first {CANARY} #birds @bob"
    assert first["pictures"][0]["description"] == f"A {CANARY}."
    assert archive.read(first["pictures"][0]["file"])[8:12] == b"WEBP"
    assert posts[f"an answer {CANARY}"]["reply_to"].startswith(f"{settings.SITE_URL}/@bob/")
    assert posts[f"for some {CANARY}"]["circle"] == f"Circle {CANARY}"
    assert posts[f"Which {CANARY}?"]["poll"]["options"] == [f"{CANARY} one", "two"]
    assert (
        table(archive, "following_accounts.csv")[0]["Account address"]
        == f"bob@{settings.SITE_URL.removeprefix('http://')}"
    )
    assert json.loads(archive.read("account.json"))["email"] == f"{CANARY}@example.org"


@pytest.mark.gate
def test_an_archive_holds_no_word_of_others(life):
    archive = opened(made(life[0]))
    everything = b"".join(archive.read(name) for name in archive.namelist())
    for foreign in (b"Bob's", b"Carol's", b"Coffee"):
        assert foreign not in everything
    foreign = opened(made(life[1]))
    words = b"".join(foreign.read(name) for name in foreign.namelist())
    assert CANARY.encode() not in words.replace(f"{CANARY}_a".encode(), b"")  # but her handle


def test_names_inside_are_plain_and_tables_start_no_formulas(life):
    archive = opened(made(life[0]))
    for name in archive.namelist():
        assert not name.startswith("/")
        assert ".." not in name
    assert table(archive, "notes.csv")[0]["Note"] == f"'={CANARY}"


def test_a_formula_behind_a_control_character_is_none():
    for text in ("=1+1", "\0=1+1", "\x01\x02=1+1", "\ufeff=1+1"):
        assert escape_formula(text) == "'=1+1"
    assert escape_formula("1\0=1") == "1=1"


def test_more_than_a_batch_is_all_there(alice):
    posts = [publish(alice, f"post {number}") for number in range(3)]
    row = Export.objects.create(user=alice, name="exports/a.zip")
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apps.privacy.archive.BATCH", 2)
        assert BATCH > 2
        write_archive(alice, row.name, told.append)
    assert [post["id"] for post in lines(opened(row), "posts.jsonl")] == [str(post.pk) for post in posts]  # fmt: skip
    assert told[:2] == [2, 3]
    assert told == sorted(told)


def test_a_second_try_writes_the_same_archive(life):
    alice = life[0]
    row = made(alice)
    before = stored(row)
    write_archive(alice, row.name, lambda _done: None)
    assert stored(row) == before


def test_who_lost_the_lease_stops(alice):
    row = export.request_export(alice)
    (mine,) = leases.claim(Export, limit=1)
    Export.objects.filter(pk=row.pk).update(attempts=2)  # somebody took it over
    with pytest.raises(leases.RetryLater):
        export._build(mine)
    assert not storages["private"].exists(row.name)


def test_an_archive_that_is_given_up_meanwhile_leaves_no_file(alice, monkeypatch):
    row = export.request_export(alice)
    (mine,) = leases.claim(Export, limit=1)
    write = write_archive

    def written(user, name, progress):
        size = write(user, name, progress)
        export.discard_exports(alice.pk)  # the account is deleted at this moment
        storages["private"].save(name, ContentFile(b"late"))
        return size

    monkeypatch.setattr(export, "write_archive", written)
    export._build(mine)
    assert not storages["private"].exists(row.name)


@pytest.mark.parametrize(("seconds", "done"), [(0.0, 1), (60.0, 0)])
def test_the_work_renews_its_lease_but_not_all_the_time(alice, monkeypatch, seconds, done):
    monkeypatch.setattr(export, "RENEW_SECONDS", seconds)
    row = export.request_export(alice)
    (mine,) = leases.claim(Export, limit=1)
    Export.objects.filter(pk=row.pk).update(due_at=timezone.now() - timedelta(minutes=5))
    monkeypatch.setattr(export, "write_archive", lambda _user, _name, progress: progress(1) or 9)
    export._build(mine)
    row.refresh_from_db()
    assert (row.done, row.due_at > timezone.now()) == (done, True)


def test_each_picture_renews_the_lease(alice):
    def told():
        calls = []
        write_archive(alice, "exports/a.zip", calls.append)
        return len(calls)

    upload_picture(alice, BytesIO(picture()))
    before = told()
    upload_picture(alice, BytesIO(picture()))
    assert told() == before + 1


def test_only_some_workers_make_archives(alice, carol, settings):
    settings.EXPORT_CONCURRENCY = 1
    first, second = export.request_export(alice), export.request_export(carol)
    Export.objects.filter(pk=first.pk).update(attempts=1, due_at=timezone.now() + timedelta(seconds=30))  # fmt: skip
    assert export.run_due(limit=1) == 0
    Export.objects.filter(pk=first.pk).update(state=State.DONE)
    assert export.run_due(limit=1) == 1
    second.refresh_from_db()
    assert second.is_ready()


def test_asking_twice_is_one_archive_and_a_new_one_replaces_the_old(alice):
    row = export.request_export(alice)
    assert export.request_export(alice) == row
    export.run_due(limit=1)
    second = made(alice)
    assert list(Export.objects.all()) == [second]
    assert not storages["private"].exists(row.name)


def test_archives_are_limited(alice, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "export": (1, 60)}
    made(alice)
    with pytest.raises(TooMany):
        export.request_export(alice)


def test_pictures_without_room_are_named(life, settings):
    settings.EXPORT_MAX_MEGABYTES = 0
    archive = opened(made(life[0]))
    assert archive.read("left_out.txt").count(b"pictures/") == 2


def test_the_page_from_asking_to_downloading(alice, page_of):
    browser = page_of(alice)
    assert b"Create an archive" in browser.get(PAGE).content
    answer = browser.post(PAGE)
    assert (answer.status_code, answer.headers["Location"]) == (303, PAGE)
    assert b"<progress" in browser.get(PAGE).content
    Export.objects.update(total=8, done=3)
    part = browser.get(PAGE, headers={"HX-Request": "true"})
    assert (part.status_code, "3 of 8" in part.content.decode()) == (200, True)
    Export.objects.update(total=0, done=0)
    export.run_due(limit=1)
    part = browser.get(PAGE, headers={"HX-Request": "true"})
    assert part.status_code == 286  # htmx asks no more
    row = Export.objects.get()
    address = f"{PAGE}/{row.pk}/archive.zip"
    assert address in part.content.decode()
    answer = browser.get(address)
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="alice-')
    assert ZipFile(io.BytesIO(b"".join(answer.streaming_content))).testzip() is None


def test_an_archive_is_its_owners_only_and_for_a_while(alice, carol, page_of):
    row = made(alice)
    address = f"{PAGE}/{row.pk}/archive.zip"
    assert page_of(None).get(address).headers["Location"].startswith("/login")
    assert page_of(carol).get(address).status_code == 404
    assert page_of(None).get(f"/media/{row.name}").status_code == 404
    Export.objects.update(expires_at=timezone.now() - timedelta(minutes=5))
    assert page_of(alice).get(address).status_code == 404
    assert b"Create an archive" in page_of(alice).get(PAGE).content
    assert export.purge() == 1
    assert not storages["private"].exists(row.name)
    assert not Export.objects.exists()


def test_what_the_storage_does_not_delete_is_deleted_later(alice, monkeypatch):
    row = made(alice)
    Export.objects.update(expires_at=timezone.now() - timedelta(minutes=5))
    with monkeypatch.context() as patch:
        patch.setattr(FileSystemStorage, "delete", lambda *_args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export.purge()
    assert storages["private"].exists(row.name)
    assert export.purge() == 1
    assert not storages["private"].exists(row.name)


def test_a_file_that_is_gone_is_a_plain_404(alice, page_of):
    row = made(alice)
    storages["private"].delete(row.name)
    assert page_of(alice).get(f"{PAGE}/{row.pk}/archive.zip").status_code == 404


def test_what_failed_says_so(alice, page_of):
    export.request_export(alice)
    Export.objects.update(state=State.DEAD)
    assert b"could not be created" in page_of(alice).get(PAGE).content


def test_an_archive_names_second_factors_without_their_keys(alice):
    app = TOTPDevice.objects.create(user=alice, name="app", confirmed=True)
    TOTPDevice.objects.create(user=alice, name="app", confirmed=False)
    codes = new_codes(alice)
    WebAuthnCredential.objects.create(user=alice, name="My phone", credential_id=b"PASSKEY-ID",
                                      public_key=b"PASSKEY-KEY", aaguid="x")  # fmt: skip
    archive = opened(made(alice))
    assert [row["Name"] for row in table(archive, "passkeys.csv")] == ["My phone"]
    assert len(table(archive, "authenticator_apps.csv")) == 1
    whole = b"".join(archive.read(name) for name in archive.namelist())
    for secret in (app.key, *codes, "PASSKEY-ID", "PASSKEY-KEY"):
        assert secret.encode() not in whole


def test_an_archive_costs_the_same_queries_per_batch(alice, django_assert_max_num_queries):
    for number in range(3):
        publish(alice, f"post {number}")
    make_user()
    with django_assert_max_num_queries(len(PARTS) + len(ARCHIVE) + 5):
        write_archive(alice, "exports/b.zip", lambda _done: None)
