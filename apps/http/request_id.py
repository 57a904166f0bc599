"""The id of the request that is being served: in its answer, in the log and on the error page."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")


def current_request_id() -> str:
    """The id of the request being served, `-` outside of one."""
    return request_id.get()
