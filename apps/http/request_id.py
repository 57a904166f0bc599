"""The id of the current request, which appears in the response headers, in the log and on error pages."""

from contextvars import ContextVar

ANSWERED = "feedsite.request_id"  # key in META, for log lines after the response
request_id: ContextVar[str] = ContextVar("request_id", default="-")


def current_request_id() -> str:
    """The id of the current request; `-` outside of a request."""
    return request_id.get()
