"""The connections to one Redis, and a breaker in front of them."""

import select
import threading
from collections.abc import Callable
from queue import Empty, Full
from typing import Any

import redis
from redis._parsers.hiredis import NOT_ENOUGH_DATA

from feedcache.redis_servers.breaker import Breaker

MAX_PAUSE_SECONDS = 1.0


class _Watched:
    """A connection that knows whether its server failed it, and not the other way round."""

    did_fail = False
    _sock: Any
    _parser: Any
    disconnect: Callable[[], None]
    _polled: Any = None  # the socket that `_poll` looks at
    _poll: Any = None

    def connect(self, *args: Any, **options: Any) -> Any:
        self.did_fail = True
        done = super().connect(*args, **options)  # type: ignore[misc]  # of the class it is mixed into
        self.did_fail = False
        return done

    @property
    def is_quiet(self) -> bool:
        """Whether it is connected and nothing is to be read before anything was asked: one look at the socket."""
        sock = self._sock
        if sock is None:
            return False
        if sock is not self._polled:
            self._polled, self._poll = sock, select.poll()
            self._poll.register(sock, select.POLLIN)
        return not self._poll.poll(0) and not self._parser._reader.has_data()  # noqa: SLF001 -- the library has no public name for it

    def read_answers(self, count: int) -> list[Any]:
        """The next answers in order, refusals as errors among them.

        By hiredis itself: the library looks at each answer for what nobody here asks for, which was a twentieth of a home page.
        """
        try:
            return self._gathered(count)
        except (redis.ConnectionError, redis.TimeoutError):
            self.did_fail = True
            self.disconnect()
            raise
        except OSError as error:
            self.did_fail = True
            self.disconnect()
            raise redis.ConnectionError(str(error)) from error
        except BaseException:
            self.disconnect()
            raise

    def _gathered(self, count: int) -> list[Any]:
        parser, answers = self._parser, list[Any]()
        reader = parser._reader  # noqa: SLF001 -- as above
        if reader is None:
            raise redis.ConnectionError("the connection is closed")
        while len(answers) < count:
            answer = reader.gets()
            if answer is not NOT_ENOUGH_DATA:
                answers.append(answer)
            else:
                parser.read_from_socket()
        if is_refused(answers):
            for answer in answers:
                if isinstance(answer, redis.ConnectionError):  # "not yet": it is loading its data
                    raise answer
        return answers

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


_ORDINARY = {bytes, int, list, str, bool, dict, type(None)}


def is_refused(answers: list[Any]) -> bool:
    """Whether there may be errors among answers; by their types at once, since there hardly ever are."""
    return not _ORDINARY.issuperset(map(type, answers))


class _Idle:
    """What the library keeps idle connections in, the last one on top. A lock is taken where somebody has to wait only:
    the standard library's queue takes seven calls of locks to lend and to take back, at each trip.
    """

    def __init__(self, maxsize: int) -> None:
        self.queue: list[Any] = []
        self._maxsize = maxsize
        self._waiting = 0
        self._came = threading.Condition()

    def put_nowait(self, one: Any) -> None:
        """Put one on top; Full."""
        if len(self.queue) >= self._maxsize:
            raise Full
        self.queue.append(one)
        if self._waiting:  # whoever begins to wait from now on looks once more before
            with self._came:
                self._came.notify()

    def get(self, *, timeout: float) -> Any:
        """The one on top; Empty when nobody brought one in time."""
        while True:
            try:
                return self.queue.pop()
            except IndexError:
                self._wait(timeout)

    def _wait(self, timeout: float) -> None:
        with self._came:
            self._waiting += 1
            try:
                if not self._came.wait_for(lambda: self.queue, timeout):
                    raise Empty
            finally:
                self._waiting -= 1


class RedisConnections(redis.BlockingConnectionPool):
    """The connections to one Redis. One that does not answer costs a time-out, then it is left alone for a moment.

    A page asks Redis several times: without this each of its questions would wait. They are lent out as the library does
    it, without what that measures of itself: 5 % of a home API request.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        options["queue_class"] = _Idle
        super().__init__(*args, **options)  # type: ignore[no-untyped-call]  # the library has no types here
        self.breaker = Breaker(longest=MAX_PAUSE_SECONDS)
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
        if not connection.is_quiet:
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
