"""`manage backup` and `manage restore` on the tests' own database: what comes back, and what is refused how."""

import hashlib
import json
import shutil
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.models import F

from apps.accounts.models import User
from apps.audit import auditor, checks
from apps.audit.models import AuditFinding
from apps.graph.actions import follow_user
from apps.graph.models import Followee, Follower
from apps.operations.models import CacheEpoch, Reason
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Attachment, Post
from apps.timeline.models import FanoutChunk
from feedcache.servers import topology_listener
from feedsite.backups import database, folder
from feedsite.backups.folder import MANIFEST, backups_in
from tests.support.factories import deliver, delivered, make_user
from tests.support.pictures import picture

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.flows]


def run(*words, **options):
    """What a command says."""
    said = StringIO()
    call_command(*map(str, words), stdout=said, **options)
    return said.getvalue()


@pytest.fixture(autouse=True)
def _private(settings, media, tmp_path):
    settings.PRIVATE_ROOT = tmp_path / "private"
    (settings.PRIVATE_ROOT / "archives").mkdir(parents=True)
    (settings.PRIVATE_ROOT / "archives" / "one.zip").write_bytes(b"an archive")


@pytest.fixture
def post(alice, bob):
    """A post of alice's with a picture, which bob has."""
    shown = upload_picture(alice, BytesIO(picture()))
    return delivered(alice, "Look.", media_ids=[shown.pk])


@pytest.fixture
def saved(post, tmp_path):
    """The backup of that."""
    run("backup", tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A place for a backup that all tests of what is refused share: made by the first, copied by the others."""
    return tmp_path_factory.mktemp("shelf") / "saved"


@pytest.fixture
def some_backup(shelf, alice, tmp_path):
    """A backup, perhaps of another test's site, and a site with one account."""
    if not shelf.exists():
        run("backup", shelf)
    return Path(shutil.copytree(shelf, tmp_path / "saved"))


def files_of(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in Path(root).rglob("*")
        if path.is_file()
    }


def test_what_was_written_later_is_gone_and_what_was_deleted_is_back(saved, post, alice, settings):
    media = files_of(settings.MEDIA_ROOT)
    make_user("dave")
    Post.objects.filter(pk=post.pk).update(body="Changed.")
    Attachment.objects.all().delete()
    shutil.rmtree(settings.MEDIA_ROOT)
    shutil.rmtree(settings.PRIVATE_ROOT)
    said = run("restore", saved, replace=True)
    assert not User.objects.filter(handle="dave").exists()
    assert Post.objects.get().body == "Look."
    [shown] = Attachment.objects.all()
    assert files_of(settings.MEDIA_ROOT) == media
    assert shown.file.name in media
    assert files_of(settings.PRIVATE_ROOT) == {"archives/one.zip": b"an archive"}
    assert "Database: restored." in said
    assert CacheEpoch.objects.latest("pk").reason == Reason.ASKED
    assert CacheEpoch.objects.latest("pk").value != 0


def test_it_has_no_other_readers_and_sha256sum_reads_its_list(saved):
    assert saved.stat().st_mode & 0o077 == 0
    assert (saved / "keys" / "secret_key").stat().st_mode & 0o077 == 0
    names = [line.split("  ")[1] for line in (saved / "SHA256SUMS").read_text().splitlines()]
    assert {MANIFEST, "SHA256SUMS"} | set(names) == set(files_of(saved))


def test_a_good_backup_is_called_good_and_no_scratch_database_stays(saved, post):
    said = run("restore", saved, check=True)
    assert "2 accounts and 1 posts" in said
    assert "1 deliveries" in said
    assert "0 violations" in said
    assert "is good" in said
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE 'feedsite_check_%%'")
        assert cursor.fetchall() == []


def test_the_check_finds_a_half_follow_a_lost_delivery_and_a_lost_picture(
    post, alice, bob, carol, tmp_path, settings
):
    follow_user(carol, alice)
    deliver()
    Follower.objects.filter(owner=alice, follower=carol).delete()
    delivered(alice, "Nobody knows of this one.").fanout.delete()
    Path(Attachment.objects.get().file.path).unlink()
    run("backup", tmp_path / "saved")
    before = [one.pk for one in Followee.objects.all()]
    said = StringIO()
    with pytest.raises(CommandError, match="it contains errors"):
        call_command("restore", str(tmp_path / "saved"), check=True, stdout=said)
    assert "1 files that the database names are missing: media/pictures/" in said.getvalue()
    assert "only one of the two lists" in said.getvalue()
    assert "never began" in said.getvalue()
    assert [one.pk for one in Followee.objects.all()] == before


def falsify_receipt(post):
    swapped = {"delivered": F("dormant"), "dormant": F("delivered")}
    FanoutChunk.objects.filter(job=post.pk).update(**swapped)


def test_the_check_reports_what_the_auditor_of_the_site_knew_already(post, tmp_path):
    falsify_receipt(post)
    assert auditor.run_once().violations == 1
    assert auditor.run_once().violations == 0  # on record
    run("backup", tmp_path / "saved")
    known = list(AuditFinding.objects.values())
    said = StringIO()
    with pytest.raises(CommandError, match="it contains errors"):
        call_command("restore", str(tmp_path / "saved"), check=True, stdout=said)
    assert ": 1 violations." in said.getvalue()
    assert "A receipt of the delivery of post" in said.getvalue()
    assert list(AuditFinding.objects.values()) == known


def test_the_check_reports_a_violation_once_although_each_slice_has_the_newest_receipts(
    post, alice, tmp_path, monkeypatch
):
    newest = [delivered(alice, "And again.") for _ in range(3)][-1]
    falsify_receipt(newest)
    run("backup", tmp_path / "saved")
    monkeypatch.setattr(checks, "RECEIPTS", 1)
    said = StringIO()
    with pytest.raises(CommandError, match="it contains errors"):
        call_command("restore", str(tmp_path / "saved"), check=True, stdout=said)
    assert ": 1 violations." in said.getvalue()


def test_the_site_is_left_alone_by_a_check(saved, post):
    Post.objects.filter(pk=post.pk).update(body="Changed.")
    run("restore", saved, check=True)
    assert Post.objects.get().body == "Changed."
    assert not CacheEpoch.objects.filter(reason=Reason.ASKED).exists()


def test_accounts_are_only_replaced_when_that_is_said(some_backup):
    with pytest.raises(CommandError, match="has 1 accounts"):
        run("restore", some_backup)
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("tables", "other"),
    [
        (["blog_entry"], "blog_entry"),
        (["auth_user", "django_migrations", "django_session"], "auth_user"),  # another Django site
    ],
)
@pytest.mark.parametrize("replaces", [False, True])
def test_the_database_of_other_software_is_refused(monkeypatch, tables, other, replaces):
    monkeypatch.setattr(connection.introspection, "table_names", lambda: tables)
    with pytest.raises(CommandError, match=f"has the table {other}"):
        database.refuse_content(replaces=replaces)


def test_while_the_site_runs_nothing_is_restored(some_backup, monkeypatch):
    report = topology_listener.Report("host:1", "worker", 0)
    monkeypatch.setattr(topology_listener, "processes", lambda: [report])
    with pytest.raises(CommandError, match=r"running \(worker\)"):
        run("restore", some_backup, replace=True)


@pytest.mark.parametrize("at", ["dump", "files"])
def test_an_interrupted_backup_is_refused(post, tmp_path, monkeypatch, at):
    """As when the disk is full."""

    def full(*_arguments):
        raise OSError(28, "No space left on device", "/backups")

    monkeypatch.setattr(*((database, "dump") if at == "dump" else (folder, "copy")), full)
    with pytest.raises(CommandError, match="No space left on device"):
        run("backup", tmp_path / "half")
    with pytest.raises(CommandError, match="interrupted"):
        run("restore", tmp_path / "half", replace=True)
    with pytest.raises(CommandError, match="not empty"):
        run("backup", tmp_path / "half")
    assert User.objects.count() == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "is not a backup of feedsite: it has no backup.json"),
        ({"holiday.jpg": b"x"}, "is not a backup of feedsite: it has no backup.json"),
        ({MANIFEST: b"{}"}, "its backup.json has another format"),
        ({MANIFEST: b"\xff"}, "cannot be read"),
        ({MANIFEST: b'{"program": "other", "format": 1, "is_complete": true}'}, "another format"),
    ],
)
def test_another_folder_is_refused(content, words, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name, data in content.items():
        (other / name).write_bytes(data)
    with pytest.raises(CommandError, match=words):
        run("restore", other)
    with pytest.raises(CommandError, match="There is no folder"):
        run("restore", tmp_path / "nowhere")


def changed(file):
    file.write_bytes(file.read_bytes()[:-1] + b"?")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda saved: changed(saved / "database.dump"), "such as database.dump"),
        (lambda saved: (saved / "private/archives/one.zip").unlink(), "such as private/archives/one.zip"),
        (lambda saved: changed(saved / "SHA256SUMS"), "SHA256SUMS was changed"),
    ],
)  # fmt: skip
def test_a_backup_that_was_changed_is_refused_before_anything_is_touched(some_backup, spoil, words):
    spoil(some_backup)
    with pytest.raises(CommandError, match=words):
        run("restore", some_backup, replace=True)
    with pytest.raises(CommandError, match=words):
        run("restore", some_backup, check=True)
    assert User.objects.count() == 1


def test_a_path_out_of_the_folder_is_refused(some_backup):
    sums = f"{'0' * 64}  media/../../evil\n"
    (some_backup / "SHA256SUMS").write_text(sums)
    manifest = json.loads((some_backup / MANIFEST).read_text())
    manifest["sums"] = hashlib.sha256(sums.encode()).hexdigest()
    (some_backup / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(CommandError, match="outside of its folder"):
        run("restore", some_backup, replace=True)


def test_a_backup_of_a_newer_version_is_refused(some_backup):
    manifest = json.loads((some_backup / MANIFEST).read_text())
    manifest["migrations"].append(["posts", "9999_later"])
    (some_backup / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(CommandError, match="newer version"):
        run("restore", some_backup, replace=True)


def test_with_other_keys_it_says_what_ends_and_where_the_right_ones_are(saved, settings):
    used, settings.SECRET_KEY = settings.SECRET_KEY, "another key " * 5
    with pytest.raises(CommandError) as refused:
        run("restore", saved, replace=True)
    assert f"other keys than the backup: SECRET_KEY. They are in {saved / 'keys'}" in str(refused.value)  # fmt: skip
    assert "logins and links in mails end" in str(refused.value)
    settings.SECRET_KEY_FALLBACKS = [used]  # it was replaced since
    assert "Start it." in run("restore", saved, replace=True)
    settings.SECRET_KEY_FALLBACKS = []
    assert "Start it." in run("restore", saved, replace=True, other_keys=True)
    assert (saved / "keys" / "secret_key").read_text() == used


def test_without_keys_there_are_none_and_a_restore_asks_for_them(post, tmp_path, settings):
    run("backup", tmp_path / "saved", without_keys=True)
    assert not (tmp_path / "saved" / "keys").exists()
    settings.SECRET_KEY = "another key " * 5
    with pytest.raises(CommandError, match="use the keys that you kept elsewhere"):
        run("restore", tmp_path / "saved", replace=True)


def test_an_error_in_the_middle_of_the_restore_leaves_what_was_there(saved, post, monkeypatch):
    """The program that reads the dump is killed: the end of what it wrote must not be taken for the end of it all."""
    Post.objects.filter(pk=post.pk).update(body="Changed.")

    def cut(source, into, dump, advance):
        some = source.read(20_000)
        into.write(some[: some.rindex(b";\n\n") + 3])  # whole statements: only COMMIT is missing
        source.close()

    monkeypatch.setattr(database, "_pump", cut)
    with pytest.raises(CommandError, match="not restored, and is as it was"):
        run("restore", saved, replace=True)
    assert Post.objects.get().body == "Changed."
    monkeypatch.undo()
    run("restore", saved, replace=True)
    assert Post.objects.get().body == "Look."


def test_a_table_in_use_is_not_waited_for_without_end(saved, monkeypatch):
    monkeypatch.setattr(database, "BEGIN", database.BEGIN.replace(b"10s", b"100ms"))
    connection.ensure_connection()
    other = psycopg.connect(connection.connection.info.dsn)
    other.execute("SELECT 1 FROM posts_post")
    try:
        with pytest.raises(CommandError, match="lock timeout"):
            run("restore", saved, replace=True)
    finally:
        other.close()
    assert User.objects.count() == 2


def test_dated_backups_link_what_is_the_same_and_the_oldest_go(post, alice, tmp_path, monkeypatch):
    nightly = tmp_path / "nightly"

    def backup(day):
        now = datetime(2026, 11, day, 3, tzinfo=UTC)
        monkeypatch.setattr("feedsite.management.commands.backup._now", lambda: now)
        run("backup", nightly, keep=2)

    foreign = nightly / "mine"
    foreign.mkdir(parents=True)
    (foreign / "letter.txt").write_text("keep me")
    backup(1)
    [first] = backups_in(nightly)
    upload_picture(alice, BytesIO(picture((61, 40))))
    backup(2)
    first, second = backups_in(nightly)
    old, new = (set(one.files_of("media")) for one in (first, second))
    assert old
    assert new > old
    assert all((first.folder / name).samefile(second.folder / name) for name in old)
    assert first.folder.name == "2026-11-01T030000Z"
    backup(3)
    assert [one.folder.name[:10] for one in backups_in(nightly)] == ["2026-11-02", "2026-11-03"]
    assert not first.folder.exists()
    assert (foreign / "letter.txt").exists()
    assert "is good" in run("restore", second.folder, check=True)
    with pytest.raises(CommandError, match="has 2 backups: name one"):
        run("restore", nightly)


def test_a_role_that_may_not_create_databases_is_told_so(some_backup, monkeypatch):
    monkeypatch.setattr(database, "MAY_CREATE", "SELECT false, current_user")
    with pytest.raises(CommandError, match="ALTER ROLE feedsite CREATEDB"):
        run("restore", some_backup, check=True)


def test_programs_that_are_too_old_are_named(post, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "_candidates", lambda _name: iter(()))
    with pytest.raises(CommandError, match="pg_dump of PostgreSQL 18 or later is not installed"):
        run("backup", tmp_path / "saved")


def test_pictures_in_a_bucket_are_left_to_the_bucket(post, tmp_path, settings):
    settings.MEDIA_BUCKET = "pictures"
    said = run("backup", tmp_path / "saved")
    assert "Files are in the bucket pictures" in said
    assert not (tmp_path / "saved" / "media").exists()
