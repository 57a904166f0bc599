"""Uploaded pictures: decoded, checked and written anew, so that nothing of the original file survives but pixels."""

import secrets
import warnings
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


def avatar_file(upload: IO[bytes]) -> "ContentFile[bytes]":
    """A square 400-pixel WebP of an uploaded picture, under a random name; Invalid when it is no fit picture."""
    return _fitted(upload, (AVATAR_SIDE, AVATAR_SIDE), field="avatar")


def header_file(upload: IO[bytes]) -> "ContentFile[bytes]":
    """A WebP of 1500 x 500 pixels of an uploaded picture, likewise."""
    return _fitted(upload, HEADER_SIZE, field="header")


def _fitted(upload: IO[bytes], size: tuple[int, int], *, field: str) -> "ContentFile[bytes]":
    try:
        return _written_anew(upload, size)
    except Invalid as refusal:
        raise Invalid(refusal.message, code=refusal.code, errors={field: refusal.message}) from None


def _written_anew(upload: IO[bytes], size: tuple[int, int]) -> "ContentFile[bytes]":
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            picture = _decoded(upload)
        except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError,
                Image.DecompressionBombWarning):  # fmt: skip
            raise _unfit(
                _("This file is not a picture we can read. Use JPEG, PNG, WebP or GIF.")
            ) from None
    fitted = ImageOps.fit(ImageOps.exif_transpose(picture).convert("RGB"), size)
    buffer = BytesIO()
    fitted.save(buffer, "WEBP", quality=85)
    return ContentFile(buffer.getvalue(), name=f"{secrets.token_hex(12)}.webp")


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
