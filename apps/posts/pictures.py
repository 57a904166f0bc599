"""Pictures that strangers send, decoded and written anew by a process that can do nothing else (`reencoding`)."""

import json
import subprocess
import sys
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from apps.refusals import Invalid

TIMEOUT_SECONDS = 25.0
TOO_LARGE = 4  # its exit code for more pixels than it takes; all others are for what it cannot read
# One thread: the arithmetic is small, and threads take address space.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A picture fit to be served, as WebP: its bytes, those of its preview, its size in pixels, its BlurHash."""

    data: bytes
    preview: bytes
    width: int
    height: int
    blurhash: str


def rewritten(data: bytes) -> Rewritten:
    """A JPEG, PNG, WebP or GIF written anew: upright, at most 2,048 pixels, without metadata. Invalid when it is unfit."""
    command = [sys.executable, "-s", "-E", "-m", "apps.posts.reencoding"]
    try:
        done = subprocess.run(  # noqa: S603 -- a constant
            command,
            input=data,
            capture_output=True,
            check=False,
            cwd=settings.BASE_DIR,
            env=ENVIRONMENT,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise _unreadable() from None
    if done.returncode == TOO_LARGE:
        raise unfit(_("This picture has too many pixels. 25 million is the most, 12 million of a WebP or of all frames of a moving one."))  # fmt: skip
    if done.returncode != 0:
        raise _unreadable()
    line, _newline, parts = done.stdout.partition(b"\n")
    facts = json.loads(line)
    (width, height), (length, _rest) = facts["size"], facts["bytes"]
    return Rewritten(parts[:length], parts[length:], width, height, facts["blurhash"])


def _unreadable() -> Invalid:
    return unfit(_("This file is not a picture we can read. Use JPEG, PNG, WebP or GIF."))


def unfit(message: str) -> Invalid:
    """A refusal of an uploaded file."""
    return Invalid(message, code="bad_picture", errors={"file": message})
