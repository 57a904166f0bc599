"""Split follows and posts by their owner into logical shards, and move these to other servers while the site runs.

A logical shard is a partition of PostgreSQL: a table here, or (postgres_fdw) a foreign table whose rows lie on another
server, with its unique keys and indexes there. Everything else of the site goes on asking the parent tables, and the
planner leaves out the partitions of other owners. `docs/decisions/0117-shards.md` has the reasons, and
`0130-shards-of-posts.md` those for posts, whose author is a part of their id.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import psycopg
from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import ForeignKey
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import Identifier, Literal

from apps.shards import SHARDS
from feedcache.ids import MAX_AUTHOR_ID, SEQUENCE_BITS

LOCAL = "local"  # the site's own database, as the name of a place
BATCH_SIZE = 1_000  # changed rows that are copied in one transaction
CONNECT_SECONDS, LOCK_SECONDS, ATTEMPTS, PAUSE_SECONDS = 2, 0.5, 40, 0.25
LOCK_TRIES, LOCK_POLL_SECONDS = 20, 0.1
ADVISORY_LOCK = 0x73686172  # "shar": one split or move at a time
_SEED, _COMBINED = 0x7A5B22367996DCFD, 0x49A0F4DD15E5A8E3 % SHARDS
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")

Session = psycopg.Connection[tuple[Any, ...]]
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is split. `levels` are the partition keys, from the top down; `key` identifies its rows."""

    name: str
    levels: tuple[str, ...]
    key: str = "id"


# An owner's rows of all lie in the shard of one number.
FOLLOWS = (Table("graph_followee", ("owner_id",)), Table("graph_follower", ("owner_id",)))
_OF_POST = "{} post_author_ops"  # the shard of the author whose number is in a post's id
# Posts twice by one number: what asks for an id is led by the first level, what asks for an author by the second.
POSTS = (
    Table("posts_post", (_OF_POST.format("id"), "author_id")),
    Table("posts_postcounts", (_OF_POST.format("post_id"),), key="post_id"),
    Table("posts_revision", (_OF_POST.format("post_id"),)),
)
TABLES = {table.name: table for table in (*FOLLOWS, *POSTS)}

# What changes in a shard while it is copied: a row for each change, in the transaction of the change.
_CHANGES = """
CREATE TABLE IF NOT EXISTS shard_change (position bigserial PRIMARY KEY, shard text NOT NULL, id bigint NOT NULL);
CREATE OR REPLACE FUNCTION note_shard_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shard_change (shard, id) VALUES (TG_TABLE_NAME,
        (to_jsonb(CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END) ->> TG_ARGV[0])::bigint);
    RETURN NULL;
END $$;
"""
# The hash of a post's id is that of its author: a shard by ids has the posts of the shard by authors of one number.
# `id <@| ANY (numbers)`: the shard of a post has one of these numbers, by which the planner leaves out the others.
# PostgreSQL's seed, and what it adds to a hash (`compute_partition_hash_value`), are in its source only.
_POST_AUTHORS = f"""
CREATE FUNCTION hash_post_author(id bigint, seed bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN hashint8extended(id >> {SEQUENCE_BITS} & {MAX_AUTHOR_ID}, seed);
CREATE FUNCTION hash_shard(number int, seed bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN (number - {_COMBINED}) & {SHARDS - 1};
CREATE FUNCTION post_is_in_shard(id bigint, number int) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ((hash_post_author(id, {_SEED}) & {SHARDS - 1}) + {_COMBINED}) & {SHARDS - 1} = number;
CREATE OPERATOR <@| (LEFTARG = bigint, RIGHTARG = int, FUNCTION = post_is_in_shard);
CREATE OPERATOR CLASS post_author_ops FOR TYPE bigint USING hash
    AS OPERATOR 1 =, FUNCTION 2 hash_post_author(bigint, bigint),
    OPERATOR 1 <@| (bigint, int), FUNCTION 2 (int, int) hash_shard(int, bigint);
"""
_PARTITIONS = """
SELECT root.relname::text, leaf.relname::text, coalesce(s.srvname::text, 'local'),
    pg_get_expr(leaf.relpartbound, leaf.oid), tree.parentrelid::regclass::text
FROM pg_class root CROSS JOIN LATERAL pg_partition_tree(root.oid) tree JOIN pg_class leaf ON leaf.oid = tree.relid
LEFT JOIN pg_foreign_table f ON f.ftrelid = leaf.oid LEFT JOIN pg_foreign_server s ON s.oid = f.ftserver
WHERE root.relname = ANY(%s) AND root.relkind = 'p' AND pg_table_is_visible(root.oid) AND tree.isleaf
ORDER BY leaf.relname
"""
# Foreign keys of a table and to it: the other servers know nothing of them.
_FOREIGN_KEYS = """
SELECT conrelid::regclass::text, conname::text FROM pg_constraint
WHERE contype = 'f' AND %s::regclass IN (conrelid, confrelid) ORDER BY 1, 2
"""
_COLUMNS = """
SELECT format('%%I %%s%%s%%s', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN ' NOT NULL' END,
    ' DEFAULT ' || pg_get_expr(adbin, adrelid))
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_CONSTRAINTS = """
SELECT format('CONSTRAINT %%I %%s', conname, pg_get_constraintdef(oid)) FROM pg_constraint
WHERE conrelid = %(table)s::regclass AND contype IN ('c', 'p', 'u') ORDER BY conname
"""
_INDEXES = """
SELECT pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = %(table)s::regclass
    AND indexrelid NOT IN (SELECT conindid FROM pg_constraint WHERE contype IN ('p', 'u'))
"""


class ShardError(Exception):
    """What cannot be done, in words for the operator."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A partition of one of the tables, attached to `parent`. `place` is LOCAL or the name of a server."""

    table: str
    name: str
    place: str
    bounds: str
    parent: str

    @property
    def number(self) -> int:
        return int(self.name.rpartition("_")[2])

    @property
    def key(self) -> str:
        return TABLES[self.table].key


def connect(place: str = LOCAL) -> Session:
    """A connection of its own to the site's database or to a server, past the pool. ShardError."""
    given: dict[str, Any]
    if place != LOCAL:
        given = conninfo_to_dict(url_of(place))
    elif settings.MIGRATIONS_DATABASE_URL:  # past the pooler, which would lose the advisory lock
        given = conninfo_to_dict(settings.MIGRATIONS_DATABASE_URL)
    else:
        params = connections[DEFAULT_DB_ALIAS].get_connection_params()
        wanted = ("host", "port", "user", "password", "dbname")
        given = {
            key: value
            for key, value in params.items()
            if value and (key in wanted or key.startswith("ssl"))
        }
    given |= {"connect_timeout": CONNECT_SECONDS, "options": "-c timezone=UTC -c datestyle=ISO"}
    try:
        return psycopg.connect(**given, autocommit=True)
    except psycopg.OperationalError as error:
        raise ShardError(f"{place} cannot be reached: {str(error).strip()}") from None


def url_of(place: str) -> str:
    try:
        return settings.GRAPH_SHARDS[place]
    except KeyError:
        raise ShardError(f"GRAPH_SHARD_URLS does not name {place!r}.") from None


def shards(session: Session) -> list[Shard]:
    """All partitions; none while the tables are plain."""
    return [Shard(*row) for row in session.execute(_PARTITIONS, [list(TABLES)])]


def servers(session: Session) -> list[str]:
    """The servers that were added."""
    found = session.execute(
        "SELECT srvname::text FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = srvfdw"
        " WHERE fdwname = 'postgres_fdw' ORDER BY 1"
    )
    return [name for (name,) in found]


def split(*, bounds: Sequence[int] = (), posts: bool = False, report: Report) -> None:
    """Make plain tables partitioned ones: 64 by the hash of the owner, or by ranges of ids that begin at `bounds`.

    Those of follows; with `posts` those of posts too, by hash only. One transaction: afterwards all these tables are
    split or none. Readers and writers of the tables wait for it.
    """
    with working() as session:
        known = shards(session)
        is_split = {shard.table for shard in known}
        tables = [
            table for table in (FOLLOWS + POSTS if posts else FOLLOWS) if table.name not in is_split
        ]
        if not tables:
            raise ShardError("The tables are split already; `show` says how.")
        if posts and (bounds or any("FROM" in shard.bounds for shard in known)):
            raise ShardError("Posts are split by hash, so follows have to be too: not by ranges.")
        with session.transaction():
            session.execute("SET LOCAL lock_timeout = '10s'")
            session.execute(_CHANGES)
            if posts:
                session.execute(_POST_AUTHORS)
            for table in tables:
                _split(session, table, _bounds(bounds), report)
        session.execute(f"ANALYZE {', '.join(table.name for table in tables)}")


def _bounds(bounds: Sequence[int]) -> list[str]:
    if not bounds:
        return [f"WITH (MODULUS {SHARDS}, REMAINDER {number})" for number in range(SHARDS)]
    if sorted(set(bounds)) != list(bounds):
        raise ShardError("The bounds have to ascend.")
    ends = ["MINVALUE", *map(str, bounds), "MAXVALUE"]
    return [f"FROM ({low}) TO ({high})" for low, high in pairwise(ends)]


def _split(session: Session, table: Table, bounds: Sequence[str], report: Report) -> None:
    """The old table, without rows and foreign keys, stays as the pattern of every shard."""
    name, old, pattern = table.name, f"{table.name}_old", f"{table.name}_shard"
    session.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
    for owner, constraint in session.execute(_FOREIGN_KEYS, [name]).fetchall():
        session.execute(f"ALTER TABLE {owner} DROP CONSTRAINT {constraint}")
        report(f"{name}: dropped the foreign key {constraint} of {owner}")
    session.execute(f"ALTER TABLE {name} RENAME TO {old}")
    session.execute(f"CREATE TABLE {pattern} (LIKE {old} INCLUDING ALL EXCLUDING IDENTITY)")
    kind = "RANGE" if bounds[0].startswith("FROM") else "HASH"
    top, *below = table.levels
    session.execute(
        f"CREATE TABLE {name} (LIKE {old} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY)"
        f" PARTITION BY {kind} ({top})"
    )
    for number, bound in enumerate(bounds):
        parent, shard = name, f"{name}_{number:02}"
        for level in below:  # of one partition, which leaves out the shard for other owners
            session.execute(
                f"CREATE TABLE {shard}_of PARTITION OF {parent} FOR VALUES {bound} PARTITION BY {kind} ({level})"
            )
            parent = f"{shard}_of"
        session.execute(f"CREATE TABLE {shard} (LIKE {pattern} INCLUDING ALL)")
        session.execute(f"ALTER TABLE {parent} ATTACH PARTITION {shard} FOR VALUES {bound}")
    report(f"{name}: copying")
    copied = session.execute(f"INSERT INTO {name} SELECT * FROM {old}").rowcount  # noqa: S608 -- names of ours
    report(f"{name}: {copied:,} rows in {len(bounds)} shards")
    _keep_sequence(session, table)
    session.execute(f"DROP TABLE {old}")


def _keep_sequence(session: Session, table: Table) -> None:
    """Go on with the ids of the old table, under the usual name of their sequence, if it counts them."""
    [(sequence, former)] = session.execute(
        "SELECT pg_get_serial_sequence(%s, %s), pg_get_serial_sequence(%s, %s)",
        [table.name, table.key, f"{table.name}_old", table.key],
    )
    if former is None:
        return
    session.execute("SELECT setval(%s, nextval(%s), false)", [sequence, former])
    usual = f"{table.name}_{table.key}_seq"
    session.execute(f"ALTER SEQUENCE {former} RENAME TO {usual}_old")
    session.execute(f"ALTER SEQUENCE {sequence} RENAME TO {usual}")


def add(place: str, *, report: Report) -> None:
    """Let the site's database reach a server of the settings; once more after its address or password changed."""
    if not NAME.fullmatch(place) or place == LOCAL:
        raise ShardError(
            f"{place!r} is not a name: small letters, digits and underscores; not 'local'."
        )
    with working() as session:
        with connect(place) as remote:
            version = remote.info.server_version
            [(is_a_site,)] = remote.execute("SELECT to_regclass('accounts_user') IS NOT NULL")
        if is_a_site:
            raise ShardError(f"{place} is the database of a site; a shard needs one of its own.")
        given: dict[str, Any] = conninfo_to_dict(url_of(place))
        mapping: dict[str, Any] = {
            key: given.pop(key) for key in ("user", "password") if key in given
        }
        if "password" not in mapping:
            mapping["password_required"] = "false"  # noqa: S105 -- an option
        timeout = settings.DATABASE_TIMEOUTS["statement_timeout"]
        given |= {
            "connect_timeout": str(CONNECT_SECONDS),
            "options": f"-c statement_timeout={timeout}",
            "fetch_size": "500",
            "batch_size": "100",
            "async_capable": "false",
        }
        with session.transaction():
            session.execute("CREATE EXTENSION IF NOT EXISTS postgres_fdw")
            if place not in servers(session):
                create = "CREATE SERVER {} FOREIGN DATA WRAPPER postgres_fdw"
                session.execute(sql.SQL(create).format(Identifier(place)))
            _set_options(session, place, {key: str(value) for key, value in given.items()})
            for statement in (
                "DROP USER MAPPING IF EXISTS FOR CURRENT_USER SERVER {}",
                "CREATE USER MAPPING FOR CURRENT_USER SERVER {} OPTIONS ({})",
            ):
                session.execute(sql.SQL(statement).format(Identifier(place), _options(mapping)))
    report(f"{place}: PostgreSQL {version // 10_000}, ready for shards")


def _set_options(session: Session, place: str, wanted: dict[str, str]) -> None:
    [(present,)] = session.execute(
        "SELECT ARRAY(SELECT option_name FROM pg_options_to_table(srvoptions)) FROM pg_foreign_server"
        " WHERE srvname = %s", [place]
    )  # fmt: skip
    for key in present:
        drop = sql.SQL("ALTER SERVER {} OPTIONS (DROP {})")
        session.execute(drop.format(Identifier(place), Identifier(key)))
    add_all = sql.SQL("ALTER SERVER {} OPTIONS ({})")
    session.execute(add_all.format(Identifier(place), _options(wanted)))


def _options(options: Mapping[str, Any]) -> sql.Composed:
    pairs = (
        sql.SQL("{} {}").format(Identifier(key), Literal(value)) for key, value in options.items()
    )
    return sql.SQL(", ").join(pairs)


def move(numbers: Sequence[int], place: str, *, report: Report) -> Iterator[int]:
    """Move logical shards to a server, one after the other; yields the number of each that is there.

    The site goes on: what changes meanwhile is noted and copied after. Both copies are compared before the new one
    takes the place of the old, for which the table is locked for some milliseconds. One that was interrupted is begun
    again by the next call; what has been moved stays.
    """
    with working() as session:
        known = shards(session)
        if not known:
            raise ShardError("The tables are not split: `split` comes first.")
        if place != LOCAL and place not in servers(session):
            raise ShardError(f"{place!r} was not added: `add {place}` comes first.")
        session.execute(_CHANGES)  # an earlier release noted them in another way
        unknown = set(numbers) - {shard.number for shard in known}
        if unknown:
            raise ShardError(f"There is no shard {min(unknown)}.")
        for number in numbers:
            for shard in known:
                if shard.number == number and shard.place != place:
                    _move(session, shard, place, report)
            yield number


def _move(session: Session, shard: Shard, place: str, report: Report) -> None:
    try:
        _copy_and_swap(session, shard, place, report)
    except BaseException:
        with suppress(psycopg.Error):  # nothing is left to do for it
            session.execute(f"DROP TRIGGER IF EXISTS note_shard_change ON {shard.name}")
        raise


def _copy_and_swap(session: Session, shard: Shard, place: str, report: Report) -> None:
    target_name = f"{shard.name}_new" if place == LOCAL else shard.name
    with closing(connect(shard.place)) as source, closing(connect(place)) as target:
        if _database(source) == _database(target):
            raise ShardError(f"{shard.place} and {place} are one database.")
        target.execute(f"DROP TABLE IF EXISTS {target_name}")
        for statement in definition(session, shard.table, target_name, place):
            target.execute(statement)
        _when_unlocked(partial(_note_changes, session, shard), shard.name)
        copied = _copy(source, shard, target, target_name)
        while (changes := _apply(session, shard, source, target, target_name)) >= BATCH_SIZE:
            report(f"{shard.name}: {changes:,} changes meanwhile")
        # a snapshot of rows and noted changes: exact while the site writes
        if shard.place == LOCAL:
            _compare(session, shard, source, target, target_name)
        swap = partial(_swap, session, shard, place, source, target, target_name)
        _when_unlocked(swap, shard.parent)
        if shard.place != LOCAL:
            source.execute(f"DROP TABLE {shard.name}")
    session.execute(f"ANALYZE {shard.name}")
    report(f"{shard.name}: {copied:,} rows from {shard.place} to {place}")


def _database(session: Session) -> tuple[Any, ...] | None:
    """What two names of one database have in common."""
    return session.execute("SELECT pg_postmaster_start_time(), current_database()").fetchone()


def definition(session: Session, table: str, name: str, place: str) -> list[str]:
    """The statements that make a shard of a table: its columns, keys and indexes, and nothing else."""
    if (
        place == LOCAL
    ):  # not from text: a check that is read again may be another expression than the parent's
        return [f"CREATE TABLE {name} (LIKE {table}_shard INCLUDING ALL)"]
    of = {"table": f"{table}_shard"}
    parts = [part for query in (_COLUMNS, _CONSTRAINTS) for (part,) in session.execute(query, of)]
    parts = [part.replace(f"{table}_shard", name) for part in parts]
    indexes = [found for (found,) in session.execute(_INDEXES, of)]
    return [
        f"CREATE TABLE {name} ({', '.join(parts)})",
        *(re.sub(r"INDEX \S+ ON \S+", f"INDEX ON {name}", index) for index in indexes),
    ]


def _note_changes(session: Session, shard: Shard) -> None:
    """From here on; waits for the changes that are under way, which the copy will see."""
    with session.transaction():
        session.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        session.execute("DELETE FROM shard_change WHERE shard = %s", [shard.name])
        session.execute(
            f"CREATE OR REPLACE TRIGGER note_shard_change AFTER INSERT OR UPDATE OR DELETE ON {shard.name}"
            f" FOR EACH ROW EXECUTE FUNCTION note_shard_change('{shard.key}')"
        )


def _when_unlocked(change: Callable[[], None], name: str) -> None:
    """Try until a lock can be had: waiting longer for it would hold up everybody who comes after."""
    for _attempt in range(ATTEMPTS):
        try:
            return change()
        except psycopg.errors.LockNotAvailable:
            time.sleep(PAUSE_SECONDS)
    raise ShardError(f"{name} was busy for too long; run it again.")


def _copy(
    source: Session,
    shard: Shard,
    target: Session,
    target_name: str,
    ids: Sequence[int] | None = None,
) -> int:
    """Copy rows, all or those of `ids`; how many."""
    some = "" if ids is None else f" WHERE {shard.key} IN ({', '.join(map(str, ids))})"
    out = f"COPY (SELECT * FROM {shard.name}{some}) TO STDOUT"  # noqa: S608 -- names of ours and numbers
    back = f"COPY {target_name} FROM STDIN"
    with source.cursor() as reader, target.cursor() as writer:
        with reader.copy(out) as rows, writer.copy(back) as into:
            for data in rows:
                into.write(data)
        return writer.rowcount


def _apply(
    session: Session, shard: Shard, source: Session, target: Session, target_name: str
) -> int:
    """Bring the oldest noted changes to the target; how many they were."""
    found = session.execute(
        "SELECT position, id FROM shard_change WHERE shard = %s ORDER BY position LIMIT %s",
        [shard.name, BATCH_SIZE],
    ).fetchall()
    if not found:
        return 0
    ids = sorted({id_ for _position, id_ in found})
    with target.transaction():
        target.execute(f"DELETE FROM {target_name} WHERE {shard.key} = ANY(%s)", [ids])  # noqa: S608 -- names of ours
        _copy(source, shard, target, target_name, ids)
    # by position: what was noted meanwhile stays for the next batch
    positions = [position for position, _id in found]
    session.execute("DELETE FROM shard_change WHERE position = ANY(%s)", [positions])
    return len(found)


def _compare(
    session: Session, shard: Shard, source: Session, target: Session, target_name: str
) -> None:
    """Number and checksum of all rows without noted changes. ShardError if they differ."""
    with source.transaction():
        source.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        noted = (source if shard.place == LOCAL else session).execute(
            "SELECT id FROM shard_change WHERE shard = %s", [shard.name]
        )
        changed = [id_ for (id_,) in noted]
        sums = "SELECT count(*), sum(hashtextextended({0}::text, 0)) FROM {0} WHERE {1} <> ALL(%s)"
        here = source.execute(sums.format(shard.name, shard.key), [changed]).fetchone()
    there = target.execute(sums.format(target_name, shard.key), [changed]).fetchone()
    if here != there:
        raise ShardError(
            f"{shard.name}: the copy differs, {there} instead of {here}; nothing was moved."
        )


def _swap(
    session: Session, shard: Shard, place: str, source: Session, target: Session, target_name: str
) -> None:
    """Replace the shard by its copy; reads and writes of the table wait meanwhile, and of those beside it.

    A transaction sees of another server what was there when it first asked. So none may have begun to ask that will
    come to this shard: it would find the rows of the copy missing, and delete nothing. Such a one asks the tables that
    are written together, and they are locked together.
    """
    with session.transaction():
        session.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        session.execute(f"LOCK TABLE {_parents_beside(session, shard)} IN ACCESS EXCLUSIVE MODE")
        # the copy reads by the connection that holds the lock
        reader = session if shard.place == LOCAL else source
        while _apply(session, shard, reader, target, target_name):
            pass
        if shard.place != LOCAL:
            _compare(session, shard, source, target, target_name)
        if shard.place == LOCAL:
            session.execute(f"DROP TABLE {shard.name}")
        else:
            session.execute(f"DROP FOREIGN TABLE {shard.name}")
        if place == LOCAL:
            session.execute(f"ALTER TABLE {target_name} RENAME TO {shard.name}")
            session.execute(
                f"ALTER TABLE {shard.parent} ATTACH PARTITION {shard.name} {shard.bounds}"
            )
        else:
            session.execute(
                f"CREATE FOREIGN TABLE {shard.name} PARTITION OF {shard.parent} {shard.bounds}"
                f" SERVER {place} OPTIONS (table_name '{shard.name}')"
            )


def _parents_beside(session: Session, shard: Shard) -> str:
    """The parents of the shards of one number, of follows or of posts."""
    together = next(tables for tables in (FOLLOWS, POSTS) if TABLES[shard.table] in tables)
    names = [table.name for table in together]
    beside = [one for one in shards(session) if one.number == shard.number and one.table in names]
    return ", ".join(one.parent for one in sorted(beside, key=lambda one: names.index(one.table)))


@contextmanager
def working() -> Iterator[Session]:
    """A connection to the site's database that alone splits, adds or moves. ShardError while another does."""
    with closing(connect()) as session:
        session.execute("SET statement_timeout = 0")
        for _try in range(LOCK_TRIES):  # a session that has just been closed holds it for a moment
            [(is_alone,)] = session.execute("SELECT pg_try_advisory_lock(%s)", [ADVISORY_LOCK])
            if is_alone:
                break
            time.sleep(LOCK_POLL_SECONDS)
        else:
            raise ShardError("Another process is changing shards.")
        yield session


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """Of the tables of one logical shard in one place: rows as of the last ANALYZE, bytes with indexes."""

    place: str
    number: int
    rows: int = 0
    size: int = 0


def sizes() -> list[Size]:
    """Where each logical shard lies, and how large it is; none while the tables are plain.

    A number is in two places while its tables are moved, or when posts were split after follows had been moved.
    """
    with closing(connect()) as session:
        known = shards(session)
    found = {(shard.place, shard.number): Size(shard.place, shard.number) for shard in known}
    for place in {shard.place for shard in known}:
        with closing(connect(place)) as session:
            rows = session.execute(
                "SELECT relname, greatest(reltuples, 0)::bigint, pg_total_relation_size(oid) FROM pg_class"
                " WHERE relname = ANY(%s) AND pg_table_is_visible(oid)",
                [[shard.name for shard in known if shard.place == place]],
            )
            for name, number_of_rows, size in rows:
                number = int(name.rpartition("_")[2])
                before = found[place, number]
                found[place, number] = Size(
                    place, number, before.rows + number_of_rows, before.size + size
                )
    return sorted(found.values())


_DEFINED = """
SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY 1
"""
_INTERRUPTED = (
    "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'note_shard_change' ORDER BY 1"
)
_ORPHANS = """
SELECT count(*) FROM {0} t WHERE {1} IS NOT NULL AND NOT EXISTS (SELECT FROM {2} there WHERE there.{3} = t.{1})
"""
_UNCOUNTED = """
SELECT count(*) FROM posts_post p WHERE NOT EXISTS (SELECT FROM posts_postcounts c WHERE c.post_id = p.id)
"""


def unreachable(session: Session) -> Iterator[tuple[str, str]]:
    """Servers that hold shards and do not answer, or that the settings do not name; and what is wrong."""
    for place in sorted({shard.place for shard in shards(session)} - {LOCAL}):
        try:
            connect(place).close()
        except ShardError as error:
            yield place, str(error)


def problems() -> Iterator[str]:
    """What is wrong with the split tables. Reads them whole: for operators."""
    with closing(connect()) as session:
        session.execute("SET statement_timeout = 0")
        away = dict(unreachable(session))
        yield from away.values()
        for place in {shard.place for shard in shards(session)} - {LOCAL, *away}:
            with closing(connect(place)) as remote:
                for shard in shards(session):
                    wanted = session.execute(_DEFINED, [f"{shard.table}_shard"]).fetchall()
                    if (
                        shard.place == place
                        and remote.execute(_DEFINED, [shard.name]).fetchall() != wanted
                    ):
                        yield f"{shard.name} on {place} has other columns than {shard.table}."
        for (name,) in session.execute(_INTERRUPTED).fetchall():
            yield f"A move of {name} was interrupted: run it again."
        if not away:
            yield from _orphans(session)


def _orphans(session: Session) -> Iterator[str]:
    """Rows that refer to nothing, which foreign keys would have refused."""
    is_split = {shard.table for shard in shards(session)}
    for model in apps.get_models():
        table = model._meta.db_table
        for field in model._meta.concrete_fields:
            if not isinstance(field, ForeignKey):
                continue
            target = field.related_model._meta
            if {table, target.db_table} & is_split:
                statement = _ORPHANS.format(table, field.column, target.db_table, target.pk.column)
                [(number,)] = session.execute(statement)
                if number:
                    yield f"{number:,} rows of {table} name a {field.column} that is not in {target.db_table}."
    if "posts_post" in is_split:
        [(number,)] = session.execute(_UNCOUNTED)
        if number:
            yield f"{number:,} posts have no row in posts_postcounts."
