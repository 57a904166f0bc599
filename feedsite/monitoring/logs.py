"""Filters of the log."""

import logging

from apps.http.request_id import request_id
from apps.throttling import REFUSED_EARLY


class AsInfo(logging.Filter):
    """For messages that strangers can cause at will: one line at INFO, whatever their level was."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.levelno, record.levelname = logging.INFO, "INFO"
        record.exc_info = record.exc_text = record.stack_info = None
        return logging.getLogger().isEnabledFor(logging.INFO)


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


class NotRefusedEarly(logging.Filter):
    """Leaves out what a flood of requests would fill the log with: the first refusals by a limit have told of it."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        return request is None or REFUSED_EARLY not in request.META
