"""Video and sound from the upload to the post: prepared by a task, attached when ready, gone with their files."""

from datetime import timedelta
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.core.files.storage import storages
from django.utils import timezone

from apps.errors import Invalid
from apps.events.leases import MAX_ATTEMPTS, State
from apps.media.video import Unfit
from apps.media.video import transcode as prepare_file
from apps.posts.actions import transcoding
from apps.posts.actions.drafts import Draft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import (
    describe_picture,
    upload_media,
    upload_picture,
    upload_video,
    withdraw_picture,
)
from apps.posts.content.post import Picture, decode, encode
from apps.posts.models import Attachment, Kind, MediaState, Medium, Transcode
from apps.posts.tasks import purge_unused_uploads, sweep_transcodes, transcode
from apps.privacy.archive import write_archive
from tests.support.errors import refused
from tests.support.factories import publish, published
from tests.support.pictures import picture
from tests.support.staff import choose
from tests.support.videos import CAPTIONS, sound, video

pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    """What is served, and what is not."""
    settings.MEDIA_ROOT = str(tmp_path / "media")
    private = {**settings.STORAGES["private"], "OPTIONS": {"location": str(tmp_path / "private")}}
    settings.STORAGES = {**settings.STORAGES, "private": private}
    return tmp_path


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def prepared(owner, data=None):
    """An upload after its task, which runs twice."""
    row = upload_media(owner, BytesIO(data or video()), alt="A test.")
    number = Transcode.objects.get(attachment=row).pk
    transcode(number)
    transcode(number)
    row.refresh_from_db()
    return row


def test_a_video_waits_for_its_task_and_is_then_served(
    alice, folders, django_capture_on_commit_callbacks
):
    row = upload_media(alice, BytesIO(video()), alt="A test.")
    assert (row.medium, row.state, row.file.name) == (Medium.VIDEO, MediaState.PROCESSING, "")
    [source] = files(folders)
    assert source.startswith("private/uploads/")
    with django_capture_on_commit_callbacks(execute=True):
        transcode(Transcode.objects.get().pk)
    row.refresh_from_db()
    assert (row.state, row.width, row.height) == (MediaState.READY, 64, 48)
    assert abs(row.duration_ms - 2000) < 300
    assert row.size == row.file.size > 0
    assert len(row.blurhash) == 28
    assert files(folders) == {f"media/{row.file.name}", f"media/{row.preview.name}"}
    assert not Transcode.objects.exists()


def test_a_short_video_without_sound_is_a_loop(alice, page_of, api_of, monkeypatch):
    silent = video(sound=False)
    loop = publish(alice, "Look.", media_ids=[prepared(alice, silent).pk])
    heard = publish(alice, "Listen.", media_ids=[prepared(alice).pk])
    monkeypatch.setattr("apps.media.video.LOOP_SECONDS", 1)
    long = publish(alice, "Wait.", media_ids=[prepared(alice, silent).pk])
    kinds = {}
    for post in (loop, heard, long):
        page = page_of(alice).get(f"/@alice/{post.pk}").text
        kind = (
            api_of(alice).get(f"/api/v1/statuses/{post.pk}").json()["media_attachments"][0]["type"]
        )
        assert "data-loop=" in page if kind == "gifv" else "data-loop=" not in page
        assert "<video" in page
        assert " controls" in page  # for who has no scripts
        kinds[post.pk] = kind
    assert kinds == {loop.pk: "gifv", heard.pk: "video", long.pk: "video"}


def test_a_task_that_runs_twice_changes_nothing(alice, folders):
    row = prepared(alice)
    before = files(folders / "media")
    sweep_transcodes()
    transcode(1)
    assert files(folders / "media") == before
    assert Attachment.objects.get().file.name == row.file.name


def test_the_kind_of_a_post_is_that_of_its_media(alice):
    kinds = {Kind.VIDEO: video(), Kind.AUDIO: sound(), Kind.PICTURE: picture()}
    for kind, data in kinds.items():
        row = prepared(alice, data) if kind != Kind.PICTURE else upload_media(alice, BytesIO(data))
        post, _revision, content = published(alice, "", media_ids=[row.pk])
        assert post.kind == kind
        assert content is not None
        assert decode(encode(content)) == content
        assert content.pictures[0].medium == row.medium
        edit_post(alice, post.pk, body="Nothing.", media_ids=[])
        post.refresh_from_db()
        assert post.kind == Kind.TEXT


def test_a_post_waits_until_its_video_is_ready(alice):
    row = upload_media(alice, BytesIO(video()))
    at = timezone.now() + timedelta(hours=1)
    for attempt in (
        lambda: publish(alice, "Look.", media_ids=[row.pk]),
        lambda: schedule_post(alice, Draft("Look.", media_ids=[row.pk]), at),
    ):
        with refused("not_ready"):
            attempt()
    transcode(Transcode.objects.get().pk)
    assert publish(alice, "Look.", media_ids=[row.pk]).kind == Kind.VIDEO


def test_a_video_stands_alone(alice):
    one, two = prepared(alice), upload_picture(alice, BytesIO(picture()))
    with refused("not_allowed"):
        publish(alice, "Look.", media_ids=[two.pk, one.pk])
    post = publish(alice, "Look.", media_ids=[one.pk])
    with refused("not_allowed"):
        edit_post(alice, post.pk, body="Look.", media_ids=[one.pk, two.pk])
    edit_post(alice, post.pk, body="Look.", media_ids=[two.pk])
    post.refresh_from_db()
    assert post.kind == Kind.PICTURE


def test_a_failure_is_told_in_plain_words(alice, monkeypatch):
    def fails(*_args):
        raise Unfit("too_slow")

    monkeypatch.setattr(transcoding, "transcode", fails)
    row = upload_media(alice, BytesIO(video()))
    transcode(Transcode.objects.get().pk)
    row.refresh_from_db()
    assert (row.state, row.error, Transcode.objects.count()) == (MediaState.FAILED, "too_slow", 0)
    with refused("failed"):
        publish(alice, "Look.", media_ids=[row.pk])


def test_an_upload_that_kills_its_worker_every_time_is_given_up(alice):
    row = upload_media(alice, BytesIO(video()))
    Transcode.objects.update(attempts=MAX_ATTEMPTS, due_at=timezone.now() - timedelta(hours=1))
    number = Transcode.objects.get().pk
    transcode(number)  # claims it, and finds that there were enough attempts
    for _time in range(2):
        sweep_transcodes()
    row.refresh_from_db()
    assert (row.state, row.error) == (MediaState.FAILED, "unreadable")


def test_staff_try_once_more_what_failed_at_every_attempt(alice, admin_client):
    row = upload_media(alice, BytesIO(video()))
    dead = Transcode.objects.get()
    Transcode.objects.update(state=State.DEAD, attempts=MAX_ATTEMPTS, last_error="OSError: full")
    sweep_transcodes()
    page = admin_client.get("/admin/posts/transcode/").content.decode()
    assert "@alice" in page
    assert "OSError: full" in page
    assert admin_client.get(f"/admin/posts/transcode/{dead.pk}/change/").status_code == 200
    answer = choose(admin_client, "/admin/posts/transcode/", "retry", [dead])
    assert "1 upload will be retried." in answer.content.decode()
    row.refresh_from_db()
    assert (row.state, row.error) == (MediaState.PROCESSING, "")
    transcode(dead.pk)
    row.refresh_from_db()
    assert (row.state, Transcode.objects.count()) == (MediaState.READY, 0)


def test_what_failed_goes_with_its_source(alice, folders, django_capture_on_commit_callbacks):
    row = upload_media(alice, BytesIO(video()))
    Transcode.objects.update(state=State.DEAD)
    sweep_transcodes()
    with django_capture_on_commit_callbacks(execute=True):
        withdraw_picture(alice, row.pk)
    assert not files(folders)
    assert not Transcode.objects.exists()


def test_a_lost_message_is_found_by_the_sweep(alice, monkeypatch):
    upload_media(alice, BytesIO(video()))
    sent = []
    monkeypatch.setattr(transcoding, "enqueue", lambda *args, **_more: sent.append(args))
    sweep_transcodes()
    assert sent == [(transcoding.TASK, Transcode.objects.get().pk)]


def test_only_so_many_are_transcoded_at_once(alice, settings):
    for _time in range(2):
        upload_media(alice, BytesIO(video()))
    one, two = Transcode.objects.order_by("pk")
    lease = timezone.now() + timedelta(seconds=30)
    Transcode.objects.filter(pk=one.pk).update(attempts=1, due_at=lease)
    assert transcoding.run_due(limit=1, only=[two.pk]) == 0
    settings.VIDEO_CONCURRENCY = 2
    assert transcoding.run_due(limit=1, only=[two.pk]) == 1


def test_an_upload_that_is_withdrawn_meanwhile_leaves_no_files(
    alice, folders, monkeypatch, django_capture_on_commit_callbacks
):
    row = upload_media(alice, BytesIO(video()))
    real = prepare_file

    def withdraws(*args):
        made = real(*args)
        with django_capture_on_commit_callbacks(execute=True):
            withdraw_picture(alice, row.pk)
        return made

    monkeypatch.setattr(transcoding, "transcode", withdraws)
    transcode(Transcode.objects.get().pk)
    assert not files(folders)
    assert not Attachment.objects.exists()


def test_a_deleted_post_takes_its_files_along(alice, folders, django_capture_on_commit_callbacks):
    row = prepared(alice)
    describe_picture(alice, row.pk, captions=BytesIO(CAPTIONS))
    with django_capture_on_commit_callbacks(execute=True):
        post = publish(alice, "Look.", media_ids=[row.pk])
        delete_post(post.pk, by=alice)
    assert not files(folders / "media")


def test_uploads_that_no_post_used_go_with_their_sources(
    alice, folders, django_capture_on_commit_callbacks
):
    upload_media(alice, BytesIO(video()))
    Attachment.objects.update(created_at=timezone.now() - timedelta(days=2))
    with django_capture_on_commit_callbacks(execute=True):
        purge_unused_uploads()
    assert not files(folders)
    assert not Transcode.objects.exists()


def test_a_restricted_video_moves_with_its_captions(alice, bob, client):
    row = prepared(alice)
    describe_picture(alice, row.pk, captions=BytesIO(CAPTIONS))
    publish(alice, "Look.", media_ids=[row.pk], visibility="followers")
    row.refresh_from_db()
    names = [row.file.name, row.preview.name, row.captions.name]
    assert all(name.startswith("restricted/") for name in names)
    assert [client.get(f"/media/{name}").status_code for name in names] == [404] * 3
    shown = Picture.of(row)
    for url in (shown.url, shown.preview_url, shown.captions_url):
        answer = client.get(url)
        assert answer.status_code == 200
        answer.getvalue()


def test_captions_are_for_video_and_sound_and_can_be_taken_away(alice):
    row = prepared(alice, sound())
    assert describe_picture(alice, row.pk, captions=BytesIO(CAPTIONS)).captions.name
    assert not describe_picture(alice, row.pk, captions=BytesIO(b"")).captions.name
    with pytest.raises(Invalid, match="WebVTT"):
        describe_picture(alice, row.pk, captions=BytesIO(b"no captions"))
    still = upload_picture(alice, BytesIO(picture()))
    with refused("not_allowed"):
        describe_picture(alice, still.pk, captions=BytesIO(CAPTIONS))


def test_the_archive_has_the_video_and_its_captions(alice, folders):
    row = prepared(alice)
    describe_picture(alice, row.pk, captions=BytesIO(CAPTIONS))
    publish(alice, "Look.", media_ids=[row.pk])
    write_archive(alice, "a.zip", lambda _done: None)
    with storages["private"].open("a.zip") as file, ZipFile(file) as archive:
        assert {f"pictures/{row.pk}.mp4", f"pictures/{row.pk}.vtt"} <= set(archive.namelist())


def test_what_is_too_large_is_refused(alice, settings, folders):
    settings.VIDEO_MAX_BYTES = 1000
    with pytest.raises(Invalid, match="too large"):
        upload_video(alice, BytesIO(video()))
    assert not files(folders)
