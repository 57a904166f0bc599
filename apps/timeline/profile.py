"""The profile timeline: one author's posts as a viewer sees them.

Ids: the author's last two weeks and the outbox, which is the same for everybody, and from PostgreSQL the restricted posts that are for this
viewer, when there can be any.
"""

from dataclasses import dataclass, replace
from functools import partial

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from apps.accounts.models import User
from apps.graph.queries import Relations, exact_relations
from apps.paging import Cursor, Page
from apps.posts.cache.recent import recent_posts
from apps.posts.models import Attachment, Kind, Post, Visibility
from apps.posts.queries import Preloaded
from apps.tags.names import normal
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Source, anything, fill_page
from apps.timeline.sources import merge, outbox, sql

_PICTURES = Attachment.objects.filter(post=OuterRef("pk"))


@dataclass(frozen=True, slots=True)
class ProfileFilter:
    """Which of an author's posts a page is made of."""

    replies: bool = True  # to others; a thread of the author's own is none
    reposts: bool = True
    mentioned: bool = True  # posts for mentioned people
    only_pictures: bool = False
    tag: str = ""  # a hashtag without its #

    @property
    def is_narrow(self) -> bool:
        """Whether PostgreSQL has to choose the posts: what is kept elsewhere knows only answers from other posts."""
        return self.only_pictures or not self.reposts or not self.mentioned


def profile_timeline(
    author: User, viewer_id: int | None, cursor: Cursor, wanted: ProfileFilter
) -> Page[FeedItem]:
    """A page of those of an author's posts and reposts that are wanted; mutes do not apply here."""
    preloaded: Preloaded = {}
    source: Source
    replies = wanted.replies
    if wanted.is_narrow:
        source = partial(_chosen_ids, author, viewer_id, wanted)
    elif viewer_id is None:
        source = partial(_open_ids, author, preloaded, replies=replies)
    else:
        source = partial(profile_ids, author, viewer_id, replies=replies)
    rule = partial(_has_tag, normal(wanted.tag)) if wanted.tag else anything
    page = fill_page(source, viewer_id=viewer_id, cursor=cursor, rule=rule, preloaded=preloaded)
    if not page.items and author.pk in exact_relations(viewer_id, [author.pk]).severed:
        return Page()  # its cursor would name a post that the viewer may not see
    return page


def pinned_posts(author: User, viewer_id: int | None) -> list[FeedItem]:
    """What an author pinned, as far as the viewer may see it, the last pinned first."""
    pinned = Post.objects.filter(author=author, deleted_at=None).exclude(pinned_at=None)
    newest = pinned.order_by("-pinned_at")[: settings.PINNED_POSTS_MAX]
    ids = list(newest.values_list("pk", flat=True))
    return hydrate(viewer_id, ids).items if ids else []


def _has_tag(tag: str | None, item: FeedItem, _relations: Relations) -> bool:
    return tag in item.post.tags


def _chosen_ids(
    author: User, viewer_id: int | None, wanted: ProfileFilter, cursor: Cursor, count: int
) -> list[int]:
    follows = (
        viewer_id is not None and author.pk in exact_relations(viewer_id, [author.pk]).following
    )
    only = [
        condition
        for is_asked, condition in (
            (wanted.only_pictures, Q(kind=Kind.PICTURE) | Q(Q(kind=Kind.QUOTE), Exists(_PICTURES))),
            (not wanted.reposts, ~Q(kind=Kind.REPOST)),
            (not wanted.mentioned, ~Q(visibility=Visibility.MENTIONED)),
            (not wanted.replies, sql.answers_nobody_else()),
        )
        if is_asked
    ]
    return sql.author_ids(
        author.pk, viewer_id, follows=follows, cursor=cursor, count=count, only=Q(*only)
    )


def _open_ids(
    author: User, preloaded: Preloaded, cursor: Cursor, count: int, *, replies: bool
) -> list[int]:
    """For visitors: from the author's last two weeks, which bring the contents along, and below them from the outbox.

    Members read the outbox at once: it says whether there can be restricted posts for them.
    """
    recent = recent_posts(author, cursor, count, replies=replies)
    preloaded.update({post.id: post for post in recent.posts})
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
    public, _number = outbox.of_author(
        author.pk, counts.outbox_revision, cursor, count, replies=replies
    )
    if viewer_id is None or not counts.wrote_restricted:  # nobody, or nothing, to restrict
        return public
    restricted = sql.restricted_ids(
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
