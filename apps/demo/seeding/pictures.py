"""Stores the pictures in `apps/demo/images` like uploads: each post has its own copy."""

from functools import cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from PIL import Image

from apps.media.sizes import PREVIEW_SIDE, fitted_size

IMAGES = Path(__file__).parent.parent / "images"
PREVIEW_QUALITY = 80


class StoredPicture(NamedTuple):
    """The names of the files in the storage, and the size in pixels."""

    file: str
    preview: str
    width: int
    height: int


def store_picture(image: str, name: str) -> StoredPicture:
    """Store a copy of a picture and of its preview under a name."""
    data = (IMAGES / image).read_bytes()
    preview, width, height = _preview(image)
    return StoredPicture(
        _write(f"pictures/{name}.webp", data),
        _write(f"pictures/{name}-preview.webp", preview),
        width,
        height,
    )


def store_avatar(image: str) -> str:
    """Store a copy of an avatar; returns its name in the storage."""
    return _write(f"avatars/demo-{image}", (IMAGES / "avatars" / image).read_bytes())


@cache
def _preview(image: str) -> tuple[bytes, int, int]:
    with Image.open(IMAGES / image) as picture:
        small = picture.resize(fitted_size(*picture.size, PREVIEW_SIDE), Image.Resampling.LANCZOS)
        buffer = BytesIO()
        small.save(buffer, "WEBP", quality=PREVIEW_QUALITY)
        return buffer.getvalue(), *picture.size


def _write(path: str, data: bytes) -> str:
    """Store a file under a fixed name, replacing a file that an interrupted run left behind."""
    default_storage.delete(path)
    return str(default_storage.save(path, ContentFile(data)))
