"""Writes of notifications. Telling somebody twice is telling once."""

from collections.abc import Iterable

from django.db import connection

from apps.accounts.models import User
from apps.events.live import announce
from apps.graph.queries import exact_relations
from apps.ids import author_of
from apps.notifications.models import Notification, NotificationKind, ReadMarker
from apps.posts.models import Kind
from apps.posts.muted import who_muted
from apps.posts.queries import visible_posts

_MARK = """
INSERT INTO notifications_readmarker (user_id, timeline, last_read_id, version, updated_at)
VALUES (%(user)s, %(timeline)s, %(id)s, 1, now())
ON CONFLICT (user_id, timeline) DO UPDATE
SET last_read_id = excluded.last_read_id, version = notifications_readmarker.version + 1, updated_at = now()
WHERE notifications_readmarker.last_read_id < excluded.last_read_id
"""

Timeline = ReadMarker.Timeline


def mark_read(viewer: User, up_to_id: int, *, timeline: Timeline = Timeline.NOTIFICATIONS) -> None:
    """Move a read marker up; it never goes back, and marking twice is marking once."""
    with connection.cursor() as sql:
        sql.execute(_MARK, {"user": viewer.pk, "timeline": timeline.value, "id": up_to_id})


def tell(
    user_id: int, kind: NotificationKind, *, actor_id: int, post_id: int | None = None
) -> None:
    """Tell a user what somebody did; not about oneself, and nothing by those who are blocked or muted."""
    if user_id == actor_id:
        return
    related = exact_relations(user_id, [actor_id])
    if actor_id in related.severed | related.muting:
        return
    Notification.objects.bulk_create(
        [Notification(user_id=user_id, kind=kind, actor_id=actor_id, post_id=post_id)],
        ignore_conflicts=True,
    )
    announce("notified", user_id=user_id)


def tell_of_post(post_id: int) -> None:
    """Tell those whom a new post answers, quotes, reposts or mentions, if they may see it; one notification each."""
    actor_id = author_of(post_id)
    post = visible_posts(actor_id, [post_id]).posts.get(post_id)
    if post is None:
        return
    reasons: dict[int, tuple[NotificationKind, int]] = {}
    if post.is_repost and post.source_id is not None:
        reasons[author_of(post.source_id)] = (NotificationKind.REPOST, post.source_id)
    else:
        _add(reasons, post.mentions.values(), NotificationKind.MENTION, post_id)
        if post.kind == Kind.QUOTE and post.source_id is not None:
            _add(reasons, [author_of(post.source_id)], NotificationKind.QUOTE, post_id)
        if post.reply_to_id is not None:
            _add(reasons, [author_of(post.reply_to_id)], NotificationKind.REPLY, post_id)
    for user_id, (kind, about) in reasons.items():
        seen = visible_posts(user_id, [about]).posts.get(about)
        if seen is not None and not who_muted(seen.thread_id, [user_id]):
            tell(user_id, kind, actor_id=actor_id, post_id=about)


def tell_of_like(post_id: int, *, actor_id: int) -> None:
    """Tell the author of a post who likes it, unless it is gone by now."""
    author_id = author_of(post_id)
    post = visible_posts(author_id, [post_id]).posts.get(post_id)
    if post is not None and not who_muted(post.thread_id, [author_id]):
        tell(author_id, NotificationKind.LIKE, actor_id=actor_id, post_id=post_id)


def forget_post(post_id: int) -> None:
    """Delete the notifications that point at a post."""
    Notification.objects.filter(post=post_id).delete()


def forget_between(one_id: int, other_id: int) -> None:
    """Delete what two accounts told each other."""
    for user_id, actor_id in ((one_id, other_id), (other_id, one_id)):
        Notification.objects.filter(user=user_id, actor=actor_id).delete()


def _add(
    reasons: dict[int, tuple[NotificationKind, int]],
    user_ids: Iterable[int],
    kind: NotificationKind,
    about: int,
) -> None:
    reasons.update(dict.fromkeys(user_ids, (kind, about)))
