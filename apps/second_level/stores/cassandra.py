"""Rows of the second level in Cassandra: the table described in source 001, whose rows expire by their TTL.

The table has one more column than the article's: a stamp per partition, that is, per reader. Every write that changes a
span gives the span and the partition the same new stamp, and a read accepts the rows only if both stamps match. So rows
that were lost, restored from an old backup or half written are a miss, and the ids are read from PostgreSQL.

All writes carry the time of PostgreSQL's clock; writes that change a span read the clock while the span is locked. So a
row that is written again after its deletion survives, even if different processes wrote and deleted it.
"""

import re
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from cassandra import ConsistencyLevel, DriverException
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.concurrent import execute_concurrent
from cassandra.connection import ConnectionException
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import BatchStatement, BatchType
from django.conf import settings

from apps.deadline import seconds_left
from apps.graph.queries import follower_ids_between
from apps.second_level.stores import VALID_SPAN, Covered, horizon
from apps.sql import rows_of
from apps.timeline.models import TimelineSpan
from apps.timeline.sources import virtual_follows
from feedcache.breaker import Bulkhead, SourceUnavailable
from feedcache.ids import author_of, second_of
from feedcache.servers.tls import tls_context

TABLE = "following_timeline"
PORT = 9042
ERRORS = (DriverException, NoHostAvailable, ConnectionException, OSError)
CONNECT_SECONDS = 5.0  # in a separate thread, so that no page waits that long
WRITE_SECONDS = 2.0  # PostgreSQL rows stay locked meanwhile
SCHEMA_SECONDS = 60.0
PUSH_SECONDS = 15.0  # for one chunk of followers
BATCH = 50  # rows of one partition: 3 KB, below the size that servers warn about
CONCURRENCY = 64  # statements in flight
THREADS = 8

_SPAN = "SELECT span.floor, span.ceiling, span.stamp" + VALID_SPAN + "AND span.stamp IS NOT NULL"
_DOWN = """
SELECT article_id, stamp FROM following_timeline
WHERE uid = ? AND (publish_time, article_id) < (?, ?) AND (publish_time, article_id) > (?, ?)
LIMIT ?
"""
_STATEMENTS = {
    "down": _DOWN,
    "up": _DOWN.replace("LIMIT", "ORDER BY publish_time ASC, article_id ASC LIMIT"),
    "stamp": "SELECT stamp FROM following_timeline WHERE uid = ? LIMIT 1",
    "all": "SELECT article_id FROM following_timeline WHERE uid = ?",
    "add": """
INSERT INTO following_timeline (uid, publish_time, article_id) VALUES (?, ?, ?) USING TIMESTAMP ? AND TTL ?
""",
    "set_stamp": "INSERT INTO following_timeline (uid, stamp) VALUES (?, ?) USING TIMESTAMP ? AND TTL ?",
    "remove": """
DELETE FROM following_timeline USING TIMESTAMP ? WHERE uid = ? AND publish_time = ? AND article_id = ?
""",
    "drop": "DELETE FROM following_timeline USING TIMESTAMP ? WHERE uid = ?",
}
_CREATE = """
CREATE TABLE IF NOT EXISTS {}.following_timeline (
    uid bigint, publish_time timestamp, article_id bigint, stamp bigint static,
    PRIMARY KEY (uid, publish_time, article_id)
) WITH CLUSTERING ORDER BY (publish_time DESC, article_id DESC) AND default_time_to_live = {}
"""
_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"  # microseconds

T = TypeVar("T")
Statements = list[tuple[Any, Any]]  # a prepared statement and its values


@dataclass(frozen=True)
class Address:
    """`cassandra://user:password@host:9042,host:9042/keyspace?datacenter=dc1&tls=1`. Other URLs raise ValueError.

    With `datacenter`, only its nodes are used. `protocol_version` is negotiated, but must be given for servers older
    than Cassandra 3. With TLS, the certificate of each node must contain its address.
    """

    nodes: list[str]
    port: int
    keyspace: str
    username: str
    password: str
    datacenter: str
    protocol_version: int | None
    has_tls: bool

    @classmethod
    def parse(cls, url: str) -> "Address":
        parts = urlsplit(url)
        login, _at, hosts = parts.netloc.rpartition("@")
        username, _colon, password = login.partition(":")
        places = [host.partition(":") for host in hosts.split(",") if host]
        ports = {int(port) if port else PORT for _host, _colon, port in places}
        if not all(host for host, _colon, _port in places) or len(ports) != 1:
            raise ValueError("the address names no nodes, or nodes with different ports")
        keyspace = parts.path.strip("/")
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,47}", keyspace):
            raise ValueError(f"{keyspace!r} is not a valid keyspace name")
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        address = cls(
            nodes=[host for host, _colon, _port in places],
            port=ports.pop(),
            keyspace=keyspace,
            username=unquote(username),
            password=unquote(password),
            datacenter=options.pop("datacenter", ""),
            protocol_version=int(options.pop("protocol_version", 0)) or None,
            has_tls=bool(int(options.pop("tls", 0))),
        )
        if options:
            raise ValueError(
                f"unknown option {', '.join(options)}; there are datacenter, protocol_version and tls"
            )
        return address

    def cluster(self) -> Any:
        """The cluster object of the driver, not connected yet; the caller shuts it down."""
        nearby = DCAwareRoundRobinPolicy(self.datacenter) if self.datacenter else RoundRobinPolicy()
        profile = ExecutionProfile(
            load_balancing_policy=TokenAwarePolicy(nearby),
            retry_policy=FallthroughRetryPolicy(),  # no retries, because PostgreSQL is queried instead
            consistency_level=ConsistencyLevel.LOCAL_QUORUM,  # reads see completed writes
            request_timeout=WRITE_SECONDS,
        )
        login = PlainTextAuthProvider(self.username, self.password) if self.username else None
        options = {"protocol_version": self.protocol_version} if self.protocol_version else {}
        return Cluster(
            self.nodes,
            port=self.port,
            auth_provider=login,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            reconnection_policy=ExponentialReconnectionPolicy(0.5, 8.0),
            ssl_context=tls_context(settings.CASSANDRA_TLS_FILES) if self.has_tls else None,
            connect_timeout=CONNECT_SECONDS,
            control_connection_timeout=CONNECT_SECONDS,
            **options,
        )


class Connected:
    """A session, and its prepared statements."""

    def __init__(self, address: Address) -> None:
        cluster = address.cluster()
        try:
            self.session = cluster.connect(address.keyspace)
            prepared = {name: self.session.prepare(text) for name, text in _STATEMENTS.items()}
        except BaseException:
            cluster.shutdown()
            raise
        self.down, self.up = prepared["down"], prepared["up"]
        self.stamp, self.all = prepared["stamp"], prepared["all"]
        self.add, self.set_stamp = prepared["add"], prepared["set_stamp"]
        self.remove, self.drop = prepared["remove"], prepared["drop"]

    def run(self, statements: Iterable[tuple[Any, Any]]) -> None:
        execute_concurrent(
            self.session, list(statements), concurrency=CONCURRENCY, raise_on_first_error=True
        )

    def run_in_partition(self, statements: Statements) -> None:
        """Run statements on the partition of one reader, in batches."""
        batches = []
        for start in range(0, len(statements), BATCH):
            batch = BatchStatement(BatchType.UNLOGGED)
            for statement, values in statements[start : start + BATCH]:
                batch.add(statement, values)
            batches.append((batch, None))
        self.run(batches)

    def stamp_of(self, reader_id: int) -> int | None:
        row = self.session.execute(self.stamp, (reader_id,)).one()
        stamp: int | None = row.stamp if row is not None else None
        return stamp


class CassandraStore:
    """`TimelineStore` in Cassandra; connects at its first call."""

    def __init__(self, url: str) -> None:
        self._address = Address.parse(url)
        self._bulkhead = Bulkhead("cassandra", max_concurrency=THREADS)
        self._lock = threading.Lock()
        self._connected: Connected | None = None

    def read(
        self,
        reader_id: int,
        *,
        newest: int,
        oldest: int,
        count: int,
        begins: str,
        ascending: bool = False,
    ) -> Covered | None:
        values = {"reader": reader_id, "newest": newest, "oldest": oldest, "horizon": horizon()}
        spans = rows_of(_SPAN.format(begins=begins), values)
        if not spans:
            return None
        floor, ceiling, stamp = spans[0]
        below, above = min(ceiling, newest), max(floor, oldest)

        def work(connected: Connected) -> list[int] | None:
            statement = connected.up if ascending else connected.down
            bound = (reader_id, _published(below), below, _published(above), above, count)
            rows = list(connected.session.execute(statement, bound))
            # an empty result has no stamp, and early releases of Cassandra 2.1 omit it from rows read in reverse
            found = (rows[0].stamp if rows else None) or connected.stamp_of(reader_id)
            return [row.article_id for row in rows] if found == stamp else None

        ids = self._call(work, seconds_left(settings.CASSANDRA_TIMEOUT_SECONDS))
        return None if ids is None else Covered(floor, ceiling, ids)

    def holds(self, span: TimelineSpan) -> bool:
        if span.stamp is None:
            return False
        return (
            self._call(lambda connected: connected.stamp_of(span.pk), WRITE_SECONDS) == span.stamp
        )

    def add(self, reader_ids: Sequence[int], post_ids: Sequence[int]) -> None:
        self._push([(reader_id, post_id) for reader_id in reader_ids for post_id in post_ids])

    def fill(self, reader_id: int, post_ids: Sequence[int], *, joins: bool) -> int:
        now = _clock()

        def work(connected: Connected) -> None:
            rows = [_row(connected, reader_id, post_id, now) for post_id in post_ids]
            stamp = (connected.set_stamp, (reader_id, now, now, _ttl()))
            old = [] if joins else [(connected.drop, (now - 1, reader_id))]
            connected.run_in_partition([*old, *rows, stamp])

        self._call(work, WRITE_SECONDS)
        return now

    def withdraw(self, reader_id: int, author_id: int) -> int:
        now = _clock()

        def work(connected: Connected) -> None:
            ids = [row.article_id for row in connected.session.execute(connected.all, (reader_id,))]
            theirs = [post_id for post_id in ids if post_id and author_of(post_id) == author_id]
            removals = [_removal(connected, reader_id, post_id, now) for post_id in theirs]
            connected.run_in_partition(
                [*removals, (connected.set_stamp, (reader_id, now, now, _ttl()))]
            )

        self._call(work, WRITE_SECONDS)
        return now

    def remove(self, reader_ids: Collection[int], post_ids: Collection[int]) -> None:
        """Remove rows of readers who have a span. Other readers' rows are dropped when these readers get a span."""
        spans = TimelineSpan.objects.filter(reader__in=reader_ids)
        readers, now = list(spans.values_list("reader", flat=True)), _clock()

        def work(connected: Connected) -> None:
            connected.run(
                _removal(connected, reader_id, post_id, now)
                for reader_id in readers
                for post_id in post_ids
            )

        if readers and post_ids:
            self._call(work, PUSH_SECONDS)

    def drop(self, reader_ids: Collection[int]) -> None:
        now = _clock()
        self._call(
            lambda connected: connected.run(
                (connected.drop, (now, reader_id)) for reader_id in reader_ids
            ),
            PUSH_SECONDS,
        )

    def push(
        self, author_id: int, first_edge: int, last_edge: int, post_id: int, *, is_virtual: bool
    ) -> int:
        between = virtual_follows.follower_ids_between if is_virtual else follower_ids_between
        readers = between(author_id, first_edge=first_edge, last_edge=last_edge)
        self._push([(int(reader_id), post_id) for reader_id in readers])
        return len(readers)

    def _push(self, rows: Sequence[tuple[int, int]]) -> None:
        now = _clock()
        self._call(
            lambda connected: connected.run(_row(connected, *row, now) for row in rows),
            PUSH_SECONDS,
        )

    def _call(self, work: Callable[[Connected], T], seconds: float) -> T:
        try:
            return self._bulkhead.call(lambda: work(self._connection()), seconds=seconds)
        except ERRORS as error:
            raise SourceUnavailable(str(error)) from error

    def _connection(self) -> Connected:
        """The connection of this process, made by its first call; the driver reconnects to nodes automatically."""
        if self._connected is None:
            with self._lock:
                if self._connected is None:
                    self._connected = Connected(self._address)
        return self._connected


def create_tables(address: Address, *, replication: int | None = None) -> int:
    """Create the keyspace and the table if they are missing; return the replication factor for a new keyspace.

    `replication` is this factor; by default three, or the number of nodes if fewer. Raises one of ERRORS.
    """
    cluster = address.cluster()
    try:
        session = cluster.connect()
        nodes = [
            host
            for host in cluster.metadata.all_hosts()
            if address.datacenter in {"", host.datacenter}
        ]
        copies = replication or min(3, len(nodes))
        strategy = (
            {"class": "NetworkTopologyStrategy", address.datacenter: copies}
            if address.datacenter
            else {"class": "SimpleStrategy", "replication_factor": copies}
        )
        session.execute(
            f"CREATE KEYSPACE IF NOT EXISTS {address.keyspace} WITH replication = {strategy}",
            timeout=SCHEMA_SECONDS,
        )
        session.execute(_CREATE.format(address.keyspace, _ttl()), timeout=SCHEMA_SECONDS)
        return copies
    finally:
        cluster.shutdown()


def has_tables(address: Address) -> bool:
    """Whether the keyspace has the table that the site needs. Raises one of ERRORS if no node responds."""
    cluster = address.cluster()
    try:
        cluster.connect()
        keyspace = cluster.metadata.keyspaces.get(address.keyspace)
        table = keyspace.tables.get(TABLE) if keyspace is not None else None
        return bool(table is not None and "stamp" in table.columns)
    finally:
        cluster.shutdown()


def _row(connected: Connected, reader_id: int, post_id: int, now: int) -> tuple[Any, Any]:
    return connected.add, (reader_id, _published(post_id), post_id, now, _ttl())


def _removal(connected: Connected, reader_id: int, post_id: int, now: int) -> tuple[Any, Any]:
    return connected.remove, (now, reader_id, _published(post_id), post_id)


def _published(post_id: int) -> int:
    """The `publish_time` of a row: the time in its post id, in milliseconds, so that the rows are sorted by post id."""
    return second_of(post_id) * 1000


def _ttl() -> int:
    return int(settings.TIMELINE_ENTRY_DAYS * 24 * 3600)


def _clock() -> int:
    now: int = rows_of(_CLOCK, {})[0][0]
    return now
