"""Declares the marks: the actions that readers can take on posts. Code that needs all marks imports them from here.

Much else is derived from the marks: actions and their events, existence filters and their rebuilds, the viewer's flags
on pages, the comparison of counts, notifications, archives and erasures, and the verbs of pages and the API. A mark
that is not just a row (a vote, a repost, a read) is implemented elsewhere and only declared here. A system check
(`checks`) and `tests/engagement/test_marks.py` find marks that are not declared completely.
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
    muted: bool = False  # whether the viewer has muted the thread
    read: bool = False  # from a Bloom filter: wrong for about one unread post in a hundred
    reaction: str = ""  # the viewer's reaction, a value of `ReactionName`


class Endpoint(NamedTuple):
    """`POST /api/:api/statuses/:id/:verb` sets a mark; the same path with `un` before the verb removes the mark.

    If the mark has choices, the path that sets the mark ends in the name of the chosen option.
    """

    api: str
    verb: str
    scope: str
    summary: str
    undo_summary: str


@dataclass(frozen=True, kw_only=True)
class Mark:
    """An action that a reader can take on a post.

    `counts` are columns of `PostCounts`, `flag` is a field of `ViewerFlags`, and `status` names the fields of the API's
    statuses that show the counts and the flag. The filter `exists` shows whether a reader may have set the mark.
    `archive` is a file in a member's archive, and `erasure` an erasure step; both are empty if nothing is stored about
    a member.
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
    """A mark that is a row with `user` and `post`. With `notifies_author`, the post's author is notified.

    `choice` names the field of the row that selects which of `counts` the row adds to. A reader has one row per post,
    and can change the choice.
    """

    model: type[Like] | type[Bookmark] | type[Reaction]
    exists: Marks
    endpoint: Endpoint
    notifies_author: bool = False
    choice: str = ""

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @property
    def refers_to_posts(self) -> bool:
        """Whether the table has a foreign key to posts. New marks have none, because posts may be on other servers."""
        post: Any = self.model._meta.get_field("post")
        return bool(post.db_constraint)

    @property
    def value_sql(self) -> str:
        """SQL for the value that a row gives to the flag; NULL means True."""
        return self.choice or "NULL"

    def counted_sql(self, column: str) -> str:
        """SQL for the number of rows that add to a count, by post."""
        only = f" AND {self.choice} = '{column}'" if self.choice else ""
        return f"SELECT post_id, count(*) FROM {self.table} WHERE post_id = ANY(%(ids)s){only} GROUP BY 1"  # noqa: S608 -- only our own table and column names

    @property
    def verbs(self) -> dict[str, str]:
        """The verbs with which the site's pages set the mark, each mapped to its choice ("" if there is none)."""
        return (
            {f"{self.kind}_{one}": one for one in self.counts} if self.choice else {self.kind: ""}
        )

    @property
    def names(self) -> dict[str, str]:
        """The possible choices, by their labels (for reactions, emoji), which people see and the API calls names."""
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
    notifies_author=True,
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
    status=("bookmarked",),  # the number of bookmarks is not published
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
    notifies_author=True,
    status=("reactions",),
    endpoint=Endpoint(
        "x", "react", "write:favourites", "React to a post with an emoji", "Take back a reaction"
    ),
    archive="reactions.csv",
    erasure="reactions",
)
# The existence filter is the only record of who has read a post.
READ = Mark(
    kind="read", model=None, counts=("reads",), flag="read", exists=READS, status=("reads_count",)
)
# A repost is a post: publishing, caches and notifications treat it as one.
REPOST = Mark(
    kind="repost",
    model=Post,
    counts=("reposts",),
    flag="reposted",
    status=("reblogs_count", "reblogged"),
    archive="posts.jsonl",
    erasure="posts",
)
# The counts of votes are in the poll.
VOTE = Mark(kind="vote", model=Vote, status=("poll",), archive="votes.csv", erasure="votes")

MARKS: tuple[Mark, ...] = (LIKE, BOOKMARK, REACTION, READ, REPOST, VOTE)
ROW_MARKS = tuple(mark for mark in MARKS if isinstance(mark, RowMark))

# The existence filters that pages query, by the flag that the answer sets.
ON_PAGES = {mark.flag: mark.exists for mark in MARKS if mark.exists is not None}
# All existence filters, by kind. RECOMMENDED is not in `ON_PAGES`, because no page shows past recommendations.
FILTERS = {marks.kind: marks for marks in (*ON_PAGES.values(), RECOMMENDED)}
