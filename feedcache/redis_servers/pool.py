"""The connections to one Redis, with a circuit breaker in front of them."""

from typing import Any

import redis

from feedcache.redis_servers.breaker import Breaker

MAX_PAUSE_SECONDS = 1.0


class _Monitored:
    """Mixed into a connection class: remembers whether the server failed since the connection was lent."""

    did_fail = False

    def connect(self, *args: Any, **options: Any) -> Any:
        self.did_fail = True
        result = super().connect(*args, **options)  # type: ignore[misc]  # of the class it is mixed into
        self.did_fail = False  # also when only the first of two attempts failed
        return result

    def send_packed_command(self, *args: Any, **options: Any) -> Any:
        return self._monitor(super().send_packed_command, *args, **options)  # type: ignore[misc]  # as above

    def read_response(self, *args: Any, **options: Any) -> Any:
        return self._monitor(super().read_response, *args, **options)  # type: ignore[misc]  # as above

    def _monitor(self, method: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(*args, **options)
        except (redis.ConnectionError, redis.TimeoutError):
            self.did_fail = True
            raise


class RedisConnections(redis.BlockingConnectionPool):
    """A pool that stops asking a server for a moment after it failed.

    A page asks Redis several times: without the breaker each request would wait for a time-out of its own.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)  # type: ignore[no-untyped-call]  # the library has no types here
        self.breaker = Breaker(max_pause_seconds=MAX_PAUSE_SECONDS)
        self.connection_class = type("Monitored", (_Monitored, self.connection_class), {})

    def get_connection(self, *_args: Any, **_options: Any) -> Any:
        """A connection; ConnectionError at once while the breaker is open."""
        if not self.breaker.allows():
            raise redis.ConnectionError("Redis did not answer a moment ago")
        return super().get_connection()  # type: ignore[no-untyped-call]  # as above

    def release(self, connection: Any) -> None:
        if connection.did_fail:
            connection.did_fail = False
            self.breaker.fail()
        elif not self.breaker.is_closed:
            self.breaker.succeed()
        super().release(connection)  # type: ignore[no-untyped-call]  # as above
