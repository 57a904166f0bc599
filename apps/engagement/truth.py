"""What the counts should be: the rows they count, of every app, a slice of ids at a time.

One statement compares the counts of a slice with the rows, so it sees both as of one moment, whatever is being written.
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
    """A count that is not what it should be; `where` it is kept."""

    where: str
    id: int
    field: str
    has: int
    should: int

    @property
    def size(self) -> int:
        """By how much."""
        return abs(self.has - self.should)


@dataclass(frozen=True)
class Subject:
    """Counts of one kind of id, and SQL per field that says (id, n) for those of `ids` that have any."""

    service: CounterService
    table: CountsTable
    truth: dict[str, str]

    @property
    def name(self) -> str:
        """What is counted."""
        return self.service.name

    def drifted(self, ids: Collection[int]) -> list[Drift]:
        """The counts in PostgreSQL that differ from the rows they count."""
        found = []
        with connection.cursor() as cursor:
            cursor.execute(self._compare, {"ids": list(ids)})
            for id_, *numbers in cursor.fetchall():
                for at, field in enumerate(self.truth):
                    has, should = numbers[2 * at : 2 * at + 2]
                    if has != should:
                        found.append(Drift("PostgreSQL", id_, field, has, should))
        return found

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


# Only what everybody may see counts: numbers that everybody sees must not tell of restricted posts.
# A reply shares the thread of what it answers, which is what the index of threads is for.
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
