"""Uploaded pictures of profiles: written anew by another process, so that nothing of the original file survives but pixels."""

import secrets
from dataclasses import dataclass
from typing import IO

from django.conf import settings
from django.core.files.base import ContentFile
from django.utils.translation import gettext as _

from apps.media.crop import Box
from apps.media.sandbox import decoded, unfit

AVATAR_SIZE = (400, 400)
HEADER_SIZE = (1500, 500)
WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Cropped:
    """An upload, and the part of it that is wanted: left, upper, right and lower edge as parts of the upright picture."""

    file: IO[bytes]
    box: Box = WHOLE


def box_of(text: str) -> Box:
    """The part that a form names as four numbers; the whole picture for anything else."""
    try:
        left, upper, right, lower = (float(part) for part in text.split(","))
    except ValueError:
        return WHOLE
    fits = 0 <= left < right <= 1 and 0 <= upper < lower <= 1
    return (left, upper, right, lower) if fits else WHOLE


def avatar_file(upload: IO[bytes] | Cropped) -> "ContentFile[bytes]":
    """A square 400-pixel WebP of an uploaded picture, under a random name; Invalid when it is no fit picture.

    Of a part that is not square, and of a whole picture, the middle is taken.
    """
    return _fitted(upload, AVATAR_SIZE, field="avatar")


def header_file(upload: IO[bytes] | Cropped) -> "ContentFile[bytes]":
    """A WebP of 1500 x 500 pixels of an uploaded picture, likewise."""
    return _fitted(upload, HEADER_SIZE, field="header")


def _fitted(
    upload: IO[bytes] | Cropped, size: tuple[int, int], *, field: str
) -> "ContentFile[bytes]":
    wanted = upload if isinstance(upload, Cropped) else Cropped(upload)
    data = wanted.file.read(settings.AVATAR_MAX_BYTES + 1)
    if len(data) > settings.AVATAR_MAX_BYTES:
        raise unfit(_("This picture is too large. 4 MB is the most."), field)
    arguments = [str(number) for number in (*size, *wanted.box)]
    made = decoded("apps.media.crop", data, arguments=arguments, field=field)
    return ContentFile(made, name=f"{secrets.token_hex(12)}.webp")
