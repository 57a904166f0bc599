"""What readers do with posts. A mark is declared here, once; everything that has to know of all marks reads it here.

These are: actions with their events, existence filters and their rebuilds, what a page reads of its reader, the
comparison of counts, notifications, archives and erasures, verbs of pages and of the API. What a mark does in a way
of its own, because it is more than a row (a vote, a repost, a read), stays where it was and is only declared; that
nothing was forgotten is checked when the site starts (`checks`) and by `tests/engagement/test_marks.py`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Model

from apps.engagement.cache import BOOKMARKS, LIKES, READS, RECOMMENDED, of_rows
from apps.engagement.models import Bookmark, Like, Reaction, ReactionName, Vote
from apps.posts.models import Post
from feedcache.structures.bloom import Marks


class ViewerFlags(NamedTuple):
    """The viewer's own actions on a post."""

    liked: bool = False
    bookmarked: bool = False
    reposted: bool = False
    own: bool = False
    muted: bool = False  # the thread it belongs to
    read: bool = False  # from a Bloom filter: wrong once in a hundred times
    reaction: str = ""  # its name


class Endpoint(NamedTuple):
    """How the API makes and takes back a mark: `POST /api/:api/statuses/:id/:verb`, and `unverb`.

    A mark with a choice has its name behind the verb.
    """

    api: str
    verb: str
    scope: str
    summary: str
    undo_summary: str


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What a reader can do with a post.

    `counts` are columns of `PostCounts`, `flag` is a field of `ViewerFlags`, `status` are the fields of the API's
    statuses that say them. `exists` answers whether a reader may have made the mark. `archive` is the file of
    a member's archive, `erasure` the step of an erasure: empty where nothing is kept about a member.
    """

    kind: str
    model: type[Model] | None
    counts: tuple[str, ...] = ()
    flag: str = ""
    exists: Marks | None = None
    status: tuple[str, ...] = ()
    archive: str = ""
    erasure: str = ""


@dataclass(frozen=True, kw_only=True)
class RowMark(Mark):
    """A mark that is a row of `user` and `post`. With `is_told` the author gets a notification of this kind.

    `choice` is a field of the row: which of `counts` it adds to. A reader has one row for each post, and may choose
    again.
    """

    model: type[Like] | type[Bookmark] | type[Reaction]
    exists: Marks
    endpoint: Endpoint
    is_told: bool = False
    choice: str = ""

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @property
    def refers_to_posts(self) -> bool:
        """Whether PostgreSQL holds its rows to posts: not for new marks, because posts may be on other servers."""
        post: Any = self.model._meta.get_field("post")
        return bool(post.db_constraint)

    @property
    def value_sql(self) -> str:
        """What a row sets the flag to."""
        return self.choice or "NULL"

    def counted_sql(self, column: str) -> str:
        """How many rows add to a count, by post."""
        only = f" AND {self.choice} = '{column}'" if self.choice else ""
        return f"SELECT post_id, count(*) FROM {self.table} WHERE post_id = ANY(%(ids)s){only} GROUP BY 1"  # noqa: S608 -- names of ours

    @property
    def verbs(self) -> dict[str, str]:
        """The verbs that pages have for it, with what each chooses."""
        return (
            {f"{self.kind}_{one}": one for one in self.counts} if self.choice else {self.kind: ""}
        )

    @property
    def names(self) -> dict[str, str]:
        """What can be chosen, by the names that people and the API have for it."""
        if not self.choice:
            return {}
        field: Any = self.model._meta.get_field(self.choice)
        return {str(label): value for value, label in field.flatchoices}


LIKE = RowMark(
    kind="like",
    model=Like,
    counts=("likes",),
    flag="liked",
    exists=LIKES,
    is_told=True,
    status=("favourites_count", "favourited"),
    endpoint=Endpoint("v1", "favourite", "write:favourites", "Like a post", "Take back a like"),
    archive="likes.csv",
    erasure="likes",
)
BOOKMARK = RowMark(
    kind="bookmark",
    model=Bookmark,
    counts=("bookmarks",),
    flag="bookmarked",
    exists=BOOKMARKS,
    status=("bookmarked",),  # how many there are is told to nobody
    endpoint=Endpoint(
        "v1", "bookmark", "write:bookmarks", "Keep a post for later", "Drop a bookmark"
    ),
    archive="bookmarks.csv",
    erasure="bookmarks",
)
REACTION = RowMark(
    kind="react",
    model=Reaction,
    counts=tuple(ReactionName.values),
    choice="name",
    flag="reaction",
    exists=of_rows("react"),
    is_told=True,
    status=("reactions",),
    endpoint=Endpoint(
        "x", "react", "write:favourites", "React to a post with an emoji", "Take back a reaction"
    ),
    archive="reactions.csv",
    erasure="reactions",
)
# The filter is their only record.
READ = Mark(
    kind="read", model=None, counts=("reads",), flag="read", exists=READS, status=("reads_count",)
)
# A post of its own: published, cached and told as one.
REPOST = Mark(
    kind="repost",
    model=Post,
    counts=("reposts",),
    flag="reposted",
    status=("reblogs_count", "reblogged"),
    archive="posts.jsonl",
    erasure="posts",
)
# Of a poll, which counts its votes itself.
VOTE = Mark(kind="vote", model=Vote, status=("poll",), archive="votes.csv", erasure="votes")

MARKS: tuple[Mark, ...] = (LIKE, BOOKMARK, REACTION, READ, REPOST, VOTE)
ROW_MARKS = tuple(mark for mark in MARKS if isinstance(mark, RowMark))

# What a page asks of its reader and posts, by the flag that the answer sets.
ON_PAGES = {mark.flag: mark.exists for mark in MARKS if mark.exists is not None}
# All existence filters, by kind. What was recommended is seen on no page.
FILTERS = {marks.kind: marks for marks in (*ON_PAGES.values(), RECOMMENDED)}
