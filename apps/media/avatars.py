"""Avatars and headers: uploads are cropped and re-encoded in the sandbox; missing avatars are drawn with `PALETTE`."""

import secrets
from dataclasses import dataclass
from typing import IO

from django.conf import settings
from django.core.files.base import ContentFile
from django.utils.translation import gettext as _

from apps.media.sandbox import bad_picture, run_decoder
from apps.media.sizes import Box

AVATAR_SIZE = (400, 400)
HEADER_SIZE = (1500, 500)
WHOLE: Box = (0.0, 0.0, 1.0, 1.0)
# Colours of drawn avatars: a dark background (contrast to white at least 6:1) and a lighter accent.
PALETTE = (
    ("#7A4A1E", "#E3B778"), ("#1F4E79", "#8FB7D9"), ("#2E6B5E", "#9BC8A8"), ("#4A4F1F", "#C9C77E"),
    ("#8C2F4B", "#E7A3A8"), ("#34495E", "#B7C4CF"), ("#6A3B6E", "#D3A9D6"), ("#235B6B", "#93C7D1"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cropped:
    """An upload and its crop: the left, upper, right and lower edges as fractions of the upright picture."""

    file: IO[bytes]
    box: Box = WHOLE


def parse_box(text: str) -> Box:
    """Parse the four numbers of a crop form field. If the text is not a valid box, returns the whole picture."""
    try:
        left, upper, right, lower = (float(part) for part in text.split(","))
    except ValueError:
        return WHOLE
    fits = 0 <= left < right <= 1 and 0 <= upper < lower <= 1
    return (left, upper, right, lower) if fits else WHOLE


def avatar_file(upload: IO[bytes] | Cropped) -> "ContentFile[bytes]":
    """A WebP of 400 x 400 pixels with a random name. Raises Invalid if the upload is too large or unreadable.

    If the box has different proportions, only its middle is used.
    """
    return _fitted(upload, AVATAR_SIZE, field="avatar")


def header_file(upload: IO[bytes] | Cropped) -> "ContentFile[bytes]":
    """A WebP of 1500 x 500 pixels, otherwise like `avatar_file`."""
    return _fitted(upload, HEADER_SIZE, field="header")


def _fitted(
    upload: IO[bytes] | Cropped, size: tuple[int, int], *, field: str
) -> "ContentFile[bytes]":
    crop = upload if isinstance(upload, Cropped) else Cropped(upload)
    data = crop.file.read(settings.AVATAR_MAX_BYTES + 1)
    if len(data) > settings.AVATAR_MAX_BYTES:
        raise bad_picture(_("This picture is too large. The maximum is 4 MB."), field)
    arguments = [str(number) for number in (*size, *crop.box)]
    webp = run_decoder("apps.media.crop", data, arguments=arguments, field=field)
    return ContentFile(webp, name=f"{secrets.token_hex(12)}.webp")
