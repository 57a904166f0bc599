"""What the counts should be, from the rows of every app, for a slice of ids at a time.

One statement compares the counts of a slice with the rows, so both are of one moment, beside all
writers.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from django.db import connection

from apps.accounts.cache import USER_COUNTS, USER_COUNTS_TABLE
from apps.accounts.counts_store import CountsTable
from apps.posts.cache.entries import POST_COUNTS, POST_COUNTS_TABLE
from feedcache.structures.counters.service import CounterService


@dataclass(frozen=True, slots=True)
class Drift:
    """A wrong count in the store `where`."""

    where: str
    id: int
    field: str
    has: int
    should: int

    @property
    def size(self) -> int:
        return abs(self.has - self.should)


@dataclass(frozen=True)
class Subject:
    """The counts of one kind of id. `truth`: SQL per field for the (id, n) of `ids` that have any."""

    service: CounterService
    table: CountsTable
    truth: dict[str, str]

    @property
    def name(self) -> str:
        return self.service.name

    def drifted(self, ids: Collection[int]) -> list[Drift]:
        """The counts in PostgreSQL that differ from the rows they count."""
        drifts = []
        with connection.cursor() as cursor:
            cursor.execute(self._compare, {"ids": list(ids)})
            for id_, *numbers in cursor.fetchall():
                for index, field in enumerate(self.truth):
                    has, should = numbers[2 * index : 2 * index + 2]
                    if has != should:
                        drifts.append(Drift("PostgreSQL", id_, field, has, should))
        return drifts

    @cached_property
    def _compare(self) -> str:
        key, table = self.table.key, self.table.table
        pairs = [(f"c.{field}", f"coalesce({field}_rows.n, 0)") for field in self.truth]
        joins = [
            f"LEFT JOIN ({sql}) AS {field}_rows(id, n) ON {field}_rows.id = c.{key}"
            for field, sql in self.truth.items()
        ]
        differs = " OR ".join(f"{has} <> {should}" for has, should in pairs)
        columns = ", ".join(part for pair in pairs for part in pair)
        return (
            f"SELECT c.{key}, {columns} FROM {table} c {' '.join(joins)}"  # noqa: S608 -- names of ours
            f" WHERE c.{key} = ANY(%(ids)s) AND ({differs})"
        )


# Only open posts count: public numbers must not reveal restricted posts. Replies are found by the
# index of threads, because a reply shares the thread of what it answers.
POSTS = Subject(
    POST_COUNTS,
    POST_COUNTS_TABLE,
    {
        "replies": """
            SELECT r.reply_to_id, count(*) FROM posts_post r
            WHERE r.thread_id IN (SELECT p.thread_id FROM posts_post p WHERE p.id = ANY(%(ids)s))
            AND r.reply_to_id = ANY(%(ids)s) AND r.deleted_at IS NULL
            AND r.visibility IN ('public', 'unlisted') GROUP BY 1
        """,
        "reposts": """
            SELECT source_id, count(*) FROM posts_post
            WHERE source_id = ANY(%(ids)s) AND kind = 'repost' AND deleted_at IS NULL
            AND visibility IN ('public', 'unlisted') GROUP BY 1
        """,
        "quotes": """
            SELECT source_id, count(*) FROM posts_post
            WHERE source_id = ANY(%(ids)s) AND kind = 'quote' AND deleted_at IS NULL
            AND visibility IN ('public', 'unlisted') GROUP BY 1
        """,
        "likes": "SELECT post_id, count(*) FROM engagement_like WHERE post_id = ANY(%(ids)s) GROUP BY 1",
        "bookmarks": """
            SELECT post_id, count(*) FROM engagement_bookmark WHERE post_id = ANY(%(ids)s) GROUP BY 1
        """,
    },
)
USERS = Subject(
    USER_COUNTS,
    USER_COUNTS_TABLE,
    {
        "followers": "SELECT owner_id, count(*) FROM graph_follower WHERE owner_id = ANY(%(ids)s) GROUP BY 1",
        "following": "SELECT owner_id, count(*) FROM graph_followee WHERE owner_id = ANY(%(ids)s) GROUP BY 1",
        "posts": """
            SELECT author_id, count(*) FROM posts_post
            WHERE author_id = ANY(%(ids)s) AND deleted_at IS NULL
            AND visibility IN ('public', 'unlisted') GROUP BY 1
        """,
    },
)
SUBJECTS = (POSTS, USERS)
