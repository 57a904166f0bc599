"""Event handlers that create and delete notifications, and change conversations.

Handling an event again creates no second notification.
"""

from collections.abc import Mapping, Sequence

from django.db import transaction

from apps.engagement.marks import LIKE, ROW_MARKS
from apps.events.actions import Payload, handles
from apps.events.live import announce
from apps.graph.models import Follower, FollowRequest
from apps.graph.queries import exact_relations, silenced_ids
from apps.notifications.conversations.delivery import (
    add_post,
    mark_messages_read,
    update_last_post,
)
from apps.notifications.hooks import CREATED
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification, Treatment, UnwantedKind
from apps.notifications.policy import treatment_of
from apps.posts.content.post import PostContent
from apps.posts.models import Kind, Post
from apps.posts.queries import concerns_others, visible_posts, who_muted
from apps.posts.visibility import Audience, delivered_to
from apps.sql import rows_of
from feedcache.ids import author_of

# Inserts the notifications of a batch of recipients, selected by `_WATCHERS` or a similar statement, except unwanted
# ones. For a single recipient, `notify` and its callers check the same conditions.
_CREATE_MANY = """
INSERT INTO notifications_notification (user_id, kind, actor_id, post_id, created_at)
SELECT c.user_id, %(kind)s, %(author)s, told.post_id, now()
FROM accounts_usercounts c JOIN unnest(%(users)s::bigint[], %(posts)s::bigint[]) told(user_id, post_id)
    ON told.user_id = c.user_id
WHERE c.user_id = ANY(%(users)s) AND c.user_id <> %(author)s
  AND NOT EXISTS (
      SELECT FROM graph_mute m WHERE m.owner_id = c.user_id AND m.muted_id = %(author)s AND m.hides_notifications)
  AND NOT EXISTS (SELECT FROM posts_threadmute t WHERE t.user_id = c.user_id AND t.thread_id = %(thread)s)
  AND NOT EXISTS (SELECT FROM notifications_unwantedkind u WHERE u.user_id = c.user_id AND u.kind = %(kind)s)
  AND NOT EXISTS (SELECT FROM graph_block b WHERE b.owner_id = c.user_id AND b.blocked_id = %(author)s)
  AND c.user_id NOT IN (SELECT blocked_id FROM graph_block WHERE owner_id = %(author)s)
ON CONFLICT DO NOTHING RETURNING id, user_id
"""
_CREATE = """
INSERT INTO notifications_notification (user_id, kind, actor_id, post_id, created_at, is_held_back)
VALUES (%(user)s, %(kind)s, %(actor)s, %(post)s, now(), %(is_held_back)s) ON CONFLICT DO NOTHING RETURNING id
"""
# Each of these statements selects (id, user_id): the recipients for `_notify_many`, which reads them in batches ordered
# by `id`. For `_QUOTERS`, `id` is also the post that the notification is about. `_WATCHERS` leaves out mentioned
# followers, who get a notification of the mention.
_WATCHERS = """
SELECT id, follower_id AS user_id FROM graph_follower f
WHERE owner_id = %(author)s AND notifies AND id > %(after)s
  AND follower_id NOT IN (SELECT user_id FROM posts_mention WHERE author_id = %(author)s AND post_id = %(post)s)
  AND (NOT %(for_friends)s OR EXISTS (
      SELECT FROM graph_followee b WHERE b.owner_id = %(author)s AND b.followee_id = f.follower_id))
"""
_REPOSTERS = """
SELECT id, author_id AS user_id FROM posts_post
WHERE source_id = %(post)s AND kind = 'repost' AND deleted_at IS NULL AND id > %(after)s
"""
_QUOTERS = """
SELECT id, author_id AS user_id FROM posts_post
WHERE source_id = %(post)s AND kind = 'quote' AND deleted_at IS NULL AND id > %(after)s
"""
# Ordered by voter, as the index of a poll's votes is; so `id` is the voter's id. A voter with several choices gets one
# notification.
_VOTERS = """
SELECT user_id AS id, user_id FROM engagement_vote
WHERE poll_id = %(post)s AND user_id > %(after)s GROUP BY user_id
"""
_FOR_FRIENDS = delivered_to(Audience.FRIENDS)
_FOR_FOLLOWERS = (*delivered_to(Audience.FOLLOWERS), *_FOR_FRIENDS)
# A mark that notifies the author needs a NotificationKind of the same name: without one, the import fails.
_NOTIFYING_MARKS = {
    mark.kind: (mark.model, NotificationKind(mark.kind))
    for mark in ROW_MARKS
    if mark.notifies_author
}
BATCH_SIZE = 1000  # recipients per statement; one statement takes about 30 ms


@handles("followed")
def notify_of_follow(payload: Payload) -> None:
    """Notify the followee of a follow, unless it has ended in the meantime."""
    followee_id, follower_id = payload["followee_id"], payload["follower_id"]
    if Follower.objects.filter(owner=followee_id, follower=follower_id).exists():
        notify(followee_id, NotificationKind.FOLLOW, actor_id=follower_id)


@handles("unfollowed")
def delete_notification_of_follow(payload: Payload) -> None:
    """Delete the notification of a follow that has ended, unless there is a new follow."""
    followee_id, follower_id = payload["followee_id"], payload["follower_id"]
    if not Follower.objects.filter(owner=followee_id, follower=follower_id).exists():
        _delete(followee_id, NotificationKind.FOLLOW, follower_id)


@handles("post_marked")
def notify_of_mark(payload: Payload) -> None:
    """Notify a post's author of a like or another mark, unless the mark or the post is gone or the thread is muted."""
    post, user_id = _post(payload["post_id"]), payload["user_id"]
    if post is None or who_muted(post.thread_id, [post.author_id]):
        return
    model, kind = _NOTIFYING_MARKS[payload["kind"]]
    if model._default_manager.filter(user=user_id, post=post.id).exists():
        notify(post.author_id, kind, actor_id=user_id, post_id=post.id)


@handles("post_unmarked")
def delete_notification_of_mark(payload: Payload) -> None:
    post_id, user_id = payload["post_id"], payload["user_id"]
    model, kind = _NOTIFYING_MARKS[payload["kind"]]
    if not model._default_manager.filter(user=user_id, post=post_id).exists():
        _delete(author_of(post_id), kind, user_id, post_id)


@handles("post_liked")
def notify_of_liked_post(payload: Payload) -> None:
    notify_of_mark({**payload, "kind": LIKE.kind})


@handles("post_unliked")
def delete_notification_of_like(payload: Payload) -> None:
    delete_notification_of_mark({**payload, "kind": LIKE.kind})


@handles("post_published")
def notify_of_published_post(payload: Payload) -> None:
    """Notify the accounts that the post mentions, or whose posts it replies to, quotes or reposts, if they may see it.

    Each account is notified only once.
    """
    if not concerns_others(payload["post_id"]):
        return
    if (post := _post(payload["post_id"])) is not None:
        _notify_concerned(post, _concerned(post))


@handles("post_published")
def notify_watching_followers(payload: Payload) -> None:
    """Notify followers who subscribed to the author's new posts, unless the post is for mentioned people or a circle.

    They are not notified of reposts or replies to other accounts.
    """
    author_id = author_of(payload["post_id"])
    if not Follower.objects.filter(owner=author_id, notifies=True).exists():
        return
    post = _post(payload["post_id"])
    if post is None or post.is_repost or post.visibility not in _FOR_FOLLOWERS:
        return
    if post.reply_to_id is None or author_of(post.reply_to_id) == author_id:
        _notify_many(_WATCHERS, post, NotificationKind.POST)


@handles("post_edited")
def notify_of_edited_post(payload: Payload) -> None:
    """Notify the people who reposted or quoted the post, unless they have a notification of an earlier edit."""
    if (post := _post(payload["post_id"])) is not None:
        _notify_many(_REPOSTERS, post, NotificationKind.EDIT)
        _notify_many(_QUOTERS, post, NotificationKind.QUOTED_EDIT, of_found=True)


@handles("post_edited")
def notify_whom_an_edit_mentions(payload: Payload) -> None:
    """Notify accounts that only the new text mentions, except authors of posts that this post replies to or quotes."""
    added = payload.get("mentioned") or []  # missing in events that release 0.1 recorded
    post = _post(payload["post_id"]) if added else None
    if post is not None:
        concerned = _concerned(post).items()
        mentioned = {
            pk: why for pk, why in concerned if pk in added and why[0] == NotificationKind.MENTION
        }
        _notify_concerned(post, mentioned)


@handles("poll_ended")
def notify_of_ended_poll(payload: Payload) -> None:
    """Notify the voters and the author, unless they have muted the thread or turned off such notifications."""
    post = _post(payload["post_id"])
    if post is None:
        return
    _notify_many(_VOTERS, post, NotificationKind.POLL)
    author_id, kind = post.author_id, NotificationKind.POLL
    is_unwanted = UnwantedKind.objects.filter(user=author_id, kind=kind).exists()
    if not is_unwanted and not who_muted(post.thread_id, [author_id]):
        _create(author_id, kind, author_id, post.id)


@handles("follow_requested")
def notify_of_follow_request(payload: Payload) -> None:
    """Notify the account's owner of a follow request, unless it was answered or withdrawn in the meantime."""
    owner_id, requester_id = payload["owner_id"], payload["requester_id"]
    if FollowRequest.objects.filter(owner=owner_id, requester=requester_id).exists():
        notify(owner_id, NotificationKind.REQUEST, actor_id=requester_id)


@handles("follow_request_ended")
def delete_follow_request_notification(payload: Payload) -> None:
    """Delete the notification of a request that was answered or withdrawn, unless there is a new request."""
    owner_id, requester_id = payload["owner_id"], payload["requester_id"]
    if not FollowRequest.objects.filter(owner=owner_id, requester=requester_id).exists():
        _delete(owner_id, NotificationKind.REQUEST, requester_id)


@handles("post_deleted")
def delete_notifications_of_deleted_post(payload: Payload) -> None:
    """Delete notifications about the post. For a repost, also delete the original author's notification of it.

    If the same account has reposted the original post again, the author's notification stays.
    """
    Notification.objects.filter(post=payload["post_id"]).delete()
    post = Post.objects.filter(pk=payload["post_id"], kind=Kind.REPOST).first()
    if post is None or post.source_id is None:
        return
    again = Post.objects.filter(author=post.author_id, source=post.source_id, kind=Kind.REPOST)
    if not again.filter(deleted_at=None).exists():
        source_id = post.source_id
        _delete(author_of(source_id), NotificationKind.REPOST, post.author_id, source_id)


@handles("blocked")
def delete_notifications_of_blocked(payload: Payload) -> None:
    """Delete the notifications that each account has of the other's actions; mark hidden messages as read."""
    owner_id, blocked_id = payload["owner_id"], payload["blocked_id"]
    mark_messages_read(owner_id, author_id=blocked_id)
    mark_messages_read(blocked_id, author_id=owner_id)
    Notification.objects.filter(user=owner_id, actor=blocked_id).delete()
    Notification.objects.filter(user=blocked_id, actor=owner_id).delete()


@handles("post_published")
def add_post_to_conversations(payload: Payload) -> None:
    add_post(payload["post_id"])


@handles("post_edited")
def move_edited_post_between_conversations(payload: Payload) -> None:
    """Move an edited post between conversations, because it may mention other people now.

    Whom an earlier version mentioned may have removed the conversation, which an edit must not bring back.
    """
    update_last_post(payload["post_id"])
    if added := payload.get("mentioned"):
        add_post(payload["post_id"], only=added)


@handles("post_hidden")
def move_hidden_post_between_conversations(payload: Payload) -> None:
    """Remove a hidden post from the conversations of all but its author; put it back when it is shown again."""
    update_last_post(payload["post_id"])
    add_post(payload["post_id"])


@handles("post_deleted")
def remove_post_from_conversations(payload: Payload) -> None:
    update_last_post(payload["post_id"])


def _post(post_id: int) -> PostContent | None:
    """A post as its author sees it. None if it is deleted, if its author is suspended, or if it reposts a post that the
    author may not see now.
    """
    return visible_posts(author_of(post_id), [post_id]).posts.get(post_id)


def _concerned(post: PostContent) -> dict[int, tuple[NotificationKind, int]]:
    """The accounts to notify of a post, each with the kind of notification and the post that it is about.

    An account with several reasons to be notified gets one notification: of a reply to the account's post, else of a
    quote.
    """
    if post.is_repost and post.source_id is not None:
        return {author_of(post.source_id): (NotificationKind.REPOST, post.source_id)}
    reasons = dict.fromkeys(post.mentions.values(), (NotificationKind.MENTION, post.id))
    if post.kind == Kind.QUOTE and post.source_id is not None:
        reasons[author_of(post.source_id)] = (NotificationKind.QUOTE, post.id)
    if post.reply_to_id is not None:
        reasons[author_of(post.reply_to_id)] = (NotificationKind.REPLY, post.id)
    return reasons


def _notify_concerned(
    post: PostContent, concerned: Mapping[int, tuple[NotificationKind, int]]
) -> None:
    """Notify the accounts in `concerned` that may see the post they are notified of and have not muted its thread."""
    for user_id, (kind, about) in concerned.items():
        visible = visible_posts(user_id, [about]).posts.get(about)
        if visible is not None and not who_muted(visible.thread_id, [user_id]):
            notify(user_id, kind, actor_id=post.author_id, post_id=about)


def notify(
    user_id: int, kind: NotificationKind, *, actor_id: int, post_id: int | None = None
) -> None:
    """Notify a user, unless the action is their own, the kind is unwanted, the user's mute of the actor hides
    notifications, there is a block, or `treatment_of` returns DROP.

    The user's policy is applied only here: what `_notify_many` creates, the recipient has requested by subscribing,
    reposting, quoting or voting.
    """
    if user_id == actor_id or UnwantedKind.objects.filter(user=user_id, kind=kind).exists():
        return
    relations = exact_relations(user_id, [actor_id])
    if actor_id in relations.severed | silenced_ids(user_id, relations.muting):
        return
    verdict = treatment_of(user_id, actor_id, post_id, relations)
    if verdict != Treatment.DROP:
        _create(user_id, kind, actor_id, post_id, is_held_back=verdict == Treatment.FILTER)


def _create(
    user_id: int,
    kind: NotificationKind,
    actor_id: int,
    post_id: int | None,
    *,
    is_held_back: bool = False,
) -> None:
    values = {"user": user_id, "kind": kind.value, "actor": actor_id, "post": post_id}
    with transaction.atomic():
        created = rows_of(_CREATE, {**values, "is_held_back": is_held_back})
        _tell_apps([pk for (pk,) in created])
        announce("notified", user_id=user_id)


def _tell_apps(notification_ids: Sequence[int]) -> None:
    if notification_ids:
        for tell in CREATED:
            tell(notification_ids)


def _delete(
    user_id: int, kind: NotificationKind, actor_id: int, post_id: int | None = None
) -> None:
    rows = Notification.objects.filter(user=user_id, kind=kind, actor=actor_id, post=post_id)
    rows.delete()


def _notify_many(
    recipients: str, post: PostContent, kind: NotificationKind, *, of_found: bool = False
) -> None:
    """Notify accounts of a post, one batch per statement. `recipients` is a SELECT that returns the accounts.

    With `of_found`, the notifications are about the posts whose ids the SELECT returns, instead of `post`.
    """
    values: dict[str, int | str] = {
        "thread": post.thread_id,
        "author": post.author_id,
        "post": post.id,
        "kind": kind.value,
        "limit": BATCH_SIZE,
        "for_friends": post.visibility in _FOR_FRIENDS,
    }
    after, size = 0, BATCH_SIZE
    while size == BATCH_SIZE:
        batch = rows_of(f"{recipients} ORDER BY id LIMIT %(limit)s", {**values, "after": after})
        if not batch:
            return
        size, after = len(batch), batch[-1][0]
        with transaction.atomic():
            users = [user_id for _id, user_id in batch]
            posts = [found if of_found else post.id for found, _user_id in batch]
            created = rows_of(_CREATE_MANY, {**values, "users": users, "posts": posts})
            _tell_apps([pk for pk, _user_id in created])
            for _pk, user_id in created:
                announce("notified", user_id=user_id)
