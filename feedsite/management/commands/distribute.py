"""`manage distribute`: distributes the tables of a site over several PostgreSQL servers, with Citus (docs/scaling.md).

The rows of an account are together on one server: its follows, posts, counts, likes and notifications. The versions,
pictures and counts of a post are on the server of its author, whose id is part of the post's id (`feedcache.ids`).
Small tables that are joined with these are copied to every server. All other tables, such as the ledgers of background
work, stay on the coordinator.
"""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction

from apps.engagement.marks import ROW_MARKS
from feedsite.management.commands.migrate import connected_for_migrations, exclusive_lock

# The column by which each table is distributed, always the id of an account. All tables are in the colocation group of
# the first table.
DISTRIBUTED = {
    "accounts_usercounts": "user_id",
    "graph_followee": "owner_id",
    "graph_follower": "owner_id",
    "graph_followrequest": "owner_id",
    "graph_block": "owner_id",
    "graph_mute": "owner_id",
    "graph_pastrelation": "owner_id",
    "graph_accountnote": "owner_id",
    "graph_endorsement": "owner_id",
    "posts_post": "author_id",
    "posts_postcounts": "author_id",
    "posts_mention": "author_id",
    "posts_revision": "author_id",
    "posts_poll": "author_id",
    "posts_attachment": "author_id",
    "posts_threadmute": "user_id",
    "posts_idempotencykey": "user_id",
    **{mark.table: "user_id" for mark in ROW_MARKS},
    "engagement_vote": "user_id",
    "tags_tagfollow": "user_id",
    "tags_featuredtag": "user_id",
    "notifications_notification": "user_id",
    "notifications_conversation": "user_id",
    "notifications_unwantedkind": "user_id",
    "notifications_notificationpolicy": "user_id",
    "notifications_notificationpermission": "user_id",
    "notifications_readmarker": "user_id",
    "search_postentry": "author_id",
    "search_dismissal": "owner_id",
    "timeline_timelineentry": "reader_id",
    "timeline_timelinespan": "reader_id",
    "timeline_postreplica": "author_id",
    "ranking_rankingchoice": "user_id",
}
# Copied to every server: small, and joined with the tables above.
REFERENCE = (
    "accounts_user",
    "graph_circle",
    "graph_circlemember",
    "graph_userlist",
    "graph_listmember",
    "search_personentry",
    "tags_tag",
)
GROUP = next(iter(DISTRIBUTED))

_PLACES = """
SELECT logicalrelid::text, partmethod FROM pg_dist_partition
WHERE partmethod = 'h' OR partmethod = 'n' AND repmodel = 't'
"""
# Foreign keys from or to these tables, without those that partitions inherit.
_REFERENCES = """
SELECT conrelid::regclass::text, conname FROM pg_constraint
WHERE contype = 'f' AND conparentid = 0
    AND (conrelid = ANY(%(tables)s::regclass[]) OR confrelid = ANY(%(tables)s::regclass[]))
ORDER BY 1, 2
"""
_TRIGGERS = "SELECT tgname FROM pg_trigger WHERE tgrelid = %(table)s::regclass AND NOT tgisinternal"
# The unique indexes of a table: name, kind ("p": primary key, "u": unique constraint, NULL: only an index), definition,
# and columns.
_KEYS = """
SELECT c.relname::text, con.contype::text, pg_get_indexdef(i.indexrelid), ARRAY(
    SELECT quote_ident(a.attname) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number ORDER BY k.place)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
LEFT JOIN pg_constraint con ON con.conindid = i.indexrelid AND con.contype IN ('p', 'u')
WHERE i.indrelid = %(table)s::regclass AND i.indisunique
"""
# Lets a statement that changes rows of several shards change one shard after another. If it changed them in parallel,
# over separate connections, later statements of its transaction could be refused, depending on which connection was
# free.
_SEQUENTIAL = "ALTER DATABASE {database} SET citus.multi_shard_modify_mode = 'sequential'"


def _places() -> dict[str, str]:
    """The tables that are distributed ("h") or copied to every server ("n")."""
    return dict(_rows(_PLACES))


def _rows(sql: str, **values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return cursor.fetchall() if cursor.description else []


def missing() -> list[str]:
    """The tables that are not yet where they belong, in the order in which they must be moved."""
    places = _places()
    distributed = [table for table in DISTRIBUTED if places.get(table) != "h"]
    return [*distributed, *(table for table in REFERENCE if places.get(table) != "n")]


def loosen(table: str) -> Iterator[str]:
    """The statements that prepare a table for the move: they drop foreign keys and triggers and, if it is to be
    distributed, add the distribution column to unique keys, and index `id`. (The triggers are for processes of an
    earlier release, which have ended.)
    """
    for (name,) in _rows(_TRIGGERS, table=table):
        yield f'DROP TRIGGER "{name}" ON {table}'
    for owner, name in _rows(_REFERENCES, tables=[table]):
        yield f'ALTER TABLE {owner} DROP CONSTRAINT "{name}"'
    key = DISTRIBUTED.get(table)
    if key is None:
        return
    for name, constraint, definition, columns in _rows(_KEYS, table=table):
        if key in columns:
            continue
        names = ", ".join([key, *columns])
        if constraint:
            kind = "PRIMARY KEY" if constraint == "p" else "UNIQUE"
            yield f'ALTER TABLE {table} DROP CONSTRAINT "{name}", ADD CONSTRAINT "{name}" {kind} ({names})'
        else:
            yield f'DROP INDEX "{name}"'
            yield definition.replace("btree (", f"btree ({key}, ", 1)
        if columns == ["id"]:
            yield f'CREATE INDEX "{table}_id" ON {table} (id)'


def move(table: str) -> None:
    """Distribute a table, or copy it to every server, with its rows, in one transaction."""
    with transaction.atomic():
        for statement in loosen(table):
            _rows(statement)
        if key := DISTRIBUTED.get(table):
            group = "default" if table == GROUP else GROUP
            _rows(
                f"SELECT create_distributed_table('{table}', '{key}', colocate_with := '{group}')"
            )
        else:
            _rows(f"SELECT create_reference_table('{table}')")
    # the copy on the coordinator, which is no longer read
    _rows(f"SELECT truncate_local_data_after_distributing_table('{table}')")


def _require_citus() -> None:
    if DEFAULT_DB_ALIAS in settings.TIMELINE_SHARDS:
        raise CommandError(
            "TIMELINE_SHARDS names 'default': its replicas of posts would be on all servers. Name separate databases."
        )
    if not _rows("SELECT extversion FROM pg_extension WHERE extname = 'citus'"):
        raise CommandError(
            "This database has no Citus: install its packages on every server and CREATE EXTENSION citus"
            " (docs/scaling.md)."
        )
    if not _rows("SELECT node_name FROM citus_get_active_worker_nodes()"):
        raise CommandError(
            "The coordinator has no workers: SELECT citus_set_coordinator_host(...) and"
            " citus_add_node(...) first (docs/scaling.md)."
        )


class Command(BaseCommand):
    help = """Distribute this site's tables over the Citus workers.

Stop all processes that write first. Tables already moved are skipped, so you can run the command again after an
interruption, or after migrations that added tables. With --check, the exit code is 1 if there are tables to move."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="only list the tables to move")

    def handle(self, *_args: Any, **options: Any) -> None:
        default = connections[DEFAULT_DB_ALIAS]
        with connected_for_migrations(default), exclusive_lock(default):
            _require_citus()
            tables = missing()
            if options["check"]:
                self._check(tables)
                return
            database = default.ops.quote_name(default.settings_dict["NAME"])
            _rows(_SEQUENTIAL.format(database=database))
            for number, table in enumerate(tables, start=1):
                self._say(f"{number} of {len(tables)}: {table}", options, ending="")
                move(table)
                self._say(f", {self._rows_in(table):,} rows", options)
        self._say("All tables are where they belong.", options)

    def _say(self, text: str, options: dict[str, Any], ending: str | None = None) -> None:
        if options["verbosity"]:
            self.stdout.write(text, ending=ending)
            self.stdout.flush()

    def _check(self, tables: list[str]) -> None:
        for table in tables:
            key = DISTRIBUTED.get(table)
            self.stdout.write(
                f"{table}: distribute by {key}" if key else f"{table}: copy to every server"
            )
        if tables:
            raise CommandError(f"{len(tables)} tables must be moved.", returncode=1)
        self.stdout.write("All tables are where they belong.")

    @staticmethod
    def _rows_in(table: str) -> int:
        [(count,)] = _rows(f"SELECT count(*) FROM {table}")  # noqa: S608 -- only our own table names
        return int(count)
