"""Limits for request bodies: size, and time to arrive.

`feedsite.server.adapter` reads a body before its request occupies a thread. If it is refused, Django gets the reason in
the request's environment, and answers with its own texts, headers and language.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from apps.errors import DomainError

UNREAD = "feedsite.unread_body"  # key of the environment, with the status as value
TOO_LARGE, TOO_SLOW, NO_LENGTH = (
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.LENGTH_REQUIRED,
)


class BodyRejected(DomainError):
    pass


@dataclass(frozen=True, slots=True)
class Body:
    """An announced body: `length` in bytes, `seconds` that it may take; `refused`: the status that refuses it, or 0."""

    length: int
    seconds: float = 0
    refused: int = 0


EMPTY_BODY = Body(0)


def announced(headers: Mapping[str, str], path: str) -> Body:
    """The body that the headers (names in lower case) of a request to this path announce.

    A body without a length is refused: its end could not be distinguished from a broken connection.
    """
    if "transfer-encoding" in headers:
        return Body(0, refused=NO_LENGTH)
    text = headers.get("content-length", "0")
    if text == "0":
        return EMPTY_BODY
    if not (text.isascii() and text.isdecimal()):
        return Body(0, refused=HTTPStatus.BAD_REQUEST)
    length = int(text)
    is_upload = headers.get("content-type", "").startswith("multipart/form-data")
    maximum = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if is_upload:
        maximum = settings.UPLOAD_MAX_BYTES_AT.get(path, settings.UPLOAD_MAX_BYTES)
    if length > maximum:
        return Body(length, refused=TOO_LARGE)
    seconds = settings.BODY_SECONDS
    if is_upload:  # a slow upload occupies a connection and a file, not a thread
        seconds += length / settings.UPLOAD_BYTES_PER_SECOND
    return Body(length, seconds)


def error_of(request: HttpRequest) -> BodyRejected | None:
    """The reason why the body was not read, or None."""
    status = request.META.get(UNREAD)
    if status is None:
        return None
    texts = {
        TOO_LARGE: ("too_large", _("This is too large to be taken.")),
        TOO_SLOW: ("too_slow", _("The request took too long to arrive.")),
        NO_LENGTH: ("length_required", _("The request does not say how long it is.")),
    }
    code, text = texts.get(status, ("bad_request", _("The request is broken.")))
    refusal = BodyRejected(text, code=code)
    refusal.status = status
    return refusal
