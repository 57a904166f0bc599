"""Writes of notifications. Telling somebody twice is telling once."""

from collections.abc import Collection, Iterable

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.errors import NotFound
from apps.events.live import announce
from apps.graph.models import Follower, FollowRequest
from apps.graph.queries import exact_relations
from apps.graph.relationships import silenced_ids
from apps.notifications.groups import rows_of_group
from apps.notifications.held import CONDITIONS, requested
from apps.notifications.models import (
    Notification,
    NotificationKind,
    NotificationPermission,
    NotificationPolicy,
    ReadMarker,
    UnwantedKind,
    Verdict,
)
from apps.posts.actions.mute import who_muted
from apps.posts.content.post import PostContent
from apps.posts.models import OPEN, Kind, Visibility
from apps.posts.queries import concerns_others, visible_posts
from feedcache.ids import author_of

_MARK = """
INSERT INTO notifications_readmarker (user_id, timeline, last_read_id, version, updated_at)
VALUES (%(user)s, %(timeline)s, %(id)s, 1, now())
ON CONFLICT (user_id, timeline) DO UPDATE
SET last_read_id = excluded.last_read_id, version = notifications_readmarker.version + 1, updated_at = now()
WHERE notifications_readmarker.last_read_id < excluded.last_read_id
"""

# `people` selects ids in growing order and who they stand for, as (id, user_id).
_TELL = """
WITH next AS ({people} ORDER BY id LIMIT %(maximum)s), told AS (
    INSERT INTO notifications_notification (user_id, kind, actor_id, post_id, created_at)
    SELECT user_id, %(kind)s, %(author)s, %(post)s, now() FROM next
    WHERE user_id <> %(author)s
      AND NOT EXISTS (SELECT FROM graph_mute WHERE owner_id = user_id AND muted_id = %(author)s AND hides_notifications)
      AND NOT EXISTS (SELECT FROM posts_threadmute t WHERE t.user_id = next.user_id AND t.thread_id = %(thread)s)
      AND NOT EXISTS (SELECT FROM notifications_unwantedkind u WHERE u.user_id = next.user_id AND u.kind = %(kind)s)
      AND NOT EXISTS (SELECT FROM graph_block WHERE owner_id = user_id AND blocked_id = %(author)s)
      AND NOT EXISTS (SELECT FROM graph_block WHERE owner_id = %(author)s AND blocked_id = user_id)
    ON CONFLICT DO NOTHING RETURNING user_id
)
SELECT count(*), max(id), (SELECT coalesce(array_agg(user_id), '{{}}') FROM told) FROM next
"""
# Whom the post names is told of that already.
_WATCHERS = """
SELECT id, follower_id AS user_id FROM graph_follower f
WHERE owner_id = %(author)s AND notifies AND id > %(after)s
  AND NOT EXISTS (SELECT FROM posts_mention m WHERE m.post_id = %(post)s AND m.user_id = f.follower_id)
"""
_REPOSTERS = """
SELECT id, author_id AS user_id FROM posts_post
WHERE source_id = %(post)s AND kind = 'repost' AND deleted_at IS NULL AND id > %(after)s
"""
# By who they are: the votes of a poll lie in that order, and whoever chose several options is told once.
_VOTERS = """
SELECT user_id AS id, user_id FROM engagement_vote
WHERE poll_id = %(post)s AND user_id > %(after)s GROUP BY user_id
"""
_FOR_FOLLOWERS = (*OPEN, Visibility.FOLLOWERS)
BATCH_SIZE = 1000  # of people who are told of one post, in one statement of some 30 ms
DELETE_BATCH_SIZE = 5000

Timeline = ReadMarker.Timeline


def mark_read(viewer: User, up_to_id: int, *, timeline: Timeline = Timeline.NOTIFICATIONS) -> None:
    """Move a read marker up; it never goes back, and marking twice is marking once."""
    with connection.cursor() as sql:
        sql.execute(_MARK, {"user": viewer.pk, "timeline": timeline.value, "id": up_to_id})


def choose_kinds(user: User, wanted: Collection[str]) -> None:
    """Say of what a user wants to be told, of all kinds there are; what was told already stays."""
    unwanted = set(NotificationKind.values) - set(wanted)
    with transaction.atomic():
        UnwantedKind.objects.filter(user=user).exclude(kind__in=unwanted).delete()
        UnwantedKind.objects.bulk_create(
            (UnwantedKind(user=user, kind=kind) for kind in sorted(unwanted)), ignore_conflicts=True
        )


def wanted_kinds(user: User) -> list[str]:
    """Of what a user wants to be told; everything unless they said otherwise."""
    unwanted = set(UnwantedKind.objects.filter(user=user).values_list("kind", flat=True))
    return [kind for kind in NotificationKind.values if kind not in unwanted]


def tell(
    user_id: int, kind: NotificationKind, *, actor_id: int, post_id: int | None = None
) -> None:
    """Tell a user what somebody did; not about oneself, nothing by those who are blocked or muted, no unwanted kinds."""
    if user_id == actor_id or UnwantedKind.objects.filter(user=user_id, kind=kind).exists():
        return
    related = exact_relations(user_id, [actor_id])
    if actor_id in related.severed | silenced_ids(user_id, related.muting):
        return
    Notification.objects.bulk_create(
        [Notification(user_id=user_id, kind=kind, actor_id=actor_id, post_id=post_id)],
        ignore_conflicts=True,
    )
    announce("notified", user_id=user_id)


def notify_of_post(post_id: int) -> None:
    """Tell those whom a new post answers, quotes, reposts or mentions, if they may see it; one notification each."""
    if not concerns_others(post_id):
        return
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


def notify_of_like(post_id: int, *, actor_id: int) -> None:
    """Tell the author of a post who likes it, unless it is gone by now."""
    author_id = author_of(post_id)
    post = visible_posts(author_id, [post_id]).posts.get(post_id)
    if post is not None and not who_muted(post.thread_id, [author_id]):
        tell(author_id, NotificationKind.LIKE, actor_id=actor_id, post_id=post_id)


def notify_of_request(owner_id: int, *, requester_id: int) -> None:
    """Tell somebody who asks to follow them, unless that has been answered or withdrawn by now."""
    if FollowRequest.objects.filter(owner=owner_id, requester=requester_id).exists():
        tell(owner_id, NotificationKind.REQUEST, actor_id=requester_id)


def notify_watchers(post_id: int) -> None:
    """Tell those followers of a post who asked to be told of every one; not of reposts, and not of answers to others."""
    author_id = author_of(post_id)
    if not Follower.objects.filter(owner=author_id, notifies=True).exists():
        return
    post = visible_posts(author_id, [post_id]).posts.get(post_id)
    if post is None or post.is_repost or post.visibility not in _FOR_FOLLOWERS:
        return
    if post.reply_to_id is None or author_of(post.reply_to_id) == author_id:
        _notify_many(_WATCHERS, post, NotificationKind.POST)


def notify_of_edit(post_id: int) -> None:
    """Tell those who reposted a post that it was edited; once, however often it is."""
    post = visible_posts(author_of(post_id), [post_id]).posts.get(post_id)
    if post is not None:
        _notify_many(_REPOSTERS, post, NotificationKind.EDIT)


def notify_of_poll(post_id: int) -> None:
    """Tell those who voted in a poll, and who asked, that it is over."""
    author_id = author_of(post_id)
    post = visible_posts(author_id, [post_id]).posts.get(post_id)
    if post is None:
        return
    _notify_many(_VOTERS, post, NotificationKind.POLL)
    own = Notification(
        user_id=author_id, actor_id=author_id, kind=NotificationKind.POLL, post_id=post_id
    )
    Notification.objects.bulk_create([own], ignore_conflicts=True)
    announce("notified", user_id=author_id)


def _notify_many(people: str, post: PostContent, kind: NotificationKind) -> None:
    """Tell many of a post of its author's, a batch in one statement; what was told already is not told again."""
    values: dict[str, int | str] = {
        "thread": post.thread_id,
        "author": post.author_id,
        "post": post.id,
        "kind": kind.value,
        "maximum": BATCH_SIZE,
    }
    after, number = 0, BATCH_SIZE
    with connection.cursor() as sql:
        while number == BATCH_SIZE:
            sql.execute(_TELL.format(people=people), {**values, "after": after})
            number, after, told = sql.fetchone() or (0, 0, [])
            for user_id in told:
                announce("notified", user_id=user_id)


@transaction.atomic
def change_policy(viewer: User, **verdicts: str) -> None:
    """Say which notifications are to be held back or hidden, by the names of the policy's fields; acts at the next read."""
    NotificationPolicy.objects.update_or_create(user=viewer, defaults=verdicts)
    said = NotificationPolicy.objects.get(user=viewer)
    holds = any(getattr(said, name) != Verdict.ACCEPT for name in CONDITIONS)
    UserCounts.objects.filter(pk=viewer.pk).update(holds_notifications=holds)
    viewer.counts.holds_notifications = holds


def accept_from(viewer: User, actor_ids: Iterable[int]) -> None:
    """Be told what accounts did and do, whatever the policy says; twice is once."""
    made = [NotificationPermission(user=viewer, actor_id=actor_id) for actor_id in actor_ids]
    NotificationPermission.objects.bulk_create(made, ignore_conflicts=True)
    announce("notified", user_id=viewer.pk)


def dismiss_from(viewer: User, actor_ids: Collection[int]) -> None:
    """Forget what accounts did as far as it is held back; what they do next is held back again."""
    _delete(Notification.objects.filter(requested(viewer), user=viewer, actor__in=actor_ids))


def dismiss(viewer: User, number: int) -> None:
    """Forget one of one's notifications. NotFound."""
    deleted, _by_model = Notification.objects.filter(user=viewer, pk=number).delete()
    if not deleted:
        raise NotFound(_("There is no such notification."))


def dismiss_group(viewer: User, key: str) -> None:
    """Forget a group of notifications. NotFound when the key is none."""
    _delete(rows_of_group(viewer, key))


def clear(viewer: User) -> None:
    """Forget all of one's notifications there are now, a batch at a time."""
    newest = Notification.objects.filter(user=viewer).order_by("-pk").first()
    if newest is not None:
        _delete(Notification.objects.filter(user=viewer, pk__lte=newest.pk))


def _delete(rows: QuerySet[Notification]) -> None:
    while ids := list(rows.values_list("pk", flat=True)[:DELETE_BATCH_SIZE]):
        Notification.objects.filter(pk__in=ids).delete()


def delete_request_notification(owner_id: int, *, requester_id: int) -> None:
    """Nothing points at a request that was answered or withdrawn, unless it was made again."""
    if not FollowRequest.objects.filter(owner=owner_id, requester=requester_id).exists():
        told = Notification.objects.filter(user=owner_id, kind=NotificationKind.REQUEST)
        told.filter(actor=requester_id).delete()


def forget_post(post_id: int) -> None:
    """Delete the notifications that point at a post."""
    Notification.objects.filter(post=post_id).delete()


def delete_notifications_between(one_id: int, other_id: int) -> None:
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
