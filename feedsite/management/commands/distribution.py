"""`manage distribution`: which tables Citus could spread over servers by their owner, and which not, and why.

Citus wants the distribution key in every unique key, and no foreign key that leaves a group of tables spread alike
(tables that are copied to every server may be referred to). What is in no list here stays on the coordinator.
"""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection

from apps.engagement.marks import ROW_MARKS

# Copied to every server: everything refers to them, and they are small beside what people do.
REFERENCE = ("accounts_user", "tags_tag")
# By the account that reads or owns the rows: one group, so that all of an account lies together.
DISTRIBUTED = {
    "accounts_usercounts": "user_id",
    "graph_followee": "owner_id",
    "graph_follower": "owner_id",
    "graph_followrequest": "owner_id",
    "graph_block": "owner_id",
    "graph_mute": "owner_id",
    "graph_accountnote": "owner_id",
    "graph_endorsement": "owner_id",
    "tags_tagfollow": "user_id",
    "posts_threadmute": "user_id",
    "timeline_authorpolicy": "author_id",
    "timeline_timelineentry": "reader_id",
    "timeline_timelinespan": "reader_id",
    "timeline_postreplica": "author_id",
    "ranking_rankingchoice": "user_id",
    "notifications_unwantedkind": "user_id",
    "notifications_notificationpolicy": "user_id",
    "notifications_notificationpermission": "user_id",
    "notifications_readmarker": "user_id",
    "search_dismissal": "owner_id",
    **{mark.table: "user_id" for mark in ROW_MARKS if not mark.refers_to_posts},
}
# What stands in the way of the tables that would have to follow.
_OF_A_POST = "refers to posts_post, and does not name the author by whom posts would be spread"
_TO_POSTS = "refers to posts of other people"
NOT_YET = {
    # posts, counts and revisions: `manage shards split --posts` does it with an operator class, unknown to Citus
    "posts_post": "reposts and answers refer to posts of other authors, and nine tables to its id alone",
    "posts_postcounts": _OF_A_POST,
    "posts_mention": _OF_A_POST,
    "posts_revision": _OF_A_POST,
    "posts_poll": _OF_A_POST,
    "posts_attachment": _OF_A_POST,
    **{mark.table: _TO_POSTS for mark in ROW_MARKS if mark.refers_to_posts},
    "engagement_vote": "refers to polls of other people",
    "notifications_notification": _TO_POSTS,
    "notifications_conversation": _TO_POSTS,
}
# Unique indexes of a table without a column; then foreign keys of a table, and to it from those that stay whole.
_KEYS = """
SELECT pg_get_indexdef(i.indexrelid), ARRAY(
    SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[]))
FROM pg_index i WHERE i.indrelid = %s::regclass AND i.indisunique
"""
_REFERENCES = """
SELECT c.conrelid::regclass::text, c.confrelid::regclass::text,
    ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.conrelid AND attnum = ANY (c.conkey)),
    ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.confrelid AND attnum = ANY (c.confkey))
FROM pg_constraint c WHERE c.contype = 'f' AND %s::regclass IN (c.conrelid, c.confrelid)
"""


def statements(table: str) -> list[str]:
    """What gives a table a primary key that begins with its owner; ids stay unique by their sequence."""
    key = DISTRIBUTED[table]
    if not any(columns == ["id"] for _definition, columns in _rows(_KEYS, table)):
        return []
    return [
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey;",
        f"ALTER TABLE {table} ADD PRIMARY KEY ({key}, id);",
        f"CREATE INDEX ON {table} (id);",
    ]


def obstacles(table: str, key: str) -> list[str]:
    """What Citus would refuse about a table as it is now in the catalogue."""
    found = [
        f"without {key}: {definition}"
        for definition, columns in _rows(_KEYS, table)
        if key not in columns
    ]
    spread = {**DISTRIBUTED, table: key}
    for source, target, columns, referred in _rows(_REFERENCES, table):
        by_key = spread.get(source) in columns and spread.get(target) in referred
        if target not in REFERENCE and not by_key:
            found.append(f"{source} ({', '.join(columns)}) refers to {target}")
    return found


def _rows(sql: str, table: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [table])
        rows: list[Any] = cursor.fetchall()
        return rows


def lines() -> Iterator[str]:
    for table in REFERENCE:
        yield f"SELECT create_reference_table('{table}');"
    for table, key in DISTRIBUTED.items():
        yield ""
        yield from statements(table)
        yield f"SELECT create_distributed_table('{table}', '{key}');"
    yield "\n-- Not yet, and why; they stay on the coordinator:"
    for table, reason in NOT_YET.items():
        yield f"-- {table}: {reason}"


class Command(BaseCommand):
    help = """Print the statements that spread tables over the servers of Citus, each by its owner. Changes nothing.

Example: manage distribution > distribution.sql"""

    def handle(self, *_args: Any, **_options: Any) -> None:
        for line in lines():
            self.stdout.write(line)
