"""Ids to `FeedItem`s in a fixed number of bulk reads, through the gate of the posts app."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.engagement.queries import Engaged, engaged
from apps.graph.queries import Relations
from apps.ids import author_of
from apps.posts.queries import Known, VisiblePosts, reposted_ids, visible_posts
from apps.timeline.items import FeedItem, ViewerFlags


@dataclass(frozen=True, slots=True)
class Hydrated:
    """The items that the viewer may see, in the order asked for, and the relations to all their authors."""

    items: list[FeedItem]
    relations: Relations


@dataclass(frozen=True, slots=True)
class _Parts:
    visible: VisiblePosts
    users: dict[int, User]
    engaged: Engaged
    reposted: Collection[int]
    viewer_id: int | None


def hydrate(
    viewer_id: int | None, post_ids: Sequence[int], *, known: Known | None = None
) -> Hydrated:
    """Everything a page of up to 200 ids needs. Ids that the viewer may not see are left out."""
    visible = _visible(viewer_id, post_ids, known)
    seen = list(visible.posts)
    people = {post.author_id for post in visible.posts.values()}
    people |= {author_of(post.reply_to_id) for post in visible.posts.values() if post.reply_to_id}
    parts = _Parts(
        visible,
        users_by_id(people),
        engaged(viewer_id, seen),
        reposted_ids(viewer_id, seen),
        viewer_id,
    )
    items = [_item(parts, post_id) for post_id in post_ids]
    return Hydrated([item for item in items if item is not None], visible.relations)


def _visible(viewer_id: int | None, post_ids: Sequence[int], known: Known | None) -> VisiblePosts:
    """The posts and their sources; and what the quotes among reposted posts quote, when there are any."""
    first = visible_posts(viewer_id, post_ids, known=known)
    shared = [
        first.posts.get(post.source_id or 0) for post in first.posts.values() if post.is_repost
    ]
    deeper = {post.source_id for post in shared if post and post.source_id} - first.posts.keys()
    if not deeper:
        return first
    second = visible_posts(viewer_id, [post_id for post_id in deeper if post_id])
    return VisiblePosts(
        first.posts | second.posts,
        first.counts | second.counts,
        first.relations | second.relations,
        first.circles | second.circles,
    )


def _item(parts: _Parts, post_id: int, *, nested: bool = False) -> FeedItem | None:
    post = parts.visible.posts.get(post_id)
    author = parts.users.get(post.author_id) if post else None
    if post is None or author is None:
        return None
    source = None
    if post.source_id and not nested:  # a quote inside a quote is not shown
        source = _item(parts, post.source_id, nested=not post.is_repost)
    if post.is_repost and source is None:
        return None  # what it shares is gone, or not for this viewer
    answered = parts.users.get(author_of(post.reply_to_id)) if post.reply_to_id else None
    return FeedItem(
        post=post,
        author=author,
        counts=parts.visible.counts[post_id],
        flags=ViewerFlags(
            liked=post_id in parts.engaged.liked,
            bookmarked=post_id in parts.engaged.bookmarked,
            reposted=post_id in parts.reposted,
            own=post.author_id == parts.viewer_id,
            read=post_id in parts.engaged.read and post.author_id != parts.viewer_id,
        ),
        source=source,
        is_nested=nested,
        reply_to_handle=answered.handle if answered else "",
        circle_name=parts.visible.circles.get(post.circle_id or 0, ""),
    )
