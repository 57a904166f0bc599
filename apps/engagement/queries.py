"""Reads of engagement.

The existence filters answer most of them: whoever marked nothing on a page costs no query. What they take for marked is
looked up before anybody sees it, so a like is never shown that was not given, and one taken back is gone at once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from apps.engagement.cache import BOOKMARKS, LIKES, READS
from apps.engagement.models import Bookmark, Like
from apps.paging import Cursor, Page, page_of_rows
from apps.sql import rows_of
from feedcache.batch import Batch, Future
from feedcache.structures.bloom.existence import Answer, check_many, queue_many
from feedcache.structures.bloom.segments import Marks

KINDS_SHOWN = (LIKES, BOOKMARKS, READS)
Filters = Mapping[Marks, Answer]

# Written out, like the relations: it runs on many pages.
_ENGAGED = """
SELECT 'like', post_id FROM engagement_like WHERE user_id = %(viewer)s AND post_id = ANY(%(likes)s)
UNION ALL
SELECT 'bookmark', post_id FROM engagement_bookmark
WHERE user_id = %(viewer)s AND post_id = ANY(%(bookmarks)s)
"""

_POLLS = """
SELECT post_id, votes, voters,
       ARRAY(SELECT choice FROM engagement_vote v WHERE v.poll_id = p.post_id AND v.user_id = %(viewer)s ORDER BY choice)
FROM posts_poll p WHERE post_id = ANY(%(posts)s)
"""


@dataclass(frozen=True, slots=True)
class Engaged:
    """Which of some posts a viewer liked and bookmarked; and which were perhaps read, wrong once in a hundred times."""

    liked: set[int] = field(default_factory=set)
    bookmarked: set[int] = field(default_factory=set)
    read: set[int] = field(default_factory=set)


def engaged(viewer_id: int | None, post_ids: Collection[int]) -> Engaged:
    """What a viewer did with these posts, in at most one query; nothing for anonymous viewers."""
    if viewer_id is None or not post_ids:
        return Engaged()
    return confirmed(viewer_id, [check_many(viewer_id, dict.fromkeys(KINDS_SHOWN, post_ids))])


def ask_filters(trip: Batch, viewer_id: int | None, post_ids: Collection[int]) -> Future[Filters]:
    """What the filters say of a viewer and posts, as a part of a trip; `confirmed` makes facts of it."""
    if viewer_id is None or not post_ids:
        return dict
    return queue_many(trip, viewer_id, dict.fromkeys(KINDS_SHOWN, post_ids), stage="flags")


def confirmed(viewer_id: int | None, answers: Sequence[Filters]) -> Engaged:
    """What a viewer did, by what the filters said in one or several trips, in at most one query."""
    result = Engaged()
    likes: list[int] = []
    bookmarks: list[int] = []
    for one in filter(None, answers):
        result.read.update(one[READS].perhaps)
        likes += _doubtful(one[LIKES])
        bookmarks += _doubtful(one[BOOKMARKS])
    if not likes and not bookmarks:
        return result
    values = {"viewer": viewer_id, "likes": likes, "bookmarks": bookmarks}
    for kind, post_id in rows_of(_ENGAGED, values):
        (result.liked if kind == "like" else result.bookmarked).add(post_id)
    return result


def _doubtful(answer: Answer) -> list[int]:
    return [*answer.perhaps, *answer.unknown]


@dataclass(frozen=True, slots=True)
class PollResult:
    """What was voted in a poll, option by option, by how many, and what the viewer chose."""

    votes: tuple[int, ...] = ()
    voters: int = 0
    own: tuple[int, ...] = ()


def poll_results(viewer_id: int | None, post_ids: Collection[int]) -> dict[int, PollResult]:
    """What was voted in the polls of posts; one query, none without polls."""
    if not post_ids:
        return {}
    return {
        post_id: PollResult(tuple(votes), voters, tuple(own))
        for post_id, votes, voters, own in rows_of(
            _POLLS, {"viewer": viewer_id, "posts": list(post_ids)}
        )
    }


def likes_page(user_id: int, cursor: Cursor) -> Page[Like]:
    """What a user likes, newest like first; the cursor is the like's id."""
    return page_of_rows(Like.objects.filter(user=user_id), cursor)


def likers_page(post_id: int, cursor: Cursor) -> Page[Like]:
    """Who likes a post, newest like first; the cursor is the like's id."""
    return page_of_rows(Like.objects.filter(post=post_id), cursor)


def bookmarks_page(user_id: int, cursor: Cursor) -> Page[Bookmark]:
    """What a user keeps, newest bookmark first; the cursor is the bookmark's id."""
    return page_of_rows(Bookmark.objects.filter(user=user_id), cursor)
