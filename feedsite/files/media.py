"""Serves uploaded files, with headers that keep browsers from treating them as anything but media or captions.

PostgreSQL decides at each request whether a file may be shown. A file is not shown after its post was deleted, while
its post is hidden, or while its owner is suspended. Browsers may cache files that their user has seen. Shared caches
must revalidate public files after a minute, and may not store restricted ones.
"""

import re
from http import HTTPStatus
from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from apps.media.addresses import LIFETIME_SECONDS, is_restricted, may_be_shown
from apps.posts.actions.attachments import is_served

TYPES = {
    ".webp": "image/webp",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".gif": "image/gif",
    ".mp4": "video/mp4",
    ".m4a": "audio/mp4",
    ".vtt": "text/vtt; charset=utf-8",
}
PLAYED = (".mp4", ".m4a")  # served with range requests
# The largest response to a range request: players ask for more (RFC 9110, section 15.3.7), and no process holds a whole
# video in memory.
PART_BYTES = 1024 * 1024
RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
# The column's length. Longer names cannot exist, and the file system may raise an error for them.
NAME_MAX_CHARACTERS = 100
SHARED_SECONDS = 60  # how long shared caches may serve a deleted picture
PUBLIC = f"public, max-age={365 * 24 * 3600}, s-maxage={SHARED_SECONDS}, immutable"


@require_safe
def media_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """A stored file.

    Names are random and never reused, so browsers cache public files for a year, and restricted files for a day.
    """
    suffix = PurePosixPath(name).suffix
    content_type = TYPES.get(suffix)
    # a path such as a/../b is refused, because the first folder decides who may see a file
    is_indirect = normpath(name) != name
    if content_type is None or len(name) > NAME_MAX_CHARACTERS or is_indirect:
        raise Http404
    until, key = request.GET.get("until", ""), request.GET.get("key", "")
    if not (may_be_shown(name, until=until, key=key) and is_served(name)):
        raise Http404
    if settings.MEDIA_ACCEL_URL:
        return _left_to_proxy(name, content_type)
    tag = quote_etag(name)  # a file never changes under its name
    if (not_modified := get_conditional_response(request, etag=tag)) is not None:
        return _with_headers(not_modified, name, tag)
    try:
        if suffix in PLAYED and request.headers.get("If-Range", tag) == tag:
            part = _part(name, request.headers.get("Range", ""), content_type)
            if part is not None:
                return _with_headers(part, name, tag)
        file = default_storage.open(name)
    except (FileNotFoundError, IsADirectoryError, SuspiciousOperation):
        raise Http404 from None
    return _with_headers(FileResponse(file, content_type=content_type), name, tag)


def _left_to_proxy(name: str, content_type: str) -> HttpResponseBase:
    """A response without a body. nginx adds the file, with its own ETag, and answers range requests."""
    response = HttpResponse(content_type=content_type)
    response.headers["X-Accel-Redirect"] = f"{settings.MEDIA_ACCEL_URL}{quote(name)}"
    return _with_headers(response, name)


def _part(name: str, header: str, content_type: str) -> HttpResponse | None:
    """206 with at most PART_BYTES from the start of a range, or 416. None unless the header has one valid range."""
    header = header.replace(" ", "")
    match = RANGE.fullmatch(header)
    if match is None or header.endswith("=-"):
        return None
    size = default_storage.size(name)
    first, last = match[1], match[2]
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last), size - 1) if first and last else size - 1
    if first and last and int(last) < int(first):
        return None  # not a valid range: RFC 9110 asks for the whole file
    if start >= size or (not first and int(last) == 0):
        response = HttpResponse(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
        response.headers["Content-Range"] = f"bytes */{size}"
        return response
    stop = min(end + 1, start + PART_BYTES)
    response = HttpResponse(
        _bytes(name, start, stop), status=HTTPStatus.PARTIAL_CONTENT, content_type=content_type
    )
    response.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return response


def _bytes(name: str, start: int, stop: int) -> bytes:
    read_part = getattr(default_storage, "read_part", None)
    if read_part is not None:
        part: bytes = read_part(name, start, stop)
        return part
    with default_storage.open(name) as file:
        file.seek(start)
        return bytes(file.read(stop - start))


def _with_headers(response: HttpResponseBase, name: str, tag: str = "") -> HttpResponseBase:
    if tag:
        response.headers["ETag"] = tag
    response.headers["Cache-Control"] = (
        f"private, max-age={LIFETIME_SECONDS}" if is_restricted(name) else PUBLIC
    )
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    if PurePosixPath(name).suffix in PLAYED:
        response.headers["Accept-Ranges"] = "bytes"
        # a browser that opens a video directly makes a page for it, under this policy
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; media-src 'self'; sandbox"
        )
    # So that browser clients can use pictures in a canvas (`crossorigin=anonymous`). On every response, so that one
    # cached copy serves all origins.
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
