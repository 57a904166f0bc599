"""Uploaded pictures: decoded, checked and written anew, so that nothing of the original file survives but pixels."""

import secrets
import warnings
from dataclasses import dataclass
from io import BytesIO
from typing import IO

from django.conf import settings
from django.core.files.base import ContentFile
from django.utils.translation import gettext as _
from PIL import Image, ImageOps, UnidentifiedImageError

from apps.refusals import Invalid

FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
MAX_PIXELS = 25_000_000
AVATAR_SIDE = 400
HEADER_SIZE = (1500, 500)


Box = tuple[float, float, float, float]
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
    return _fitted(upload, (AVATAR_SIDE, AVATAR_SIDE), field="avatar")


def header_file(upload: IO[bytes] | Cropped) -> "ContentFile[bytes]":
    """A WebP of 1500 x 500 pixels of an uploaded picture, likewise."""
    return _fitted(upload, HEADER_SIZE, field="header")


def _fitted(
    upload: IO[bytes] | Cropped, size: tuple[int, int], *, field: str
) -> "ContentFile[bytes]":
    wanted = upload if isinstance(upload, Cropped) else Cropped(upload)
    try:
        return _written_anew(wanted, size)
    except Invalid as refusal:
        raise Invalid(refusal.message, code=refusal.code, errors={field: refusal.message}) from None


def _written_anew(wanted: Cropped, size: tuple[int, int]) -> "ContentFile[bytes]":
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            picture = _decoded(wanted.file)
        except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError,
                Image.DecompressionBombWarning):  # fmt: skip
            raise _unfit(
                _("This file is not a picture we can read. Use JPEG, PNG, WebP or GIF.")
            ) from None
    upright = ImageOps.exif_transpose(picture).convert("RGB")
    fitted = ImageOps.fit(upright.crop(_pixels(wanted.box, upright.size)), size)
    buffer = BytesIO()
    fitted.save(buffer, "WEBP", quality=85)
    return ContentFile(buffer.getvalue(), name=f"{secrets.token_hex(12)}.webp")


def _pixels(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The edges in pixels; something is always left between them."""
    (width, height), (left, upper, right, lower) = size, box
    across = min(round(left * width), width - 1), max(round(right * width), 1)
    down = min(round(upper * height), height - 1), max(round(lower * height), 1)
    return across[0], down[0], max(across[1], across[0] + 1), max(down[1], down[0] + 1)


def _decoded(upload: IO[bytes]) -> Image.Image:
    data = upload.read(settings.AVATAR_MAX_BYTES + 1)
    if len(data) > settings.AVATAR_MAX_BYTES:
        raise _unfit(_("This picture is too large. 4 MB is the most."))
    picture = Image.open(BytesIO(data), formats=FORMATS)
    if (
        picture.width * picture.height > MAX_PIXELS
    ):  # known from the header, before anything is decoded
        raise _unfit(_("This picture has too many pixels. 25 million is the most."))
    picture.load()
    return picture


def _unfit(message: str) -> Invalid:
    return Invalid(message, code="bad_picture")
