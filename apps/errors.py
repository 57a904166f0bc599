"""Errors with messages for people, raised by views and the code they call. Each has a stable code and an HTTP status.

`apps.http.errors` renders them as pages or JSON; inside DRF, `apps.api.errors` returns the same JSON.
"""

from collections.abc import Mapping
from errno import EDQUOT, ENOSPC
from typing import Any

from django.utils.translation import ngettext


class DomainError(Exception):
    """A request that cannot be fulfilled; `message` is shown to people, `errors` maps fields to messages."""

    code = "refused"
    status = 400

    def __init__(
        self, message: str, *, code: str | None = None, errors: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.errors = dict(errors or {})
        self.extensions: dict[str, Any] = {}  # extension members of the JSON error (RFC 9457)


class BadRequest(DomainError):
    """The request itself is malformed: it contains an invalid cursor or a NUL byte, for example."""

    code, status = "bad_request", 400


class NotAllowed(DomainError):
    """The viewer may not do this, but may know that the object exists; otherwise raise `NotFound`."""

    code, status = "not_allowed", 403


class NotFound(DomainError):
    """The object does not exist, or the viewer may not know that it does: both get the same response."""

    code, status = "not_found", 404


class Conflict(DomainError):
    """The current state does not allow the action, e.g. because the same action is in progress."""

    code, status = "conflict", 409


class Invalid(DomainError):
    """The content breaks a rule: it is too long or empty, or contains an unknown value."""

    code, status = "validation_failed", 422


def invalid(field: str, message: str, code: str | None = None) -> Invalid:
    """An Invalid with a message for one field of the request."""
    return Invalid(message, code=code, errors={field: message})


class TooMany(DomainError):
    """A limit is used up; retry after `retry_after` seconds. The default message names that time."""

    code, status = "too_many_requests", 429

    def __init__(self, message: str = "", *, retry_after: int) -> None:
        super().__init__(message or _wait_text(retry_after))
        self.retry_after = retry_after


def _wait_text(seconds: int) -> str:
    text = ngettext(
        "Too many requests. Try again in %(count)d second.",
        "Too many requests. Try again in %(count)d seconds.",
        seconds,
    )
    return text % {"count": seconds}


class Unavailable(DomainError):
    """A dependency is down, or the server is overloaded; retry after `retry_after` seconds."""

    code, status = "unavailable", 503

    def __init__(self, message: str, *, retry_after: int = 2) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def is_disk_full(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)
