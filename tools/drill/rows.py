"""`--rows N`: the large tables of the older site get rows before the load, and lose them again before the checks.

The rows belong to posts of yesterday, by followers who never visit. So no timeline that the drill reads shows them, and
all of them have older ids than every post of the load. PostgreSQL makes them itself, without checking references. It
writes no log for tables that are emptied in the same transaction (`WITHOUT_LOG`), so filling them is as fast as with
unlogged tables, but the migrations run on ordinary tables.

They are removed before the checks, because the checks read whole tables into memory.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from feedcache.ids import EPOCH, first_id_at

# Settings of the server: with the minimal log level, PostgreSQL does not log rows of a table truncated in the same
# transaction; and memory for large tables.
WITHOUT_LOG = {
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    "shared_buffers": "1GB",
}
DAY_SECONDS = 86_400.0
SLICE = 1_000_000  # rows of an INSERT
# Each row: its number, the account, an id of a post by this account, another account, and the time of the post.
_SOURCE = """
SELECT n, person, (((%(second)s + n / %(people)s) << 28) | person) << 4 AS post, other,
    to_timestamp(%(epoch)s + %(second)s + n / %(people)s) AS at
FROM generate_series(%(first)s::bigint, %(last)s::bigint) n,
LATERAL (SELECT (%(ids)s::bigint[])[1 + n %% %(people)s] AS person,
    (%(ids)s::bigint[])[1 + (n + 1) %% %(people)s] AS other) accounts
"""
_TEXT = "'Post number ' || n || ' of a long day, with some words that nobody will read.'"
_LEASED = {
    "state": "'done'",
    "attempts": "1",
    "due_at": "at",
    "last_error": "''",
    "created_at": "at",
    "finished_at": "at",
}
# By table: its columns, as expressions of `_SOURCE`. Columns that the older site does not have are left out. The first
# column is the id of the post.
TABLES = {
    "posts_post": {
        "id": "post", "kind": "'text'", "body": _TEXT, "content_warning": "''", "language": "'en'",
        "visibility": "'public'", "thread_id": "post", "version": "1", "created_at": "at", "author_id": "person",
    },
    "posts_postcounts": {
        "post_id": "post", "replies": "0", "reposts": "0", "likes": "0", "bookmarks": "0", "author_id": "person",
    },
    "posts_mention": {"post_id": "post", "id": "n", "user_id": "other", "author_id": "person"},
    "posts_revision": {
        "post_id": "post", "id": "n", "version": "1", "body": _TEXT, "content_warning": "''", "sensitive": "false",
        "pictures": "'[]'", "created_at": "at", "author_id": "person",
    },
    "posts_poll": {
        "post_id": "post", "options": "'{yes,no}'", "multiple": "false", "hide_totals": "false", "expires_at": "at",
        "votes": "'{0,0}'", "voters": "0", "is_ended": "true", "author_id": "person",
    },
    "posts_attachment": {
        "post_id": "post", "id": "n", "position": "0", "file": "'posts/' || n || '.webp'", "width": "800",
        "height": "600", "alt": "'A picture'", "created_at": "at", "owner_id": "person", "author_id": "person",
    },
    "tags_taguse": {
        "post_id": "post", "id": "n", "is_public": "true", "tag_id": "(SELECT id FROM tags_tag WHERE name = 'rows')",
    },
    "timeline_fanoutjob": {
        "post_id": "post", **_LEASED, "scanned_to": "0", "virtual_scanned_to": "0", "followers": "1", "mode": "'push'",
        "lost": "0", "parts": "1", "receipts": "0", "seal": "''",
    },
    "timeline_fanoutchunk": {
        "job_id": "post", "id": "n", **_LEASED, "first_edge": "n", "last_edge": "n", "is_virtual": "false",
        "expected": "1", "delivered": "0", "dormant": "1", "lost": "0", "number": "0", "digest": "''", "seal": "''",
    },
    "notifications_conversation": {
        "last_post_id": "post", "id": "n", "thread_id": "post", "is_unread": "true", "user_id": "person",
    },
}  # fmt: skip
# Tables with rows of every tenth post only.
OF_FEW = {"posts_revision", "posts_poll", "posts_attachment", "notifications_conversation"}
_INDEXES = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = %s::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
"""
_COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = %s"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a site. `url` is the address of its PostgreSQL; `people` have written the posts."""

    url: str
    number: int  # of posts
    people: Sequence[int]
    until: float  # the newest post, in seconds since the epoch

    def fill(self, say: Callable[[str], None]) -> None:
        """Fill the tables, which must be empty."""
        began = time.monotonic()
        with psycopg.connect(self.url) as connection:
            connection.execute("SET session_replication_role = replica")  # no checks of references
            connection.execute("SET maintenance_work_mem = '512MB'")
            connection.execute("INSERT INTO tags_tag (name, created_at) VALUES ('rows', now())")
            connection.execute("TRUNCATE posts_post, tags_taguse CASCADE")
            for table in TABLES:
                since = time.monotonic()
                self._fill(connection, table)
                say(f"{self._in(table):,} rows in {table} ({time.monotonic() - since:.0f} s)")
        self._each("VACUUM (ANALYZE) {}")
        total = sum(map(self._in, TABLES))
        say(f"{total:,} rows in {len(TABLES)} tables: {time.monotonic() - began:.0f} s")

    def remove(self) -> None:
        """Remove the rows, and the space that they take."""
        first = first_id_at(round(self.until) + 1)
        with psycopg.connect(self.url) as connection:
            connection.execute("SET session_replication_role = replica")
            for table, columns in TABLES.items():
                post = sql.Identifier(next(iter(columns)))
                statement = sql.SQL("DELETE FROM {} WHERE {} < {}")
                connection.execute(statement.format(sql.Identifier(table), post, first))
        self._each("VACUUM (FULL, ANALYZE) {}")

    def _in(self, table: str) -> int:
        return self.number // 10 if table in OF_FEW else self.number

    def _fill(self, connection: psycopg.Connection, table: str) -> None:
        """Fill a table. Its indexes, except those of constraints, are dropped before and built again afterwards."""
        indexes = connection.execute(_INDEXES, [table]).fetchall()
        for name, _ in indexes:
            connection.execute(sql.SQL("DROP INDEX {}").format(sql.SQL(name)))
        there = {name for (name,) in connection.execute(_COLUMNS, [table])}
        columns = {name: value for name, value in TABLES[table].items() if name in there}
        statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM ({}) source").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, columns)),
            sql.SQL(", ").join(map(sql.SQL, columns.values())),
            sql.SQL(_SOURCE),
        )
        for first, last in slices(self._in(table)):
            connection.execute(statement, self._source(first, last))
        if "id" in columns and columns["id"] == "n":
            connection.execute(
                "SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, self._in(table)]
            )
        for _, definition in indexes:
            connection.execute(sql.SQL(definition))

    def _source(self, first: int, last: int) -> dict[str, object]:
        people = sorted(self.people)
        seconds = self.number // len(people)
        return {
            "first": first, "last": last, "ids": people, "people": len(people),
            "second": round(self.until) - EPOCH - seconds, "epoch": EPOCH,
        }  # fmt: skip

    def _each(self, statement: str) -> None:
        """Run a statement for each table, outside a transaction."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for table in TABLES:
                connection.execute(sql.SQL(statement).format(sql.Identifier(table)))


def slices(number: int) -> Iterator[tuple[int, int]]:
    """The numbers 1 to `number` in slices: the first and the last of each."""
    for first in range(1, number + 1, SLICE):
        yield first, min(first + SLICE - 1, number)
