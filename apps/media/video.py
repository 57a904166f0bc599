"""Probes and transcodes video and sound with ffmpeg, in processes that `apps.media.confine` restricts.

Uploads are never served as they are: video becomes H.264 and AAC in MP4, and sound becomes AAC in M4A, both without
metadata and with the index at the front, so that browsers can start and seek. The site runs the ffmpeg named in the
setting FFMPEG, or the distribution's, or the one in the wheel imageio-ffmpeg; without any, `is_available` is False.
"""

import math
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.media.sandbox import ENVIRONMENT, ReencodedPicture, reencode_picture

VIDEO_TYPES = ["video/mp4", "video/quicktime", "video/webm", "video/x-matroska"]
AUDIO_TYPES = [
    "audio/mpeg", "audio/mp4", "audio/aac", "audio/ogg", "audio/webm", "audio/flac", "audio/wav",
]  # fmt: skip
# Demuxers that read a single file: no playlists (hls, dash, concat), devices, or patterns of picture names.
DEMUXERS = "mov,matroska,webm,ogg,mp3,aac,flac,wav"
DECODERS = (
    "h264", "hevc", "vp8", "vp9", "av1", "libdav1d", "libaom-av1", "mpeg4", "aac", "aac_fixed", "mp3", "mp3float",
    "opus", "libopus", "vorbis", "flac", "alac", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s32le", "pcm_f32le",
    "pcm_u8",
)  # fmt: skip
# STREAM matches a stream in the framecrc output, and DURATION the duration of the file in ffmpeg's log.
STREAM = re.compile(
    r"^#media_type \d+: (\w+)\n#codec_id \d+: (\S+)\n(?:#dimensions \d+: (\d+)x(\d+)\n)?",
    re.MULTILINE,
)
DURATION = re.compile(r"^  Duration: (\d+):(\d\d):(\d\d\.\d+)", re.MULTILINE)
LOOP_SECONDS = 30.0  # the longest video without sound that plays in a loop
MIN_SIDE = 16  # pixels; smaller videos are refused
MAX_FRAME_RATE = 60
SLACK_SECONDS = 1.0  # for containers that round their duration up
PROBE_SECONDS, POSTER_SECONDS, TRIAL_SECONDS = 15.0, 60.0, 15.0
RENEW_SECONDS = 5.0  # between two calls of `renew`
THREADS = 2
SOURCE, VIDEO_FILE, AUDIO_FILE = "source", "out.mp4", "out.m4a"

# The first bytes of Matroska, Ogg, FLAC, and MP3 with a tag. MP4 and its relatives have `ftyp` at byte 4.
SIGNATURES = (b"\x1aE\xdf\xa3", b"OggS", b"fLaC", b"ID3")
PICTURE_BRANDS = (
    b"avif",
    b"avis",
    b"heic",
    b"heim",
    b"heis",
    b"heix",
    b"hevc",
    b"hevx",
    b"mif1",
    b"msf1",
)


class Unfit(Exception):
    """The upload cannot be prepared, ffmpeg is missing, or it runs too long. `explained` describes the `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Probe:
    """The first decodable stream of video and of sound, each by its number among streams of its kind, or None.

    `seconds` is 0 if the file does not state its duration.
    """

    video: int | None
    audio: int | None
    seconds: float
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Transcoded:
    """A file to serve. `poster` is the picture shown before a video plays; None for sound.

    `loops` is True for a short video without a sound track, which pages play like an animated picture.
    """

    path: Path
    seconds: float
    width: int
    height: int
    poster: ReencodedPicture | None
    loops: bool


def explained(reason: str) -> str:
    """The reason why an upload was refused or could not be prepared, in the reader's language."""
    minutes, megabytes = settings.VIDEO_MAX_SECONDS // 60, settings.VIDEO_MAX_BYTES // 1024**2
    too_long = ngettext(
        "This is too long. The maximum is %(count)d minute.",
        "This is too long. The maximum is %(count)d minutes.",
        minutes,
    )
    texts = {
        "too_long": too_long % {"count": minutes},
        "too_large": _("This file is too large. The maximum is %(count)d MB.")
        % {"count": megabytes},
        "too_many_pixels": _("This video has too many pixels. The maximum is 3840 x 2160."),
        "too_slow": _("This took too long to prepare. Try a shorter or smaller file."),
        "unavailable": _("This site does not accept video or audio."),
    }
    unreadable = _("This file is not video or audio we can read. Use MP4, WebM, MP3, OGG or WAV.")
    return texts.get(reason, unreadable)


def is_available() -> bool:
    """Whether an ffmpeg was found."""
    return bool(_programs(settings.FFMPEG))


@lru_cache
def ffmpeg_path(named: str) -> str | None:
    """The absolute path of the ffmpeg to use; None if there is none.

    A program without a required encoder or filter is skipped (Fedora's cannot encode H.264), except the last one, which
    is used untested.
    """
    programs = _programs(named)
    able = (program for program in programs[:-1] if _makes_video(program))
    return next(able, programs[-1] if programs else None)


@lru_cache
def _programs(named: str) -> list[str]:
    """The programs that exist: the one in the setting if it is set, else the distribution's and then the wheel's."""
    wanted = [named] if named else ["ffmpeg", _in_wheel()]
    return [str(Path(path).absolute()) for name in wanted if (path := shutil.which(name))]


def _in_wheel() -> str:
    """The path of the ffmpeg in the wheel imageio-ffmpeg; "" if the wheel is not installed."""
    wheel = find_spec("imageio_ffmpeg")
    places = wheel.submodule_search_locations if wheel else None
    return next(
        (str(file) for place in places or () for file in Path(place).glob("binaries/ffmpeg-*")), ""
    )


def _makes_video(program: str) -> bool:
    """Whether the program, confined, can use the encoder and the filters that uploads need."""
    arguments = [
        "-nostdin", "-v", "quiet", "-f", "lavfi", "-i", "color=size=32x32:duration=0.1",
        *_video_arguments(Probe(video=0, audio=None, seconds=0)), "-f", "null", "-",
    ]  # fmt: skip
    with TemporaryDirectory() as folder:
        try:
            _confined(program, arguments, folder=Path(folder), seconds=TRIAL_SECONDS)
        except Unfit:
            return False
    return True


def looks_like_media(head: bytes, content_type: str) -> bool:
    """Whether to treat an upload as video or sound, judged by its first bytes and the type that its sender states."""
    if head[4:8] == b"ftyp":
        return head[8:12] not in PICTURE_BRANDS
    is_wav = head.startswith(b"RIFF") and head[8:12] == b"WAVE"
    if is_wav or head.startswith(SIGNATURES):
        return True
    return content_type.startswith(("video/", "audio/")) and not _is_picture(head)


def _is_picture(head: bytes) -> bool:
    return head.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")) or head[8:12] == b"WEBP"


def probe(path: Path) -> Probe:
    """Find the streams of a file. Raises Unfit if none can be decoded, or the file exceeds the site's limits."""
    found = _described(path)
    if found.seconds > settings.VIDEO_MAX_SECONDS + SLACK_SECONDS:
        raise Unfit("too_long")
    if found.video is not None:
        if found.width * found.height > settings.VIDEO_MAX_PIXELS:
            raise Unfit("too_many_pixels")
        if min(found.width, found.height) < MIN_SIDE:
            raise Unfit("unreadable")
    return found


def transcode(path: Path, renew: Callable[[], None]) -> Transcoded:
    """Write the file to serve next to `path`. Raises Unfit, Invalid if the poster fails, and any error of `renew`.

    While ffmpeg transcodes, `renew` is called every few seconds: it extends the worker's lease. The duration of the
    result is checked again, because a container may lie about it.
    """
    source = probe(path)
    is_video = source.video is not None
    out = path.parent / (VIDEO_FILE if is_video else AUDIO_FILE)
    arguments = _video_arguments(source) if is_video else _audio_arguments(source)
    _ffmpeg(path, arguments, out, seconds=settings.VIDEO_TRANSCODE_SECONDS, renew=renew)
    if not out.is_file() or out.stat().st_size == 0:
        raise Unfit("unreadable")
    made = _described(out)
    if made.seconds > settings.VIDEO_MAX_SECONDS + SLACK_SECONDS:
        raise Unfit("too_long")
    if (made.video is None) == is_video or made.seconds <= 0:
        raise Unfit("unreadable")
    poster = _poster(out, made.seconds) if is_video else None
    loops = is_video and made.audio is None and made.seconds <= LOOP_SECONDS
    return Transcoded(out, made.seconds, made.width, made.height, poster, loops)


def _described(path: Path) -> Probe:
    """The streams of a file, read from ffmpeg's framecrc output, whose header has been stable for years."""
    output, log = _run(
        [
            "-nostdin", "-hide_banner", "-v", "info", *_reading(), "-i", f"file:{path.name}", "-map", "0:V?",
            "-map", "0:a?", "-c", "copy", "-t", "0", "-f", "framecrc", "pipe:1",
        ],
        folder=path.parent,
        seconds=PROBE_SECONDS,
    )  # fmt: skip
    streams = STREAM.findall(output.decode())
    videos = [stream for stream in streams if stream[0] == "video"]
    video = _decodable(videos)
    audio = _decodable([stream for stream in streams if stream[0] == "audio"])
    if video is None and audio is None:
        raise Unfit("unreadable")
    width, height = videos[video][2:] if video is not None else (0, 0)
    return Probe(
        video, audio, _duration(log.decode(errors="replace")), int(width or 0), int(height or 0)
    )


def _decodable(streams: Sequence[tuple[str, str, str, str]]) -> int | None:
    return next((number for number, stream in enumerate(streams) if stream[1] in DECODERS), None)


def _duration(log: str) -> float:
    found = DURATION.search(log)
    if found is None:
        return 0.0
    hours, minutes, seconds = map(float, found.groups())
    return hours * 3600 + minutes * 60 + seconds


def _reading() -> list[str]:
    """Options for reading: only one local file, in a known format."""
    return [
        "-protocol_whitelist", "file", "-format_whitelist", DEMUXERS, "-codec_whitelist",
        ",".join(DECODERS),
    ]  # fmt: skip


def _video_arguments(source: Probe) -> list[str]:
    longer, shorter = settings.VIDEO_SIZE
    scale = (
        f"scale=w='min(iw,if(gte(iw,ih),{longer},{shorter}))':h='min(ih,if(gte(iw,ih),{shorter},{longer}))'"
        ":force_original_aspect_ratio=decrease:force_divisible_by=2"
    )
    sound = [] if source.audio is None else ["-map", f"0:a:{source.audio}", *_AUDIO]
    return [
        "-map", f"0:V:{source.video}", "-vf", scale, "-c:v", "libx264", "-preset", "veryfast", "-crf", "23",
        "-maxrate", "3M", "-bufsize", "6M", "-pix_fmt", "yuv420p", "-fpsmax", str(MAX_FRAME_RATE), *sound,
    ]  # fmt: skip


_AUDIO = ["-c:a", "aac", "-b:a", "128k", "-ac", "2", "-ar", "48000"]


def _audio_arguments(source: Probe) -> list[str]:
    return ["-map", f"0:a:{source.audio}", "-vn", *_AUDIO]


def _ffmpeg(
    path: Path, arguments: Sequence[str], out: Path, *, seconds: float, renew: Callable[[], None]
) -> None:
    most = str(settings.VIDEO_MAX_SECONDS + 2 * SLACK_SECONDS)
    _run(
        [
            "-nostdin", "-v", "error", "-y", "-threads", str(THREADS), *_reading(), *_few_pixels(), "-t", most,
            "-i", f"file:{path.name}", *arguments, "-sn", "-dn", "-map_metadata", "-1", "-map_metadata:s", "-1",
            "-map_chapters", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact",
            "-threads", str(THREADS), "-movflags", "+faststart", "-f", "mp4", f"file:{out.name}",
        ],
        folder=path.parent,
        seconds=seconds,
        renew=renew,
    )  # fmt: skip


def _few_pixels() -> list[str]:
    """Options that bound the decoders, in case frames are larger than the header states.

    The bound is twice the site's limit, because decoders round the sides up.
    """
    return ["-max_pixels", str(2 * settings.VIDEO_MAX_PIXELS)]


def _poster(path: Path, seconds: float) -> ReencodedPicture:
    """A frame from the first second, re-encoded like an uploaded picture."""
    for start in (min(1.0, seconds / 3), 0.0):
        arguments = [
            "-nostdin", "-v", "error", *_reading(), "-ss", f"{start:.3f}", "-i", f"file:{path.name}",
            "-map", "0:V:0", "-frames:v", "1", "-c:v", "png", "-f", "image2pipe", "pipe:1",
        ]  # fmt: skip
        png, _log = _run(arguments, folder=path.parent, seconds=POSTER_SECONDS)
        if png:
            return reencode_picture(png)
    raise Unfit("unreadable")


def _run(
    arguments: Sequence[str],
    *,
    folder: Path,
    seconds: float,
    renew: Callable[[], None] = lambda: None,
) -> tuple[bytes, bytes]:
    """Run ffmpeg; returns its output and its log. Raises Unfit, and any error that `renew` raises."""
    program = ffmpeg_path(settings.FFMPEG)
    if program is None:
        raise Unfit("unavailable")
    return _confined(program, arguments, folder=folder, seconds=seconds, renew=renew)


def _confined(
    program: str,
    arguments: Sequence[str],
    *,
    folder: Path,
    seconds: float,
    renew: Callable[[], None] = lambda: None,
) -> tuple[bytes, bytes]:
    """Run a program confined; returns its output and log. Raises Unfit if it fails or takes longer than `seconds`."""
    cpu_seconds = str(math.ceil(seconds) * THREADS)
    command = [
        sys.executable, "-s", "-E", "-m", "apps.media.confine", str(folder), cpu_seconds, program, *arguments,
    ]  # fmt: skip
    output = log = b""
    until = time.monotonic() + seconds
    with subprocess.Popen(  # noqa: S603 -- constants, numbers, and paths of this site
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=settings.BASE_DIR,
        env=ENVIRONMENT,
    ) as process:
        try:
            while True:
                try:
                    output, log = process.communicate(timeout=min(RENEW_SECONDS, seconds))
                    break
                except subprocess.TimeoutExpired:
                    if time.monotonic() > until:
                        raise Unfit("too_slow") from None
                    renew()
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise Unfit("unreadable")
    return output, log
