"""Uploaded files, with headers that keep a browser from treating them as anything but what they are.

Whether a file is shown is asked of PostgreSQL each time: it ends with its post, and while its owner is suspended. A browser
may keep what its user has seen; caches that many share have to ask again after a minute.
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
NAME_MAX_CHARACTERS = 100  # of the column; a file system refuses long names in its own way
SHARED_SECONDS = 60  # how long a shared cache may go on showing what is gone here
PUBLIC = f"public, max-age={365 * 24 * 3600}, s-maxage={SHARED_SECONDS}, immutable"


@require_safe
def media_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """A stored picture. Names are random and never used twice, so a browser may keep it for a year; a restricted one for a day."""
    kind = TYPES.get(PurePosixPath(name).suffix)
    roundabout = normpath(name) != name  # the folder says who may see a file
    if kind is None or len(name) > NAME_MAX_CHARACTERS or roundabout:
        raise Http404
    until, key = request.GET.get("until", ""), request.GET.get("key", "")
    if not (may_be_shown(name, until=until, key=key) and is_served(name)):
        raise Http404
    tag = quote_etag(name)  # the same name is the same picture
    if (unchanged := get_conditional_response(request, etag=tag)) is not None:
        return _labelled(unchanged, name, tag)
    try:
        stored = default_storage.open(name)
    except (FileNotFoundError, IsADirectoryError, SuspiciousOperation):
        raise Http404 from None
    return _labelled(FileResponse(stored, content_type=kind), name, tag)


def _labelled(response: HttpResponseBase, name: str, tag: str) -> HttpResponseBase:
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = (
        f"private, max-age={LIFETIME_SECONDS}" if is_restricted(name) else PUBLIC
    )
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    # Clients in browsers draw with it (`crossorigin=anonymous`). Always said, so that one copy serves every origin.
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
