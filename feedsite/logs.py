"""Filters of the log."""

import logging


class AsInfo(logging.Filter):
    """For messages that strangers can cause at will: one line at INFO, whatever their level was."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.levelno, record.levelname = logging.INFO, "INFO"
        record.exc_info = record.exc_text = record.stack_info = None
        return logging.getLogger().isEnabledFor(logging.INFO)
