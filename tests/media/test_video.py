"""Video and sound through ffmpeg: what comes out, and files that want to do harm."""

import os
import re
import shutil
import subprocess
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from apps.media import video as module
from apps.media.video import (
    Unfit,
    explained,
    ffmpeg_path,
    is_available,
    looks_like_media,
    probe,
    transcode,
)
from tests.support.pictures import picture
from tests.support.videos import CANARY, made, sound, video

pytestmark = pytest.mark.long


def source(folder, data):
    path = folder / "source"
    path.write_bytes(data)
    return path


def nothing():
    """The lease of nobody."""


def codecs(path):
    """Of every stream, whatever it is."""
    command = [
        ffmpeg_path(""),
        "-v",
        "error",
        "-i",
        path,
        "-map",
        "0",
        "-c",
        "copy",
        "-t",
        "0",
        "-f",
        "framecrc",
        "-",
    ]
    listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return re.findall(r"^#codec_id \d+: (\S+)", listed, re.MULTILINE)


@pytest.fixture(params=["the distribution's", "the wheel's"])
def program(request, settings):
    """Each ffmpeg in its turn, which the site then runs."""
    settings.FFMPEG = module._in_wheel() if "wheel" in request.param else shutil.which("ffmpeg")
    if not settings.FFMPEG:
        pytest.skip(f"{request.param} ffmpeg is not here")


@pytest.mark.parametrize(
    ("name", "more"),
    [("a.mp4", ()), ("a.mov", ()), ("a.webm", ("-c:v", "libvpx", "-c:a", "libopus")), ("a.mkv", ())],
)  # fmt: skip
def test_every_form_of_video_becomes_h264_and_aac_without_metadata(program, tmp_path, name, more):
    made = transcode(source(tmp_path, video(name, more=more)), nothing)
    assert codecs(made.path) == ["h264", "aac"]
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


@pytest.mark.parametrize("name", ["a.mp3", "a.ogg", "a.flac", "a.wav", "a.m4a"])
def test_every_form_of_sound_becomes_aac_without_metadata(program, tmp_path, name):
    made = transcode(source(tmp_path, sound(name)), nothing)
    assert codecs(made.path) == ["aac"]
    assert (made.path.suffix, made.poster, made.width) == (".m4a", None, 0)
    assert CANARY.encode() not in made.path.read_bytes()


def test_a_large_video_is_made_smaller_and_an_upright_one_stays_upright(
    program, tmp_path, settings
):
    settings.VIDEO_SIZE = (60, 30)
    for size, expected in (("120x90", (40, 30)), ("90x120", (30, 40)), ("20x18", (20, 18))):
        made = transcode(source(tmp_path, video(size=size, seconds=1, sound=False)), nothing)
        assert (made.width, made.height) == expected


def test_an_album_cover_is_no_video(program, tmp_path):
    cover = tmp_path / "cover.png"
    cover.write_bytes(picture())
    data = made(
        "b.mp3", "-f", "lavfi", "-i", "sine=duration=1", "-i", str(cover), "-map", "0", "-map", "1", "-c:v", "copy",
    )  # fmt: skip
    found = probe(source(tmp_path, data))
    assert (found.video, found.audio) == (None, 0)


def test_tracks_that_nobody_can_read_are_passed_over(program, tmp_path):
    """As phones write them: sound in a format of their own, surround sound, texts; then sound for all."""
    texts = tmp_path / "texts.srt"
    texts.write_text("1\n00:00:00,000 --> 00:00:01,000\nHi\n")
    tone = ("-f", "lavfi", "-i", "sine=duration=2")
    maps = [argument for number in range(5) for argument in ("-map", str(number))]
    data = made(
        "b.mov", "-f", "lavfi", "-i", "testsrc=duration=2:size=64x48:rate=10", *tone, *tone, *tone, "-i", str(texts),
        *maps, "-c:a:0", "alac", "-c:a:1", "ac3", "-c:a:2", "aac", "-c:s", "mov_text",
    )  # fmt: skip
    path = source(tmp_path, data.replace(b"alac", b"aaaa"))
    found = probe(path)
    assert (found.video, found.audio) == (0, 2)
    assert codecs(transcode(path, nothing).path) == ["h264", "aac"]


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


@pytest.mark.parametrize("name", list(playlists("")))
def test_files_that_name_others_and_texts_are_refused(program, tmp_path, name):
    secret = tmp_path / "secret.mp4"
    secret.write_bytes(video())
    with pytest.raises(Unfit) as refused:
        probe(source(tmp_path, playlists(secret)[name].encode()))
    assert refused.value.reason == "unreadable"


@pytest.mark.parametrize("length", [20, 500, 4000])
def test_half_a_file_is_refused_or_ends_early(program, tmp_path, length):
    for name in ("a.mp4", "a.webm"):
        more = ("-c:v", "libvpx", "-c:a", "libopus") if name == "a.webm" else ()
        try:
            made = transcode(source(tmp_path, video(name, more=more)[:length]), nothing)
        except Unfit:
            continue
        assert made.seconds < 2.5


def test_too_many_pixels_are_refused_from_the_header(tmp_path, settings):
    settings.VIDEO_MAX_PIXELS = 60 * 40
    with pytest.raises(Unfit, match="too_many_pixels"):
        probe(source(tmp_path, video()))


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


def test_what_is_too_long_is_refused(tmp_path, settings):
    settings.VIDEO_MAX_SECONDS = 1
    with pytest.raises(Unfit, match="too_long"):
        probe(source(tmp_path, video(seconds=4)))


def test_a_duration_that_is_not_told_is_found_out(program, tmp_path, settings):
    """As of a recording that was written to a pipe; ffmpeg stops soon after the limit."""
    settings.VIDEO_MAX_SECONDS = 1
    data = made(
        "live.mkv", "-f", "lavfi", "-i", "testsrc=duration=30:size=64x48:rate=10", "-f", "matroska", "-live", "1",
    )  # fmt: skip
    path = source(tmp_path, data)
    assert probe(path).seconds == 0
    with pytest.raises(Unfit, match="too_long"):
        transcode(path, nothing)


def test_what_takes_too_long_is_stopped_and_the_lease_is_renewed(tmp_path, settings, monkeypatch):
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.05)
    renewed = []
    data = video(seconds=30, size="640x480")
    settings.VIDEO_TRANSCODE_SECONDS = 0.3
    with pytest.raises(Unfit, match="too_slow"):
        transcode(source(tmp_path, data), lambda: renewed.append(1))
    assert renewed


def test_a_lost_lease_stops_the_work(tmp_path, monkeypatch):
    class LostError(Exception):
        pass

    def lost():
        raise LostError

    monkeypatch.setattr(module, "RENEW_SECONDS", 0.05)
    with pytest.raises(LostError):
        transcode(source(tmp_path, video(seconds=30, size="640x480")), lost)


def test_noise_is_refused(program, tmp_path):
    for head in (b"\x00\x00\x00\x18ftypmp42", b"\x1aE\xdf\xa3", b"OggS", b"ID3", b"fLaC"):
        with pytest.raises(Unfit):
            transcode(source(tmp_path, head + os.urandom(20_000)), nothing)


# -- which ffmpeg ----------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Puts a program in the distribution's place; there is none before."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))

    def install(script):
        path = programs / "ffmpeg"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    for cached in (module.ffmpeg_path, module._programs):
        cached.cache_clear()
    yield install
    for cached in (module.ffmpeg_path, module._programs):
        cached.cache_clear()


def test_without_the_distributions_ffmpeg_the_one_of_the_wheel_works(installed, tmp_path):
    assert is_available()
    assert ffmpeg_path("") == module._in_wheel()
    assert codecs(transcode(source(tmp_path, video()), nothing).path) == ["h264", "aac"]


def test_the_distributions_ffmpeg_is_preferred(installed):
    theirs = Path(installed(""))
    theirs.unlink()
    theirs.symlink_to(module._in_wheel())
    assert ffmpeg_path("") == str(theirs)


def test_one_that_makes_no_h264_is_passed_over(installed):
    """As Fedora's, or one whose libraries the confined process may not read."""
    installed("exit 8")
    assert ffmpeg_path("") == module._in_wheel()


def test_one_that_does_not_come_to_an_end_is_passed_over(installed, monkeypatch):
    monkeypatch.setattr(module, "TRIAL_SECONDS", 0.1)
    installed("exec /bin/sleep 60")
    assert ffmpeg_path("") == module._in_wheel()


def test_the_one_that_the_setting_names_is_the_only_one(installed, tmp_path, settings):
    installed("exit 0")
    settings.FFMPEG = module._in_wheel()
    assert ffmpeg_path(settings.FFMPEG) == settings.FFMPEG
    settings.FFMPEG = "no-such-program"
    assert not is_available()
    with pytest.raises(Unfit, match="unavailable"):
        probe(source(tmp_path, b"ftyp"))


def test_without_any_nothing_is_available(installed, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    assert not is_available()
    assert ffmpeg_path("") is None


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
