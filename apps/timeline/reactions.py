"""Reactions to a post: likers, reposters, quotes; and the viewer's bookmarks and favourites."""

from collections.abc import Sequence

from django.db.models import Exists, OuterRef

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.engagement.models import Bookmark, Like
from apps.engagement.queries import bookmarks_page, likers_page, likes_page
from apps.graph.models import Block
from apps.graph.queries import exact_relations
from apps.paging import Cursor, Page, page_of_rows
from apps.posts.models import Kind, Post
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import fill_page, not_muted
from apps.timeline.thread import visible_item


def likers(viewer_id: int | None, post_id: int, cursor: Cursor) -> Page[User]:
    """Who likes a post, or the source of a repost, the last first. The cursor is the like's id. NotFound."""
    shown = visible_item(viewer_id, post_id).shown
    page = likers_page(shown.id, cursor)
    return page.mapped(_people(viewer_id, [like.user_id for like in page.items]))


def reposters(viewer_id: int | None, post_id: int, cursor: Cursor) -> Page[User]:
    """Who reposted a post, the last first; the cursor is the repost's id. NotFound."""
    shown = visible_item(viewer_id, post_id).shown
    reposts = Post.objects.filter(
        source=shown.id, kind=Kind.REPOST, deleted_at=None, author__suspended_at=None
    )
    if viewer_id is not None:  # the cursor would name a repost that the viewer may not see
        blocked = Block.objects.filter(owner=viewer_id, blocked=OuterRef("author"))
        blocking = Block.objects.filter(owner=OuterRef("author"), blocked=viewer_id)
        reposts = reposts.exclude(Exists(blocked) | Exists(blocking))
    page: Page[Post] = page_of_rows(reposts, cursor)
    return page.mapped(_people(viewer_id, [post.author_id for post in page.items]))


def quotes_timeline(viewer_id: int | None, post_id: int, cursor: Cursor) -> Page[FeedItem]:
    """The quotes of a post that the viewer may see, newest first. NotFound."""
    shown = visible_item(viewer_id, post_id).shown

    def quotes(bounds: Cursor, count: int) -> Sequence[int]:
        rows = Post.objects.filter(source=shown.id, kind=Kind.QUOTE, deleted_at=None)
        rows = rows.filter(pk__gt=bounds.floor).order_by("pk" if bounds.ascending else "-pk")
        if bounds.max_id is not None:
            rows = rows.filter(pk__lt=bounds.max_id)
        return list(rows.values_list("pk", flat=True)[:count])

    return fill_page(quotes, viewer_id=viewer_id, cursor=cursor, rule=not_muted)


def _people(viewer_id: int | None, user_ids: list[int]) -> list[User]:
    """The users in that order, without suspended accounts, mutes, and blocks in either direction."""
    hidden = set[int]()
    if viewer_id is not None:
        related = exact_relations(viewer_id, user_ids)
        hidden = set(related.severed | related.muting)
    people = users_by_id(user_ids)
    return [people[pk] for pk in user_ids if pk in people and pk not in hidden]


def bookmarks_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    return _posts(viewer, bookmarks_page(viewer.pk, cursor))


def favourites_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    return _posts(viewer, likes_page(viewer.pk, cursor))


def _posts(viewer: User, page: Page[Bookmark] | Page[Like]) -> Page[FeedItem]:
    return page.mapped(hydrate(viewer.pk, [mark.post_id for mark in page.items]).items)
