"""The correct content of every page, recomputed from the tables in plain Python: slow, and independent of the read path.

It imports Django's database connection and nothing of the project (a contract of import-linter), so that it cannot repeat a
mistake of the read path. Home pages use the query that source 001 begins with and gives up in production:
`WHERE author_uid IN (SELECT following_uid ...) ORDER BY time DESC LIMIT n`, which sorts all matching posts.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Self

from django.db import connection, transaction

MAX_ID = 2**63 - 1
MAX_POSTS = 5_000  # read for one viewer
OPEN = frozenset({"public", "unlisted"})

Row = dict[str, Any]
Pairs = dict[int, set[int]]
Languages = dict[tuple[int, int], set[str]]  # by reader and author

_COLUMNS = "id, author_id, kind, visibility, circle_id, source_id, reply_to_id, language, edited_at, deleted_at"

# Members of exclusive lists, who do not appear on the owner's home page.
_ELSEWHERE = """SELECT l.owner_id, m.member_id FROM lists_listmember m
                JOIN lists_userlist l ON l.id = m.user_list_id WHERE l.is_exclusive"""

# The languages chosen for a followee.
_LANGUAGES = """SELECT owner_id, followee_id, lower(language)
                FROM graph_followee, unnest(languages) AS language WHERE true"""

# The public posts with a followed tag.
_TAGGED = """SELECT f.user_id, u.post_id FROM tags_tagfollow f
             JOIN tags_taguse u ON u.tag_id = f.tag_id WHERE u.is_public"""

# The naive pull of source 001, between two ids; then posts to the viewer's circles, by any author.
PULL = """
SELECT id FROM posts_post
WHERE author_id IN (SELECT followee_id FROM graph_followee WHERE owner_id = %(viewer)s UNION ALL SELECT %(viewer)s)
  AND deleted_at IS NULL AND id > %(above)s AND id < %(below)s
UNION
SELECT id FROM posts_post
WHERE circle_id IN (SELECT id FROM graph_circle WHERE owner_id = %(viewer)s
                    UNION ALL SELECT circle_id FROM graph_circlemember WHERE member_id = %(viewer)s)
  AND deleted_at IS NULL AND id > %(above)s AND id < %(below)s
UNION
SELECT id FROM posts_post
WHERE id IN (SELECT u.post_id FROM tags_taguse u JOIN tags_tagfollow f ON f.tag_id = u.tag_id
             WHERE f.user_id = %(viewer)s AND u.is_public AND u.post_id > %(above)s AND u.post_id < %(below)s)
  AND deleted_at IS NULL
ORDER BY id DESC LIMIT %(maximum)s
"""


class Oracle:
    """A snapshot of the database: all of it, or the part that one viewer's home page depends on."""

    def __init__(self) -> None:
        """Read whole tables: for tests and drills."""
        with snapshot():
            self.posts = _by_id(rows("SELECT * FROM posts_post"))
            self.circles = _by_id(rows("SELECT * FROM graph_circle"))
            self.suspended = _ids("SELECT id FROM accounts_user WHERE suspended_at IS NOT NULL")
            self.follows = pairs("SELECT owner_id, followee_id FROM graph_followee")
            self.unshared = pairs(
                "SELECT owner_id, followee_id FROM graph_followee WHERE NOT shows_reposts"
            )
            self.languages = _languages(_LANGUAGES)
            self.blocks = pairs("SELECT owner_id, blocked_id FROM graph_block")
            self.mutes = pairs("SELECT owner_id, muted_id FROM graph_mute")
            self.elsewhere = pairs(_ELSEWHERE)
            self.tagged = pairs(_TAGGED)
            self.named = pairs("SELECT post_id, user_id FROM posts_mention")
            self.members = pairs("SELECT circle_id, member_id FROM graph_circlemember")
            self.likes = pairs("SELECT post_id, user_id FROM engagement_like")
            self.bookmarks = pairs("SELECT post_id, user_id FROM engagement_bookmark")
        self.answers_above, self.answers_below = 0, MAX_ID

    @classmethod
    def of_viewer(
        cls,
        viewer_id: int,
        *,
        above: int = 0,
        below: int = MAX_ID,
        also: Collection[int] = (),
        maximum: int = MAX_POSTS,
    ) -> Self:
        """The part that a viewer's home between two ids (exclusive) depends on: at most `maximum` posts, newest first.

        `also` are further posts to read. With more than `maximum` posts, `answers_above` is one below the lowest id read.
        Without counts, likes and bookmarks.
        """
        self = cls.__new__(cls)
        bounds = {"viewer": viewer_id, "above": above, "below": below, "maximum": maximum}
        with snapshot():
            found = [row["id"] for row in rows(PULL, bounds)]
            self.answers_above = found[-1] - 1 if len(found) == maximum else above
            self._read_posts({*found, *also}, viewer_id)
        self.answers_below = below
        return self

    def _read_posts(self, ids: Collection[int], viewer: int) -> None:
        by_ids = f"SELECT {_COLUMNS} FROM posts_post WHERE id = ANY(%(ids)s)"  # noqa: S608 -- a constant
        self.posts = _by_id(rows(by_ids, {"ids": list(ids)}))
        sources = [post["source_id"] for post in self.posts.values() if post["source_id"]]
        self.posts |= _by_id(rows(by_ids, {"ids": sources}))
        values = {
            "viewer": viewer,
            "posts": list(self.posts),
            "authors": list({post["author_id"] for post in self.posts.values()}),
            "circles": list({post["circle_id"] for post in self.posts.values()} - {None}),
        }
        self.circles = _by_id(
            rows("SELECT * FROM graph_circle WHERE id = ANY(%(circles)s)", values)
        )
        self.suspended = _ids(
            "SELECT id FROM accounts_user WHERE id = ANY(%(authors)s) AND suspended_at IS NOT NULL",
            values,
        )
        mine = "owner_id = %(viewer)s AND {} = ANY(%(authors)s)"
        self.follows = pairs(
            f"SELECT owner_id, followee_id FROM graph_followee WHERE {mine.format('followee_id')}",  # noqa: S608 -- constants
            values,
        )
        self.unshared = pairs(
            f"SELECT owner_id, followee_id FROM graph_followee WHERE NOT shows_reposts AND {mine.format('followee_id')}",  # noqa: S608 -- constants
            values,
        )
        self.languages = _languages(f"{_LANGUAGES} AND {mine.format('followee_id')}", values)
        self.blocks = pairs(
            f"""SELECT owner_id, blocked_id FROM graph_block WHERE {mine.format("blocked_id")}
                OR (blocked_id = %(viewer)s AND owner_id = ANY(%(authors)s))""",  # noqa: S608 -- constants
            values,
        )
        self.mutes = pairs(
            f"SELECT owner_id, muted_id FROM graph_mute WHERE {mine.format('muted_id')}",  # noqa: S608 -- constants
            values,
        )
        self.elsewhere = pairs(f"{_ELSEWHERE} AND l.owner_id = %(viewer)s", values)
        mine = "AND f.user_id = %(viewer)s AND u.post_id = ANY(%(posts)s)"
        self.tagged = pairs(f"{_TAGGED} {mine}", values)
        self.named = pairs(
            "SELECT post_id, user_id FROM posts_mention WHERE user_id = %(viewer)s AND post_id = ANY(%(posts)s)",
            values,
        )
        self.members = pairs(
            """SELECT circle_id, member_id FROM graph_circlemember
               WHERE member_id = %(viewer)s AND circle_id = ANY(%(circles)s)""",
            values,
        )
        self.likes, self.bookmarks = defaultdict(set), defaultdict(set)

    def may_see(self, viewer: int, post_id: int) -> bool:
        """Whether a viewer may see a post: the rules of the site, written a second time."""
        post = self.posts.get(post_id)
        if post is None or post["deleted_at"] is not None or post["author_id"] in self.suspended:
            return False
        author = post["author_id"]
        if author in self.blocks[viewer] or viewer in self.blocks[author]:
            return False
        return post["visibility"] in OPEN or author == viewer or self._is_addressed(viewer, post)

    def _is_addressed(self, viewer: int, post: Row) -> bool:
        if post["visibility"] == "circle":
            circle = self.circles[post["circle_id"]]
            inside = circle["owner_id"] == viewer or viewer in self.members[circle["id"]]
            return inside and circle["deleted_at"] is None
        followed = post["visibility"] == "followers" and post["author_id"] in self.follows[viewer]
        return followed or viewer in self.named[post["id"]]

    def is_shown(self, viewer: int, post_id: int) -> bool:
        """Whether a post is visible, and the source of a repost too."""
        if not self.may_see(viewer, post_id):
            return False
        post = self.posts[post_id]
        return post["kind"] != "repost" or self.may_see(viewer, post["source_id"])

    def is_muted(self, viewer: int, post: Row) -> bool:
        """Whether the viewer mutes the author, or the author of a repost's source."""
        authors = {post["author_id"]}
        if post["kind"] == "repost":
            authors.add(self.posts[post["source_id"]]["author_id"])
        return bool(authors & self.mutes[viewer])

    def is_home(self, viewer: int, post_id: int, *, tags: bool = True) -> bool:
        """Whether a post belongs on a viewer's home timeline; `tags=False` ignores followed tags."""
        if not self.is_shown(viewer, post_id):
            return False
        post = self.posts[post_id]
        shared = post["kind"] == "repost" and post["author_id"] in self.unshared[viewer]
        if (
            shared
            or post["author_id"] in self.elsewhere[viewer]
            or self.is_unwanted_language(viewer, post)
        ):
            return False
        known = post["author_id"] == viewer or post["author_id"] in self.follows[viewer]
        known = known or (tags and post_id in self.tagged[viewer])
        return (known or post["visibility"] == "circle") and not self.is_muted(viewer, post)

    def is_unwanted_language(self, viewer: int, post: Row) -> bool:
        """Whether the viewer chose only other languages for the author; `pt` includes `pt-BR`."""
        chosen, language = self.languages[viewer, post["author_id"]], post["language"].lower()
        if not chosen or not language or post["kind"] == "repost":
            return False
        return chosen.isdisjoint({language, language.split("-")[0]})

    def home(self, viewer: int, *, tags: bool = True) -> list[int]:
        """All ids of a home timeline between `answers_above` and `answers_below`, newest first."""
        return [
            post_id
            for post_id in sorted(self.posts, reverse=True)
            if self.answers_above < post_id < self.answers_below
            and self.is_home(viewer, post_id, tags=tags)
        ]

    def profile(self, author: int, viewer: int, *, replies: bool) -> list[int]:
        """All ids of a profile as a viewer sees it."""

        def belongs(post: Row) -> bool:
            if post["author_id"] != author:
                return False
            answered = self.posts.get(post["reply_to_id"])  # deleted ones too
            return replies or answered is None or answered["author_id"] == author

        return self._newest_first(viewer, belongs)

    def public(self, viewer: int) -> list[int]:
        """All ids of the public timeline as a viewer sees it."""

        def belongs(post: Row) -> bool:
            is_public = post["visibility"] == "public" and post["kind"] != "repost"
            return is_public and not self.is_muted(viewer, post)

        return self._newest_first(viewer, belongs)

    def counts(self, post_id: int) -> tuple[int, int, int]:
        """(replies, reposts, likes), counted from their rows; only open posts count."""
        counted = [post for post in self.posts.values() if _is_counted(post)]
        replies = sum(post["reply_to_id"] == post_id for post in counted)
        reposts = sum(post["kind"] == "repost" and post["source_id"] == post_id for post in counted)
        return replies, reposts, len(self.likes[post_id])

    def user_counts(self, user: int) -> tuple[int, int, int]:
        """(followers, following, posts); only open posts count."""
        posts = Counter(post["author_id"] for post in self.posts.values() if _is_counted(post))
        followers = sum(user in others for others in self.follows.values())
        return followers, len(self.follows[user]), posts[user]

    def _newest_first(self, viewer: int, belongs: Callable[[Row], bool]) -> list[int]:
        return [
            post_id
            for post_id in sorted(self.posts, reverse=True)
            if self.is_shown(viewer, post_id) and belongs(self.posts[post_id])
        ]


@contextmanager
def snapshot() -> Iterator[None]:
    """A read-only snapshot for all reads inside; within a transaction of the caller, the isolation of that one."""
    nested = connection.in_atomic_block
    with transaction.atomic():
        if not nested:
            with connection.cursor() as sql:
                sql.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def rows(statement: str, values: dict[str, Any] | None = None) -> list[Row]:
    """The rows of a statement as dictionaries."""
    with connection.cursor() as sql:
        sql.execute(statement, values or {})
        names = [column.name for column in sql.description or ()]
        return [dict(zip(names, row, strict=True)) for row in sql.fetchall()]


def pairs(statement: str, values: dict[str, Any] | None = None) -> Pairs:
    """The rows of a statement with two columns: sets of the second by the first."""
    by_first: Pairs = defaultdict(set)
    for row in rows(statement, values):
        first, second = row.values()
        by_first[first].add(second)
    return by_first


def _languages(statement: str, values: dict[str, Any] | None = None) -> Languages:
    languages: Languages = defaultdict(set)
    for row in rows(statement, values):
        reader, author, language = row.values()
        languages[reader, author].add(language)
    return languages


def _is_counted(post: Row) -> bool:
    return post["deleted_at"] is None and post["visibility"] in OPEN


def _by_id(found: list[Row]) -> dict[int, Row]:
    return {row["id"]: row for row in found}


def _ids(statement: str, values: dict[str, Any] | None = None) -> set[int]:
    return {row["id"] for row in rows(statement, values)}
