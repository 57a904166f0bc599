"""What the body of a request may be: how large, and how long it may take to come.

`feedsite.server.adapter` reads it before the request takes a thread or a seat. What it did not read, and why, goes to
Django as a refusal in the request's environment: the answer has its words, headers and language there, and costs no body.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from apps.errors import DomainError

REFUSED = "feedsite.refused"  # in the environment of a request: the status
TOO_LARGE, TOO_SLOW, NO_LENGTH = (
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.LENGTH_REQUIRED,
)


class BodyRejected(DomainError):
    """The body of the request was not read."""


@dataclass(frozen=True, slots=True)
class Body:
    """How many bytes will come, and how many seconds they have; `refused` is 0, or the status for who will not be read."""

    length: int
    seconds: float = 0
    refused: int = 0


EMPTY_BODY = Body(0)


def announced(headers: Mapping[str, str]) -> Body:
    """What the headers (names in small letters) say of the body.

    One without a length is refused: nobody could tell its end from a broken connection, and half a post is no post.
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
    maximum = settings.UPLOAD_MAX_BYTES if is_upload else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if length > maximum:
        return Body(length, refused=TOO_LARGE)
    seconds = settings.BODY_SECONDS
    if (
        is_upload
    ):  # pictures on a slow line take their time; they hold a connection and a file, no thread
        seconds += length / settings.UPLOAD_BYTES_PER_SECOND
    return Body(length, seconds)


def error_of(request: HttpRequest) -> BodyRejected | None:
    """Why the body was not read; None when it was."""
    status = request.META.get(REFUSED)
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
