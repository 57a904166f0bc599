"""Reads from PostgreSQL's streaming replicas (REPLICA_DATABASE_URLS): only `read` uses them, no database router does.

The results may be a few seconds old, so callers read only lists of ids, and check them afterwards: the primary decides
whether a post still exists, and who may see it. Users read their own writes: after each write the WAL position (LSN) is
stored in Redis, and a replica that has not replayed it is not read for that user.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections

from feedcache.breaker import Breaker
from feedcache.connections import RedisError, limits
from feedcache.redis_clients import execute

logger = logging.getLogger(__name__)

CHECK_SECONDS = 1.0  # between two checks of a replica by one process
# How long a position is stored. A reader without one reads from the primary, and the primary's position is stored.
POSITION_SECONDS = 600
# The insert position, not the write position, because a commit may not have been written to the disk yet.
_WRITTEN = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
_REPLAYED = (
    "SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END"
)

T = TypeVar("T")


def read(reader_id: int | None, query: Callable[[str], T]) -> T:
    """The result of `query(alias)` from a replica that has replayed the reader's writes, else from the primary."""
    replica = _replica_for(reader_id)
    if replica is None:
        return query(DEFAULT_DB_ALIAS)
    try:
        return query(replica.alias)
    except (OperationalError, InterfaceError) as error:
        if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise  # too slow for the primary, too
        replica.fail(error)
        return query(DEFAULT_DB_ALIAS)


def note_write(user_id: int) -> None:
    """Record that a user's changes are committed: later reads for the user need a replica with these changes."""
    try:
        _note(user_id, _ask(DEFAULT_DB_ALIAS, _WRITTEN))
    except RedisError as error:
        logger.warning(
            "the WAL position of user %s was not stored, a replica may lack the change: %s",
            user_id,
            error,
        )


def _replica_for(reader_id: int | None) -> "Replica | None":
    aliases = settings.REPLICA_DATABASES
    if not aliases or connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return None  # a transaction must see its own uncommitted changes
    needed = 0 if reader_id is None else _position_of(reader_id)
    if needed is None:
        return None
    replicas = map(_replica, random.sample(aliases, len(aliases)))
    return next((replica for replica in replicas if replica.has(needed)), None)


def _position_of(reader_id: int) -> int | None:
    """The position that a replica must have replayed for this reader. None if it is unknown: use the primary."""
    try:
        [score] = execute(limits(), [("ZSCORE", _key(reader_id), "lsn")])
        if score is not None:
            return int(float(score))
        _note(reader_id, _ask(DEFAULT_DB_ALIAS, _WRITTEN))  # includes all of the reader's changes
    except RedisError:
        pass
    return None


def _note(user_id: int, position: int) -> None:
    """Store a position unless a higher one is stored: requests may end in a different order from their commits."""
    key = _key(user_id)
    commands = [("ZADD", key, "GT", position, "lsn"), ("EXPIRE", key, POSITION_SECONDS)]
    execute(limits(), commands)


def _key(user_id: int) -> str:
    return f"lsn:{{{user_id}}}"


def _ask(alias: str, sql: str) -> int:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql)
        [position] = cursor.fetchone()
    if position is None:
        raise OperationalError(f"{alias} is not a standby")
    return int(position)


class Replica:
    """The position of a replica as this process last saw it. It is checked every CHECK_SECONDS, not at every read."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self._breaker = Breaker()
        self._lock = threading.Lock()
        self._next_check = 0.0
        self._replayed = -1
        self._awaited = (
            0,
            float("-inf"),
        )  # a position of the primary, and the time when it was read
        # everything that was committed before this time has been replayed by the replica
        self._fresh_at = float("-inf")

    def has(self, position: int) -> bool:
        """Whether the replica works, has replayed a position, and lags by at most REPLICA_MAX_LAG_SECONDS."""
        if time.monotonic() >= self._next_check and self._lock.acquire(blocking=False):
            try:
                self._check()
            finally:
                self._lock.release()
        lag = time.monotonic() - self._fresh_at
        is_fresh = self._replayed >= position and lag <= settings.REPLICA_MAX_LAG_SECONDS
        return is_fresh and self._breaker.is_closed

    def fail(self, error: Exception) -> None:
        if self._breaker.fail():
            logger.warning("replica %s is left out for a while: %s", self.alias, error)

    def _check(self) -> None:
        now = time.monotonic()
        self._next_check = now + CHECK_SECONDS
        if not self._breaker.allows():
            return
        written = _ask(DEFAULT_DB_ALIAS, _WRITTEN)
        try:
            self._replayed = _ask(self.alias, _REPLAYED)
        except (OperationalError, InterfaceError) as error:
            self.fail(error)
            return
        self._breaker.succeed()
        for position, at in (self._awaited, (written, now)):
            if self._replayed >= position:
                self._fresh_at = at
        if self._replayed >= self._awaited[0]:
            self._awaited = (written, now)


@cache
def _replica(alias: str) -> Replica:
    return Replica(alias)
