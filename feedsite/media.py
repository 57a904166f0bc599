"""Uploaded files, with headers that keep a browser from treating them as anything but what they are."""

from pathlib import PurePosixPath
from posixpath import normpath

from django.core.exceptions import SuspiciousOperation
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest
from django.views.decorators.http import require_safe

from apps.posts.addresses import LIFETIME_SECONDS, is_restricted, may_be_shown

TYPES = {".webp": "image/webp", ".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif"}
NAME_MAX_CHARACTERS = 100  # of the column; a file system refuses long names in its own way
PUBLIC = f"public, max-age={365 * 24 * 3600}, immutable"


@require_safe
def media_file(request: HttpRequest, name: str) -> FileResponse:
    """A stored picture. Names are random and never used twice, so it may be kept for a year; a restricted one for a day."""
    kind = TYPES.get(PurePosixPath(name).suffix)
    roundabout = normpath(name) != name  # the folder says who may see a file
    if kind is None or len(name) > NAME_MAX_CHARACTERS or roundabout:
        raise Http404
    until, key = request.GET.get("until", ""), request.GET.get("key", "")
    if not may_be_shown(name, until=until, key=key):
        raise Http404
    try:
        stored = default_storage.open(name)
    except (FileNotFoundError, IsADirectoryError, SuspiciousOperation):
        raise Http404 from None
    response = FileResponse(stored, content_type=kind)
    response.headers["Cache-Control"] = (
        f"private, max-age={LIFETIME_SECONDS}" if is_restricted(name) else PUBLIC
    )
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    # Clients in browsers draw with it (`crossorigin=anonymous`). Always said, so that one copy serves every origin.
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
