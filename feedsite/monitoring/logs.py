"""Filters of the log."""

import logging

from apps.http.request_id import request_id


class AsInfo(logging.Filter):
    """Logs messages that anybody can cause at will in one line at INFO, whatever their level was."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.levelno, record.levelname = logging.INFO, "INFO"
        record.exc_info = record.exc_text = record.stack_info = None
        return logging.getLogger().isEnabledFor(logging.INFO)


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True
