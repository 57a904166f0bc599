"""Limits for request bodies: their size, and the time that they take to arrive.

`feedsite.server.handler` reads a body before its request takes a thread. If a body is not read, the reason is passed to
Django in the request's environment, so that the response has the site's texts, headers and language.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from apps.errors import DomainError

UNREAD = "feedsite.unread_body"  # a key in `request.META`; its value is the status of the response
TOO_LARGE, TOO_SLOW, NO_LENGTH = (
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.LENGTH_REQUIRED,
)
# Larger bodies are spooled to disk, so that slow senders occupy little memory.
MEMORY_BYTES = 64 * 1024


class BodyRejected(DomainError):
    pass


@dataclass(frozen=True, slots=True)
class Body:
    """An announced body: its length in bytes, and the number of seconds that it may take to arrive."""

    length: int
    seconds: float


def announced(environ: Mapping[str, Any]) -> Body | HTTPStatus | None:
    """The body that the headers of a request announce; the status if it is refused; None if there is no body.

    A body without a length is refused, because granian does not say whether a chunked body is complete.
    """
    if "HTTP_TRANSFER_ENCODING" in environ:
        return NO_LENGTH
    text = environ.get("CONTENT_LENGTH", "0")
    if text == "0":
        return None
    if not (text.isascii() and text.isdecimal()):
        return HTTPStatus.BAD_REQUEST
    length = int(text)
    is_upload = environ.get("CONTENT_TYPE", "").startswith("multipart/form-data")
    maximum = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if is_upload:
        maximum = settings.UPLOAD_MAX_BYTES_AT.get(environ["PATH_INFO"], settings.UPLOAD_MAX_BYTES)
    if length > maximum:
        return TOO_LARGE
    seconds = settings.BODY_SECONDS
    if is_upload:  # a slow upload occupies a connection and a file, not a thread
        seconds += length / settings.UPLOAD_BYTES_PER_SECOND
    return Body(length, seconds)


async def read(chunks: AsyncIterable[bytes], body: Body) -> IO[bytes] | HTTPStatus | None:
    """The whole body; the status if it is too slow; None if the client disconnects before its end."""
    stream: IO[bytes] = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 -- the caller closes it
    try:
        async with asyncio.timeout(body.seconds):
            async for chunk in chunks:
                stream.write(chunk)
    except TimeoutError:
        stream.close()
        return TOO_SLOW
    if stream.tell() != body.length:
        stream.close()
        return None
    stream.seek(0)
    return stream


def error_of(request: HttpRequest) -> BodyRejected | None:
    """The reason why the body was not read; None if it was read, or if there is none."""
    status = request.META.get(UNREAD)
    if status is None:
        return None
    texts = {
        TOO_LARGE: ("too_large", _("This is too large.")),
        TOO_SLOW: ("too_slow", _("The request took too long to arrive.")),
        NO_LENGTH: ("length_required", _("The request has no Content-Length.")),
    }
    code, text = texts.get(status, ("bad_request", _("The request is malformed.")))
    refusal = BodyRejected(text, code=code)
    refusal.status = status
    return refusal
