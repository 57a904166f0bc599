"""Video and sound as people upload them, made with the ffmpeg that the site uses."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from apps.media.video import ffmpeg_path

CANARY = "secret canary"
CAPTIONS = b"WEBVTT\n\n00:00.000 --> 00:01.000\nA river is heard.\n"


@cache
def made(name, *arguments):
    """The bytes of a file that ffmpeg writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        command = [str(ffmpeg_path("")), "-nostdin", "-v", "error", *arguments, str(path)]
        subprocess.run(command, check=True, timeout=120)
        return path.read_bytes()


def video(name="a.mp4", *, seconds=2, size="64x48", sound=True, more=()):
    """A moving test picture with a tone; its metadata contain CANARY and a location."""
    tone = ["-f", "lavfi", "-i", f"sine=duration={seconds}"] if sound else []
    return made(
        name, "-f", "lavfi", "-i", f"testsrc=duration={seconds}:size={size}:rate=10", *tone,
        "-metadata", f"title={CANARY}", "-metadata", "location=+31.3+120.6/", *more,
    )  # fmt: skip


def sound(name="a.mp3", *, seconds=2):
    return made(
        name, "-f", "lavfi", "-i", f"sine=duration={seconds}", "-metadata", f"title={CANARY}"
    )
