"""The connections to one Redis, and a breaker in front of them."""

from collections.abc import Callable
from queue import Empty
from typing import Any

import redis

from apps.caches.breaker import Breaker

LONGEST_PAUSE_SECONDS = 1.0


class _Watched:
    """A connection that knows whether its server failed it, and not the other way round."""

    did_fail = False

    def connect(self, *args: Any, **options: Any) -> Any:
        self.did_fail = True
        done = super().connect(*args, **options)  # type: ignore[misc]  # of the class it is mixed into
        self.did_fail = False
        return done

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:  # not by `_watch`: once for every answer
            return super().read_response(*args, **options)  # type: ignore[misc]  # as above
        except (redis.ConnectionError, redis.TimeoutError):
            self.did_fail = True
            raise

    def send_packed_command(self, *args: Any, **options: Any) -> Any:
        return self._watch(super().send_packed_command, *args, **options)  # type: ignore[misc]  # as above

    def _watch(self, ask: Callable[..., Any], *args: Any, **options: Any) -> Any:
        try:
            return ask(*args, **options)
        except (redis.ConnectionError, redis.TimeoutError):
            self.did_fail = True
            raise


class RedisConnections(redis.BlockingConnectionPool):
    """The connections to one Redis. One that does not answer costs a time-out, then it is left alone for a moment.

    A page asks Redis several times: without this each of its questions would wait.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)  # type: ignore[no-untyped-call]  # the library has no types here
        self.breaker = Breaker(longest=LONGEST_PAUSE_SECONDS)
        self.connection_class = type("Watched", (_Watched, self.connection_class), {})

    def get_connection(self, *args: Any, **options: Any) -> Any:
        """A connection; ConnectionError at once while the server is left alone."""
        if not self.breaker.allows():
            raise redis.ConnectionError("Redis did not answer a moment ago")
        try:
            return super().get_connection(*args, **options)  # type: ignore[no-untyped-call]  # the library has no types here
        except (redis.ConnectionError, redis.TimeoutError) as error:
            if not isinstance(
                error.__context__, Empty
            ):  # all are in use: that says nothing about the server
                self.breaker.fail()
            raise

    def release(self, connection: Any) -> None:
        """Take a connection back, and learn from how it went."""
        if connection.did_fail:
            connection.did_fail = False
            self.breaker.fail()
        elif not self.breaker.is_closed:
            self.breaker.succeed()
        super().release(connection)  # type: ignore[no-untyped-call]  # the library has no types here
