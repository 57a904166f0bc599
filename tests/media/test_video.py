"""Video and sound through ffmpeg: what comes out, and files that want to do harm."""

import json
import os
import subprocess
from io import BytesIO

import pytest
from PIL import Image

from apps.media import video as module
from apps.media.video import Unfit, explained, is_available, looks_like_media, probe, transcode
from tests.support.pictures import picture
from tests.support.videos import CANARY, made, needs_ffmpeg, sound, video

pytestmark = pytest.mark.long


def source(folder, data):
    path = folder / "source"
    path.write_bytes(data)
    return path


def nothing():
    """The lease of nobody."""


def described(path):
    command = ["ffprobe", "-v", "error", "-show_format", "-show_streams", "-of", "json", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


@needs_ffmpeg
@pytest.mark.parametrize(
    ("name", "more"),
    [("a.mp4", ()), ("a.mov", ()), ("a.webm", ("-c:v", "libvpx", "-c:a", "libopus")), ("a.mkv", ())],
)  # fmt: skip
def test_every_form_of_video_becomes_h264_and_aac_without_metadata(tmp_path, name, more):
    made = transcode(source(tmp_path, video(name, more=more)), nothing)
    found = described(made.path)
    assert [stream["codec_name"] for stream in found["streams"]] == ["h264", "aac"]
    assert (made.width, made.height) == (64, 48)
    assert abs(made.seconds - 2) < 0.3
    data = made.path.read_bytes()
    assert CANARY.encode() not in data
    assert b"31.3" not in data
    assert data.index(b"moov") < data.index(b"mdat")  # the index is at the front
    assert made.poster is not None
    poster = Image.open(BytesIO(made.poster.preview))
    assert (poster.format, poster.size) == ("WEBP", (64, 48))
    assert len(made.poster.blurhash) == 28


@needs_ffmpeg
@pytest.mark.parametrize("name", ["a.mp3", "a.ogg", "a.flac", "a.wav", "a.m4a"])
def test_every_form_of_sound_becomes_aac_without_metadata(tmp_path, name):
    made = transcode(source(tmp_path, sound(name)), nothing)
    found = described(made.path)
    assert [stream["codec_name"] for stream in found["streams"]] == ["aac"]
    assert (made.path.suffix, made.poster, made.width) == (".m4a", None, 0)
    assert CANARY.encode() not in made.path.read_bytes()


@needs_ffmpeg
def test_a_large_video_is_made_smaller_and_an_upright_one_stays_upright(tmp_path, settings):
    settings.VIDEO_SIZE = (60, 30)
    for size, expected in (("120x90", (40, 30)), ("90x120", (30, 40)), ("20x18", (20, 18))):
        made = transcode(source(tmp_path, video(size=size, seconds=1, sound=False)), nothing)
        assert (made.width, made.height) == expected


@needs_ffmpeg
def test_an_album_cover_is_no_video(tmp_path):
    cover = tmp_path / "cover.png"
    cover.write_bytes(picture())
    data = made(
        "b.mp3", "-f", "lavfi", "-i", "sine=duration=1", "-i", str(cover), "-map", "0", "-map", "1", "-c:v", "copy",
    )  # fmt: skip
    found = probe(source(tmp_path, data))
    assert (found.video, found.audio) == (None, 0)


# -- files that want to do harm --------------------------------------------------------------------


def playlists(secret):
    url = f"file:{secret}"
    return {
        "hls": f"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{url}\n#EXT-X-ENDLIST\n",
        "hls-http": "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nhttp://127.0.0.1:1/a.ts\n#EXT-X-ENDLIST\n",
        "concat": f"ffconcat version 1.0\nfile '{secret}'\n",
        "dash": f'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>{url}</BaseURL></MPD>',
        "sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n",
        "image2": f"{secret}%d.png",
        "text": "This is a video, says its name.\n" * 100,
        "nothing": "",
    }


@needs_ffmpeg
@pytest.mark.parametrize("name", list(playlists("")))
def test_files_that_name_others_and_texts_are_refused(tmp_path, name):
    secret = tmp_path / "secret.mp4"
    secret.write_bytes(video())
    with pytest.raises(Unfit) as refused:
        probe(source(tmp_path, playlists(secret)[name].encode()))
    assert refused.value.reason == "unreadable"


@needs_ffmpeg
@pytest.mark.parametrize("length", [20, 500, 4000])
def test_half_a_file_is_refused_or_ends_early(tmp_path, length):
    for name in ("a.mp4", "a.webm"):
        more = ("-c:v", "libvpx", "-c:a", "libopus") if name == "a.webm" else ()
        try:
            made = transcode(source(tmp_path, video(name, more=more)[:length]), nothing)
        except Unfit:
            continue
        assert made.seconds < 2.5


@needs_ffmpeg
def test_too_many_pixels_are_refused_from_the_header(tmp_path, settings):
    settings.VIDEO_MAX_PIXELS = 60 * 40
    with pytest.raises(Unfit, match="too_many_pixels"):
        probe(source(tmp_path, video()))


@needs_ffmpeg
def test_a_header_that_lies_about_its_size_is_no_way_around(tmp_path, settings):
    """The container says 32 x 32, the stream in it has more pixels than the decoder is allowed."""
    data = bytearray(video(size="640x480", sound=False))
    settings.VIDEO_MAX_PIXELS = 64 * 64
    begin = data.index(b"avc1") + 28
    data[begin : begin + 4] = b"\x00\x20\x00\x20"
    begin = data.index(b"tkhd") + 4 + 76
    data[begin : begin + 8] = b"\x00\x20\x00\x00\x00\x20\x00\x00"
    with pytest.raises(Unfit):
        transcode(source(tmp_path, bytes(data)), nothing)


@needs_ffmpeg
def test_what_is_too_long_is_refused(tmp_path, settings):
    settings.VIDEO_MAX_SECONDS = 1
    with pytest.raises(Unfit, match="too_long"):
        probe(source(tmp_path, video(seconds=4)))


@needs_ffmpeg
def test_a_duration_that_is_not_told_is_found_out(tmp_path, settings):
    """As of a recording that was written to a pipe; ffmpeg stops soon after the limit."""
    settings.VIDEO_MAX_SECONDS = 1
    data = made(
        "live.mkv", "-f", "lavfi", "-i", "testsrc=duration=30:size=64x48:rate=10", "-f", "matroska", "-live", "1",
    )  # fmt: skip
    path = source(tmp_path, data)
    assert probe(path).seconds == 0
    with pytest.raises(Unfit, match="too_long"):
        transcode(path, nothing)


@needs_ffmpeg
def test_what_takes_too_long_is_stopped_and_the_lease_is_renewed(tmp_path, settings, monkeypatch):
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.05)
    renewed = []
    data = video(seconds=30, size="640x480")
    settings.VIDEO_TRANSCODE_SECONDS = 0.3
    with pytest.raises(Unfit, match="too_slow"):
        transcode(source(tmp_path, data), lambda: renewed.append(1))
    assert renewed


@needs_ffmpeg
def test_a_lost_lease_stops_the_work(tmp_path, monkeypatch):
    class LostError(Exception):
        pass

    def lost():
        raise LostError

    monkeypatch.setattr(module, "RENEW_SECONDS", 0.05)
    with pytest.raises(LostError):
        transcode(source(tmp_path, video(seconds=30, size="640x480")), lost)


@needs_ffmpeg
def test_noise_is_refused(tmp_path):
    for head in (b"\x00\x00\x00\x18ftypmp42", b"\x1aE\xdf\xa3", b"OggS", b"ID3", b"fLaC"):
        with pytest.raises(Unfit):
            transcode(source(tmp_path, head + os.urandom(20_000)), nothing)


# -- without ffmpeg ----------------------------------------------------------------------------------


def test_without_ffmpeg_nothing_is_available(tmp_path, settings):
    settings.FFMPEG = "no-such-program"
    assert not is_available()
    settings.FFPROBE = "no-such-program"
    with pytest.raises(Unfit, match="unavailable"):
        probe(source(tmp_path, b"ftyp"))


def test_every_reason_is_a_sentence():
    for reason in (
        "too_long",
        "too_large",
        "too_many_pixels",
        "too_slow",
        "unavailable",
        "unreadable",
    ):
        assert explained(reason).endswith(".")


@pytest.mark.parametrize(
    ("head", "content_type", "expected"),
    [
        (b"\0\0\0\x18ftypmp42", "", True), (b"\0\0\0\x18ftypavif", "image/avif", False), (b"OggS", "", True),
        (b"RIFF\0\0\0\0WAVE", "", True), (b"RIFF\0\0\0\0WEBP", "video/mp4", False), (b"text", "video/mp4", True),
        (b"text", "text/plain", False), (b"\x89PNG", "video/mp4", False), (b"\x1aE\xdf\xa3", "image/png", True),
        (b"", "", False),
    ],
)  # fmt: skip
def test_pictures_and_video_are_told_apart(head, content_type, expected):
    assert looks_like_media(head, content_type) is expected
