"""Connections to PostgreSQL as the pool of a process keeps them."""

import time
from collections.abc import Mapping
from typing import Any

import psycopg

TRUSTED_SECONDS = 1.0


def startup_options(timeouts: Mapping[str, int], **others: str) -> str:
    """What libpq's `options` has to say for a connection to begin with these settings; time-outs in milliseconds."""
    return " ".join(f"-c {name}={value}" for name, value in {**timeouts, **others}.items())


class PooledConnection(psycopg.Connection[Any]):
    """A connection that is asked at most once a second whether it is still there.

    The pool asks before every use, by an empty statement: that was 7 % of a home API request. Whoever comes within a second
    after PostgreSQL went away hears it from the first real statement instead, which `feedsite.outage` answers for.
    """

    _asked_at = 0.0
    _answered: psycopg.Cursor[Any] | None = None

    def set_autocommit(self, value: bool) -> None:  # noqa: FBT001 -- the library's own interface
        """As the library does it; Django asks for it before every use, and it is so already."""
        if value != self.autocommit:
            super().set_autocommit(value)

    def execute(self, query: Any, *args: Any, **options: Any) -> psycopg.Cursor[Any]:
        """As the library does it; the pool's empty question is left out when it was answered a moment ago."""
        if query != "":
            return super().execute(query, *args, **options)
        was_asked = time.monotonic() - self._asked_at < TRUSTED_SECONDS
        if was_asked and self._answered is not None and not self.closed:
            return self._answered  # nobody reads it
        self._answered = super().execute(query, *args, **options)
        self._asked_at = time.monotonic()
        return self._answered
