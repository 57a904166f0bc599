"""Pictures that strangers send are decoded by a process that can do nothing else (`apps.media.pixels`), never in this one."""

import subprocess
import sys
from collections.abc import Sequence

from django.conf import settings
from django.utils.translation import gettext as _

from apps.errors import Invalid
from apps.media.pixels import TOO_LARGE

TIMEOUT_SECONDS = 25.0
# One thread: the arithmetic is small, and threads take address space.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def decoded(program: str, data: bytes, *, arguments: Sequence[str] = (), field: str) -> bytes:
    """What a program, named by its module, makes of a file; Invalid, about `field`, when it is no fit picture."""
    command = [sys.executable, "-s", "-E", "-m", program, *arguments]
    try:
        done = subprocess.run(  # noqa: S603 -- a constant and numbers
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
    if done.returncode == TOO_LARGE:
        raise unfit(_("This picture has too many pixels. 25 million is the most, 12 million of a WebP or of all frames of a moving one."), field)  # fmt: skip
    if done.returncode != 0:
        raise _unreadable(field)
    return done.stdout


def unfit(message: str, field: str) -> Invalid:
    """A refusal of an uploaded file."""
    return Invalid(message, code="bad_picture", errors={field: message})


def _unreadable(field: str) -> Invalid:
    return unfit(_("This file is not a picture we can read. Use JPEG, PNG, WebP or GIF."), field)
