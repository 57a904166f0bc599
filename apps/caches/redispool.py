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

    A page asks Redis several times: without this each of its questions would wait. They are lent out as the library does
    it, without what that measures of itself: 5 % of a home API request.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)  # type: ignore[no-untyped-call]  # the library has no types here
        self.breaker = Breaker(longest=LONGEST_PAUSE_SECONDS)
        self.connection_class = type("Watched", (_Watched, self.connection_class), {})

    def get_connection(self, *_args: Any, **_options: Any) -> Any:
        """A connection; ConnectionError at once while the server is left alone."""
        if not self.breaker.allows():
            raise redis.ConnectionError("Redis did not answer a moment ago")
        self._checkpid()
        try:
            connection = self.pool.get(timeout=self.timeout) or self.make_connection()  # type: ignore[no-untyped-call]  # the library has no types here
        except Empty:
            raise redis.ConnectionError("all connections are in use") from None
        try:
            _make_ready(connection)
        except BaseException:
            self.release(connection)
            raise
        return connection

    def release(self, connection: Any) -> None:
        """Take a connection back, and learn from how it went."""
        if connection.did_fail:
            connection.did_fail = False
            self.breaker.fail()
        elif not self.breaker.is_closed:
            self.breaker.succeed()
        self._checkpid()
        if self.owns_connection(connection):
            self.pool.put_nowait(connection)
        else:  # of the process that this one was forked from
            connection.disconnect()


def _make_ready(connection: Any) -> None:
    """Connect, and once more when the server has closed the connection meanwhile, or left something to be read in it."""
    for is_last in (False, True):
        connection.connect()
        try:
            if not connection.can_read():
                return
        except (redis.ConnectionError, redis.TimeoutError, OSError):
            if is_last:
                raise
        connection.disconnect()
    raise redis.ConnectionError("there is something to be read before anything was asked")
