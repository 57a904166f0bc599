"""The profile timeline: one author's posts as a viewer sees them.

Open posts come from the author's last two weeks and outbox, the same for every viewer; restricted posts for this viewer come
from PostgreSQL, if the author ever wrote any.
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
from apps.timeline.pipeline.page import Source, accept_all, fill_page
from apps.timeline.sources import merge, outbox, sql

_PICTURES = Attachment.objects.filter(post=OuterRef("pk"))


@dataclass(frozen=True, slots=True)
class ProfileFilter:
    """Which of an author's posts belong on a page."""

    replies: bool = True  # to others; the author's own threads are always there
    reposts: bool = True
    mentioned: bool = True  # posts for mentioned people
    only_pictures: bool = False
    tag: str = ""  # a hashtag without its #

    @property
    def is_narrow(self) -> bool:
        """Whether only PostgreSQL can filter the posts: the caches distinguish nothing but replies."""
        return self.only_pictures or not self.reposts or not self.mentioned


def profile_timeline(
    author: User, viewer_id: int | None, cursor: Cursor, only: ProfileFilter
) -> Page[FeedItem]:
    """A page of an author's posts and reposts; mutes do not apply here."""
    preloaded: Preloaded = {}
    source: Source
    replies = only.replies
    if only.is_narrow:
        source = partial(_filtered_ids, author, viewer_id, only)
    elif viewer_id is None:
        source = partial(_open_ids, author, preloaded, replies=replies)
    else:
        source = partial(profile_ids, author, viewer_id, replies=replies)
    rule = partial(_has_tag, normal(only.tag)) if only.tag else accept_all
    page = fill_page(source, viewer_id=viewer_id, cursor=cursor, rule=rule, preloaded=preloaded)
    if not page.items and author.pk in exact_relations(viewer_id, [author.pk]).severed:
        return Page()  # its cursor would name a post that the viewer may not see
    return page


def pinned_posts(author: User, viewer_id: int | None) -> list[FeedItem]:
    """The author's pinned posts that the viewer may see, the last pinned first."""
    pinned = Post.objects.filter(author=author, deleted_at=None).exclude(pinned_at=None)
    newest = pinned.order_by("-pinned_at")[: settings.PINNED_POSTS_MAX]
    ids = list(newest.values_list("pk", flat=True))
    return hydrate(viewer_id, ids).items if ids else []


def _has_tag(tag: str | None, item: FeedItem, _relations: Relations) -> bool:
    return tag in item.post.tags


def _filtered_ids(
    author: User, viewer_id: int | None, only: ProfileFilter, cursor: Cursor, count: int
) -> list[int]:
    follows = (
        viewer_id is not None and author.pk in exact_relations(viewer_id, [author.pk]).following
    )
    conditions = Q()
    if only.only_pictures:
        conditions &= Q(kind=Kind.PICTURE) | Q(Q(kind=Kind.QUOTE), Exists(_PICTURES))
    if not only.reposts:
        conditions &= ~Q(kind=Kind.REPOST)
    if not only.mentioned:
        conditions &= ~Q(visibility=Visibility.MENTIONED)
    if not only.replies:
        conditions &= sql.is_not_reply_to_others()
    return sql.author_ids(
        author.pk, viewer_id, follows=follows, cursor=cursor, count=count, only=conditions
    )


def _open_ids(
    author: User, preloaded: Preloaded, cursor: Cursor, count: int, *, replies: bool
) -> list[int]:
    """For visitors: the author's last two weeks, cached with their contents, and below them the outbox."""
    recent = recent_posts(author, cursor, count, replies=replies)
    preloaded.update({post.id: post for post in recent.posts})
    ids = [post.id for post in recent.posts]
    rest = recent.rest(cursor, count)
    if rest is None:
        return ids
    revision, remaining = author.counts.outbox_revision, count - len(ids)
    below, _total = outbox.ids_of_author(author.pk, revision, rest, remaining, replies=replies)
    return ids + below


def profile_ids(
    author: User, viewer_id: int | None, cursor: Cursor, count: int, *, replies: bool
) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order."""
    counts = author.counts
    public, _total = outbox.ids_of_author(
        author.pk, counts.outbox_revision, cursor, count, replies=replies
    )
    if viewer_id is None or not counts.wrote_restricted:
        return public
    restricted = sql.restricted_ids(
        author.pk,
        viewer_id,
        follows=author.pk in exact_relations(viewer_id, [author.pk]).following,
        cursor=_until(public, cursor, count),
        count=count,
        replies=replies,
    )
    return merge.first_ids([public, restricted], count, ascending=cursor.ascending)


def _until(ids: list[int], cursor: Cursor, count: int) -> Cursor:
    """The bounds narrowed to a full page: nothing beyond its last id can be on it."""
    if len(ids) < count:
        return cursor
    last = ids[-1]
    return replace(cursor, max_id=last) if cursor.ascending else replace(cursor, since_id=last)
