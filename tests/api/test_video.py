"""Video and sound as clients send them: Mastodon's asynchronous uploads."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.media.sandbox import PICTURE_TYPES
from apps.posts.actions import transcoding
from apps.posts.models import Attachment, Transcode
from apps.posts.tasks import transcode
from tests.support.cases import each
from tests.support.videos import CAPTIONS, sound, video

pytestmark = [pytest.mark.django_db, pytest.mark.long]

STATUSES, MEDIA = "/api/v1/statuses", "/api/v1/media"


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path / "media")
    private = {**settings.STORAGES["private"], "OPTIONS": {"location": str(tmp_path / "private")}}
    settings.STORAGES = {**settings.STORAGES, "private": private}


@pytest.fixture
def api(alice, api_of):
    return api_of(alice)


def upload(api, data, *, name="a.mp4", kind="video/mp4", address="/api/v2/media", **more):
    file = SimpleUploadedFile(name, data, content_type=kind)
    return api.post(address, {"file": file, **more}, format="multipart")


@pytest.mark.parametrize("address", ["/api/v2/media", "/api/v1/media"])
def test_a_video_is_accepted_prepared_and_posted(api, client, address):
    answer = upload(api, video(), address=address, description="A test.")
    assert answer.status_code == 202, answer.content
    body = answer.json()
    assert (body["type"], body["url"], body["preview_url"]) == ("video", None, None)
    path = f"{MEDIA}/{body['id']}"
    assert api.get(path).status_code == 206
    early = api.post(STATUSES, {"status": "Look.", "media_ids": [body["id"]]}, format="json")
    assert (early.status_code, early.json()["errors"][0]["field"]) == (422, "media_ids")
    transcode(Transcode.objects.get().pk)
    ready = api.get(path)
    assert ready.status_code == 200
    found = ready.json()
    assert found["url"].endswith(".mp4")
    assert found["preview_url"].endswith(".webp")
    assert found["meta"]["original"]["size"] == "64x48"
    assert abs(found["meta"]["original"]["duration"] - 2) < 0.3
    made = api.post(STATUSES, {"status": "Look.", "media_ids": [body["id"]]}, format="json").json()
    [shown] = made["media_attachments"]
    assert (shown["type"], shown["description"]) == ("video", "A test.")
    [listed] = client.get(f"/api/v1/accounts/{made['account']['id']}/statuses?only_media=1").json()
    assert listed["id"] == made["id"]


def test_sound_has_a_duration_and_no_picture(api):
    number = upload(api, sound(), name="a.mp3", kind="audio/mpeg").json()["id"]
    transcode(Transcode.objects.get().pk)
    found = api.get(f"{MEDIA}/{number}").json()
    assert (found["type"], found["preview_url"]) == ("audio", None)
    assert list(found["meta"]["original"]) == ["duration"]
    made = api.post(STATUSES, {"status": "", "media_ids": [number]}, format="json").json()
    assert made["media_attachments"][0]["type"] == "audio"
    page = api.get(f"/@{made['account']['acct']}/{made['id']}").content.decode()
    assert "<audio" in page
    assert 'preload="none"' in page


def test_captions_are_a_file_of_the_upload(api, client):
    number = upload(api, video()).json()["id"]
    transcode(Transcode.objects.get().pk)
    for data, status in ((b"no captions", 422), (CAPTIONS, 200)):
        file = SimpleUploadedFile("a.vtt", data, content_type="text/vtt")
        answer = api.put(f"{MEDIA}/{number}", {"captions": file}, format="multipart")
        assert answer.status_code == status, answer.content
    url = answer.json()["feedsite"]["captions_url"]
    served = client.get(url.removeprefix("http://testserver"))
    assert served.headers["Content-Type"] == "text/vtt; charset=utf-8"
    assert served.getvalue() == CAPTIONS
    made = api.post(STATUSES, {"status": "Hear.", "media_ids": [number]}, format="json").json()
    page = client.get(f"/@{made['account']['acct']}/{made['id']}").content.decode()
    assert '<track kind="captions" src="/media/pictures/' in page
    assert "media-src 'self'" in client.get("/login").headers["Content-Security-Policy"]


def test_a_failure_is_422(api):
    number = upload(api, video()).json()["id"]
    row = Transcode.objects.get()
    transcoding._end(row, state="failed", error="too_slow")
    answer = api.get(f"{MEDIA}/{number}")
    assert answer.status_code == 422
    assert answer.json()["code"] == "failed"


@each("name", ["nothing", "text", "half", "playlist"])
def test_what_only_says_that_it_is_a_video_is_refused(api, name):
    data = {
        "nothing": b"",
        "text": b"This is a text.",
        "half": video()[:200],
        "playlist": b"#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n",
    }[name]
    answer = upload(api, data)
    assert answer.status_code == 422, answer.content
    assert not Attachment.objects.exists()


def test_the_instance_names_types_and_limits(client, settings):
    for version in ("v1", "v2"):
        found = client.get(f"/api/{version}/instance").json()["configuration"]["media_attachments"]
        assert {"video/mp4", "audio/mpeg", "image/png"} <= set(found["supported_mime_types"])
        assert found["video_size_limit"] == settings.VIDEO_MAX_BYTES


def test_without_ffmpeg_video_is_refused_in_a_sentence(api, client, page_of, alice, settings):
    settings.FFMPEG = "no-such-program"
    answer = upload(api, b"\0\0\0\x18ftypmp42" + bytes(100))
    assert answer.status_code == 422
    assert answer.json()["code"] == "video_unavailable"
    found = client.get("/api/v2/instance").json()["configuration"]["media_attachments"]
    assert found["supported_mime_types"] == PICTURE_TYPES
    assert found["video_size_limit"] == 0
    assert "video/mp4" not in page_of(alice).get("/compose").text
