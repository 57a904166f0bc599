"""Reads viewers' marks on posts.

The existence filters answer most lookups, so a viewer who has marked nothing on a page usually causes no query. For
marks with rows, every "perhaps" and "unknown" is checked against the rows, so no like appears by mistake, and a removed
like disappears at once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from apps.engagement.cache import RECOMMENDED
from apps.engagement.marks import ON_PAGES, ROW_MARKS
from apps.engagement.models import Bookmark, Like
from apps.pagination import Cursor, Page, page_of_rows
from apps.sql import rows_of, rows_of_each
from feedcache.ids import authors_of
from feedcache.read_through import Batch, Future
from feedcache.structures.bloom import Answer, Marks, check_many, queue_many

Existence = Mapping[Marks, Answer]

_ENGAGED = " UNION ALL ".join(
    f"SELECT '{mark.flag}', post_id, {mark.value_sql} FROM {mark.table}"  # noqa: S608 -- only our own table and column names
    f" WHERE user_id = %(viewer)s AND post_id = ANY(%({mark.flag})s)"
    for mark in ROW_MARKS
)

_POLLS = """
SELECT post_id, votes, voters FROM posts_poll WHERE post_id = ANY(%(posts)s) AND author_id = ANY(%(authors)s);
SELECT poll_id, array_agg(choice ORDER BY choice) FROM engagement_vote
WHERE poll_id = ANY(%(posts)s) AND user_id = %(viewer)s GROUP BY poll_id
"""


@dataclass(frozen=True, slots=True)
class Engaged:
    """A viewer's marks on posts: the flags that are set, by post. `read` is wrong for about 1 % of unread posts."""

    flags: defaultdict[int, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, flag: str, post_ids: Iterable[int], *, value: Any = True) -> None:
        for post_id in post_ids:
            self.flags[post_id][flag] = value

    def posts(self, flag: str) -> set[int]:
        """The ids of posts with a flag."""
        return {post_id for post_id, flags in self.flags.items() if flag in flags}


def engaged(viewer_id: int | None, post_ids: Collection[int]) -> Engaged:
    """A viewer's marks on these posts, in at most one query; empty for visitors."""
    if viewer_id is None or not post_ids:
        return Engaged()
    return confirmed(viewer_id, [check_many(viewer_id, dict.fromkeys(ON_PAGES.values(), post_ids))])


def ask_existence(
    batch: Batch, viewer_id: int | None, post_ids: Collection[int]
) -> Future[Existence]:
    """Queue queries of the existence filters for a viewer and posts. `confirmed` checks the answers."""
    if viewer_id is None or not post_ids:
        return dict
    return queue_many(batch, viewer_id, dict.fromkeys(ON_PAGES.values(), post_ids), stage="flags")


def recommended_earlier(viewer_id: int, post_ids: Collection[int]) -> AbstractSet[int]:
    """The posts recommended to a viewer earlier and, by mistake, about 1 % of the others; none while Redis is down."""
    return check_many(viewer_id, {RECOMMENDED: post_ids})[RECOMMENDED].perhaps


def confirmed(viewer_id: int | None, answers: Sequence[Existence]) -> Engaged:
    """A viewer's marks, from the filters' answers in one or more batches, confirmed in at most one query."""
    result = Engaged()
    doubtful: dict[str, list[int]] = {mark.flag: [] for mark in ROW_MARKS}
    for answer in filter(None, answers):
        for flag, marks in ON_PAGES.items():
            if flag in doubtful:
                doubtful[flag] += [*answer[marks].perhaps, *answer[marks].unknown]
            else:
                result.add(flag, answer[marks].perhaps)
    if any(doubtful.values()):
        for flag, post_id, chosen in rows_of(_ENGAGED, {"viewer": viewer_id, **doubtful}):
            result.add(flag, [post_id], value=chosen or True)
    return result


@dataclass(frozen=True, slots=True)
class PollResult:
    """The votes of each option, the number of voters, and the options that the viewer chose."""

    votes: tuple[int, ...] = ()
    voters: int = 0
    own: tuple[int, ...] = ()


def poll_results(viewer_id: int | None, post_ids: Collection[int]) -> dict[int, PollResult]:
    """The poll results of posts, in at most one round trip."""
    if not post_ids:
        return {}
    authors = list(authors_of(post_ids))
    values = {"viewer": viewer_id, "posts": list(post_ids), "authors": authors}
    polls, votes = rows_of_each(_POLLS, values)
    own: dict[int, list[int]] = dict(votes)
    return {
        post_id: PollResult(tuple(of_options), voters, tuple(own.get(post_id, ())))
        for post_id, of_options, voters in polls
    }


def likes_page(user_id: int, cursor: Cursor) -> Page[Like]:
    """The likes of a user, newest first; the cursor is the id of the like."""
    return page_of_rows(Like.objects.filter(user=user_id), cursor)


def likers_page(post_id: int, cursor: Cursor) -> Page[Like]:
    """The likes of a post, newest first; the cursor is the id of the like."""
    return page_of_rows(Like.objects.filter(post=post_id), cursor)


def bookmarks_page(user_id: int, cursor: Cursor) -> Page[Bookmark]:
    """The bookmarks of a user, newest first; the cursor is the id of the bookmark."""
    return page_of_rows(Bookmark.objects.filter(user=user_id), cursor)
