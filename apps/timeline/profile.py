"""The profile timeline: one author's posts as a viewer sees them.

Ids: the author's last two weeks and the outbox, which is the same for everybody, and from PostgreSQL the restricted posts that are for this
viewer, when there can be any.
"""

from dataclasses import replace
from functools import partial

from apps.accounts.models import User
from apps.graph.queries import exact_relations
from apps.paging import Cursor, Page
from apps.posts.queries import Known
from apps.posts.recent import recent_posts
from apps.timeline import merge, outbox, pull
from apps.timeline.items import FeedItem
from apps.timeline.pages import anything, fill_page


def profile_timeline(
    author: User, viewer_id: int | None, cursor: Cursor, *, replies: bool
) -> Page[FeedItem]:
    """A page of an author's posts and reposts, with or without replies; mutes do not apply here."""
    known: Known = {}
    if viewer_id is None:
        source = partial(_open_ids, author, known, replies=replies)
    else:
        source = partial(profile_ids, author, viewer_id, replies=replies)
    return fill_page(source, viewer_id=viewer_id, cursor=cursor, rule=anything, known=known)


def _open_ids(
    author: User, known: Known, cursor: Cursor, count: int, *, replies: bool
) -> list[int]:
    """For visitors: from the author's last two weeks, which bring the contents along, and below them from the outbox.

    Members read the outbox at once: it says whether there can be restricted posts for them.
    """
    recent = recent_posts(author, cursor, count, replies=replies)
    known.update({post.id: post for post in recent.posts})
    ids = [post.id for post in recent.posts]
    rest = recent.rest(cursor, count)
    if rest is None:
        return ids
    revision, left = author.counts.outbox_revision, count - len(ids)
    below, _number = outbox.of_author(author.pk, revision, rest, left, replies=replies)
    return ids + below


def profile_ids(
    author: User, viewer_id: int | None, cursor: Cursor, count: int, *, replies: bool
) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order."""
    counts = author.counts
    public, number = outbox.of_author(
        author.pk, counts.outbox_revision, cursor, count, replies=replies
    )
    if viewer_id is None or number == counts.posts:  # nobody, or nothing, to restrict
        return public
    restricted = pull.restricted_ids(
        author.pk,
        viewer_id,
        follows=author.pk in exact_relations(viewer_id, [author.pk]).following,
        cursor=_until(public, cursor, count),
        count=count,
        replies=replies,
    )
    return merge.page([public, restricted], count, ascending=cursor.ascending)


def _until(ids: list[int], cursor: Cursor, count: int) -> Cursor:
    """The part of the bounds that a full page covers; beyond its last id nothing can be on the page."""
    if len(ids) < count:
        return cursor
    last = ids[-1]
    return replace(cursor, max_id=last) if cursor.ascending else replace(cursor, since_id=last)
