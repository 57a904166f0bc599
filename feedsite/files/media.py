"""Serves uploaded files, with headers that keep browsers
from treating them as anything but pictures.

PostgreSQL decides each time whether a file may be shown: not after its post was deleted, nor while
its owner is suspended. A browser may cache what its user has seen; shared caches have to revalidate
after a minute.
"""

from pathlib import PurePosixPath
from posixpath import normpath

from django.core.exceptions import SuspiciousOperation
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from apps.media.addresses import LIFETIME_SECONDS, is_restricted, may_be_shown
from apps.posts.actions.attachments import is_served

TYPES = {".webp": "image/webp", ".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif"}
NAME_MAX_CHARACTERS = 100  # of the column; a longer name is an error of the file system
SHARED_SECONDS = 60  # how long shared caches may serve a deleted picture
PUBLIC = f"public, max-age={365 * 24 * 3600}, s-maxage={SHARED_SECONDS}, immutable"


@require_safe
def media_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """A stored picture. Names are random and never reused, so
    browsers cache it for a year; a restricted one for a day.
    """
    content_type = TYPES.get(PurePosixPath(name).suffix)
    is_indirect = normpath(name) != name  # the first folder decides who may see a file
    if content_type is None or len(name) > NAME_MAX_CHARACTERS or is_indirect:
        raise Http404
    until, key = request.GET.get("until", ""), request.GET.get("key", "")
    if not (may_be_shown(name, until=until, key=key) and is_served(name)):
        raise Http404
    tag = quote_etag(name)  # the same name is the same picture
    if (not_modified := get_conditional_response(request, etag=tag)) is not None:
        return _with_headers(not_modified, name, tag)
    try:
        file = default_storage.open(name)
    except (FileNotFoundError, IsADirectoryError, SuspiciousOperation):
        raise Http404 from None
    return _with_headers(FileResponse(file, content_type=content_type), name, tag)


def _with_headers(response: HttpResponseBase, name: str, tag: str) -> HttpResponseBase:
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = (
        f"private, max-age={LIFETIME_SECONDS}" if is_restricted(name) else PUBLIC
    )
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    # For canvas in browser clients (`crossorigin=anonymous`); on every response, so one cached copy
    # serves every origin.
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
