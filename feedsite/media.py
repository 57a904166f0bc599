"""Uploaded files, with headers that keep a browser from treating them as anything but what they are."""

from pathlib import PurePosixPath

from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest
from django.views.decorators.http import require_safe

TYPES = {".webp": "image/webp", ".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif"}
NAME_MAX_CHARACTERS = 100  # of the column; a file system refuses long names in its own way
YEAR = 365 * 24 * 3600


@require_safe
def media_file(_request: HttpRequest, name: str) -> FileResponse:
    """A stored picture. Names are random and never used twice, so it may be kept for a year."""
    kind = TYPES.get(PurePosixPath(name).suffix)
    if kind is None or len(name) > NAME_MAX_CHARACTERS:
        raise Http404
    try:
        stored = default_storage.open(name)
    except (FileNotFoundError, IsADirectoryError, SuspiciousFileOperation):
        raise Http404 from None
    response = FileResponse(stored, content_type=kind)
    response.headers["Cache-Control"] = f"public, max-age={YEAR}, immutable"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
