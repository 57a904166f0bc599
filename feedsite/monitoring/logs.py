"""The format of the log: filters, and JSON. Imported before Django's apps are ready."""

import logging
import os
from datetime import UTC, datetime
from typing import Any

import orjson

from apps.http.request_id import ANSWERED, request_id
from apps.throttling import REFUSED_EARLY


class AsInfo(logging.Filter):
    """For messages that any client can cause: lowers their level to INFO, and removes their tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.levelno, record.levelname = logging.INFO, "INFO"
        record.exc_info = record.exc_text = record.stack_info = None
        return logging.getLogger().isEnabledFor(logging.INFO)


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to log records, from `request.META` if possible: Django logs 4xx after the id was reset."""

    def filter(self, record: logging.LogRecord) -> bool:
        answered = getattr(getattr(record, "request", None), "META", {})
        record.request_id = answered.get(ANSWERED) or request_id.get()
        return True


class NotRefusedEarly(logging.Filter):
    """Drops the lines about requests that were refused because this process knew that their limit was used up.

    The first refusals by a limit are logged, but a flood of requests does not fill the log.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        return request is None or REFUSED_EARLY not in request.META


class JSONFormatter(logging.Formatter):
    """One JSON object per line: time (UTC), level, logger, message, request_id, process, exception, extra `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": getattr(record, "request_id", "-"),
            "process": os.getpid(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(entry, default=str).decode()
