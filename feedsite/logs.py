"""What is written to the log, and how loudly."""

import logging


class AsInfo(logging.Filter):
    """For what strangers can cause at will: one line at INFO, however it was logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Calm the record; whether anybody wants it then."""
        record.levelno, record.levelname = logging.INFO, "INFO"
        record.exc_info = record.exc_text = record.stack_info = None
        return logging.getLogger().isEnabledFor(logging.INFO)
