"""What is on the disks: the tables of PostgreSQL, its write-ahead log, the append-only file, media and logs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.apps import apps
from django.db import connection
from django.db.models import Model

from feedsite.management.retention import RETENTION, Retention, days_of
from tools.bench.measure import Spread
from tools.bench.report import Line

DAY = 86_400
POSTS_A_DAY = (1_000, 100_000, 1_000_000)
SMALL = 1  # byte per post: tables that grow less have no line
_TABLES = """
SELECT relname, pg_table_size(relid), pg_indexes_size(relid), n_tup_ins, n_tup_upd, n_tup_del
FROM pg_stat_user_tables
"""
_WAL = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn, (SELECT sum(size) FROM pg_ls_waldir())"


class Table(NamedTuple):
    """Bytes of rows and of indexes, and how many rows statements have inserted, updated and deleted so far."""

    rows: int
    indexes: int
    inserted: int
    updated: int
    deleted: int

    @property
    def size(self) -> int:
        """Bytes of rows and indexes together."""
        return self.rows + self.indexes

    def since(self, other: "Table") -> "Table":
        return Table(*(now - before for now, before in zip(self, other, strict=True)))


EMPTY = Table(0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Disk:
    """All sizes at one time, in bytes. `wal` is all write-ahead log written so far; `wal_kept` of it is still there."""

    seconds: float
    posts: int
    tables: Mapping[str, Table]
    wal: int
    wal_kept: int
    folders: Mapping[str, int]


def look(seconds: float, folders: Mapping[str, Path]) -> Disk:
    with connection.cursor() as sql:
        sql.execute(_TABLES)
        tables = {name: Table(*sizes) for name, *sizes in sql.fetchall()}
        sql.execute(_WAL)
        wal, kept = sql.fetchone() or (0, 0)
        sql.execute("SELECT count(*) FROM posts_post WHERE kind <> 'repost'")
        [posts] = sql.fetchone() or (0,)
    sizes = {name: size_of(folder) for name, folder in folders.items()}
    return Disk(seconds, posts, tables, int(wal), int(kept), sizes)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def lines(before: Disk, after: Disk) -> list[Line]:
    """Bytes per post, by table and by folder; then bytes per day at some numbers of posts."""
    posts, seconds = max(after.posts - before.posts, 1), after.seconds - before.seconds
    known = _known_tables()
    grown = {
        name: table.since(before.tables.get(name, EMPTY)) for name, table in after.tables.items()
    }
    order = sorted(grown, key=lambda name: -grown[name].size)
    passing = sum(grown[name].size for name in order if name in known and known[name].is_passing)
    total = sum(one.size for one in grown.values())
    others = {
        "tables that lose no rows with time": (total - passing, "with their indexes"),
        "tables whose rows are deleted after a time": (passing, "with their indexes"),
        "write-ahead log": (
            after.wal - before.wal,
            f"PostgreSQL reuses its files: {after.wal_kept / 2**20:.0f} MB at the end",
        ),
        **{
            name: (after.folders[name] - size, f"{after.folders[name] / 2**20:.1f} MB at the end")
            for name, size in before.folders.items()
        },
    }
    return [
        *(
            _table_line(name, grown[name], posts, str(known.get(name, "")))
            for name in order
            if grown[name].size >= SMALL * posts
        ),
        *(_total_line(name, size, posts, seconds, note) for name, (size, note) in others.items()),
    ]


def _table_line(name: str, grown: Table, posts: int, note: str) -> Line:
    return Line(
        name,
        "bytes per post",
        Spread.exact(round(grown.size / posts)),
        note=note,
        figures={
            "rows added per post": round(grown.inserted / posts, 3),
            "updates per post": round(grown.updated / posts, 3),
            "rows deleted per post": round(grown.deleted / posts, 3),
            "bytes of rows per post": round(grown.rows / posts),
            "bytes of indexes per post": round(grown.indexes / posts),
            "bytes per row added": round(grown.size / grown.inserted) if grown.inserted else 0,
        },
    )


def _total_line(name: str, grown: int, posts: int, seconds: float, note: str) -> Line:
    figures = {"MB per day in this run": round(grown / seconds * DAY / 1e6, 1)}
    figures |= {
        f"MB per day with {number:,} posts": round(grown / posts * number / 1e6, 1)
        for number in POSTS_A_DAY
    }
    return Line(
        name, "bytes per post", Spread.exact(round(grown / posts)), note=note, figures=figures
    )


class _Known(NamedTuple):
    """A model, and how long its rows are kept."""

    model: type[Model]
    retention: Retention

    @property
    def is_passing(self) -> bool:
        """Whether rows are deleted after a time."""
        return bool(days_of(self.retention))

    def __str__(self) -> str:
        first, *_rest = (self.model.__doc__ or "").strip().splitlines()
        if first.startswith(f"{self.model.__name__}("):  # the docstring that Django generates
            first = f"{self.model.__name__}."
        days = days_of(self.retention)
        kept = self.retention.time if days is None else f"{days:g} days" if days else "for ever"
        return f"{first} Kept {kept}."


def _known_tables() -> dict[str, _Known]:
    """The tables of docs/retention.md."""
    models = ((apps.get_model(label), one) for one in RETENTION for label in one.tables.split())
    return {model._meta.db_table: _Known(model, one) for model, one in models}
