"""The profile timeline: one author's posts as a viewer sees them."""

from functools import partial

from apps.accounts.models import User
from apps.graph.queries import exact_relations
from apps.paging import Cursor, Page
from apps.timeline import pull
from apps.timeline.items import FeedItem
from apps.timeline.pages import anything, fill_page


def profile_timeline(
    author: User, viewer_id: int | None, cursor: Cursor, *, replies: bool
) -> Page[FeedItem]:
    """A page of an author's posts and reposts, with or without replies; mutes do not apply here."""
    follows = author.pk in exact_relations(viewer_id, [author.pk]).following
    source = partial(_ids, author.pk, viewer_id, follows=follows, replies=replies)
    return fill_page(source, viewer_id=viewer_id, cursor=cursor, rule=anything)


def _ids(
    author_id: int,
    viewer_id: int | None,
    cursor: Cursor,
    count: int,
    *,
    follows: bool,
    replies: bool,
) -> list[int]:
    return pull.author_ids(
        author_id, viewer_id, follows=follows, cursor=cursor, count=count, replies=replies
    )
