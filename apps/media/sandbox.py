"""Decodes uploaded pictures in a restricted subprocess (`apps.media.pixels`)."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from apps.errors import Invalid, invalid
from apps.media.sizes import TOO_LARGE

PICTURE_TYPES = [
    "image/jpeg",
    "image/png",
    "image/webp",
    "image/gif",
    "image/avif",
    "image/heic",
    "image/heif",
]
TIMEOUT_SECONDS = 25.0
# One thread, because the arrays are small, and every thread takes address space.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class ReencodedPicture:
    """A picture as WebP, its preview, and its size in pixels."""

    data: bytes
    preview: bytes
    width: int
    height: int
    blurhash: str
    moves: bool = False


def reencode_picture(data: bytes) -> ReencodedPicture:
    """Re-encode a picture as WebP, upright, without metadata; stills at most 2,048 pixels a side. Raises Invalid."""
    output = run_decoder("apps.media.reencode", data, field="file")
    header, _newline, pictures = output.partition(b"\n")
    facts = json.loads(header)
    (width, height), (length, _rest) = facts["size"], facts["bytes"]
    return ReencodedPicture(
        pictures[:length], pictures[length:], width, height, facts["blurhash"], facts["moves"]
    )


def run_decoder(module: str, data: bytes, *, arguments: Sequence[str] = (), field: str) -> bytes:
    """Run a decoding program on a file and return its output. If it fails, raises Invalid for `field`."""
    command = [sys.executable, "-s", "-E", "-m", module, *arguments]
    try:
        result = subprocess.run(  # noqa: S603 -- a constant and numbers
            command,
            input=data,
            capture_output=True,
            check=False,
            cwd=settings.BASE_DIR,
            env=ENVIRONMENT,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise _unreadable(field) from None
    if result.returncode == TOO_LARGE:
        text = _(
            "This picture has too many pixels. The maximum is 25 million; for WebP, AVIF and all "
            "frames of an animation together, it is 12 million."
        )
        raise bad_picture(text, field)
    if result.returncode != 0:
        raise _unreadable(field)
    return result.stdout


def bad_picture(message: str, field: str) -> Invalid:
    return invalid(field, message, "bad_picture")


def _unreadable(field: str) -> Invalid:
    return bad_picture(
        _("This file is not a picture we can read. Use JPEG, PNG, WebP, GIF, AVIF or HEIC."), field
    )
