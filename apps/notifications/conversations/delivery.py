"""Adds posts to conversations and removes them. Adding a post twice does no harm."""

from collections.abc import Collection
from typing import Any

from django.db import connection
from django.db.models import F

from apps.accounts.models import User
from apps.events.live import announce
from apps.graph.models import Mute
from apps.graph.queries import exact_relations
from apps.notifications.models import Conversation, NotificationPermission
from apps.posts.models import Post, Visibility
from apps.posts.queries import visible_posts
from apps.sql import rows_of
from feedcache.ids import MAX_AUTHOR_ID, SEQUENCE_BITS, author_of

# A member who has left stays out until they write in the conversation. Writing in a request accepts it.
_ADD_POST = """
INSERT INTO notifications_conversation AS c (user_id, thread_id, last_post_id, is_unread, is_request)
SELECT user_id, %(thread)s, %(post)s, user_id <> %(author)s, user_id = ANY(%(strange_to)s)
FROM unnest(%(users)s) AS user_id
ON CONFLICT (user_id, thread_id) DO UPDATE SET
    last_post_id = greatest(c.last_post_id, excluded.last_post_id), is_unread = excluded.is_unread, has_left = false,
    is_request = c.is_request AND excluded.is_unread
WHERE c.last_post_id < excluded.last_post_id AND (NOT c.has_left OR NOT excluded.is_unread)
    OR c.is_request AND NOT excluded.is_unread
RETURNING user_id
"""
# The newest remaining post of a thread that a user wrote or is mentioned in. Hidden posts count for their author only.
_LAST_POST = """
SELECT max(id) FROM posts_post p
WHERE thread_id = %(thread)s AND visibility = 'mentioned' AND deleted_at IS NULL
  AND (hidden_at IS NULL OR author_id = %(user)s)
  AND (author_id = %(user)s OR EXISTS (SELECT FROM posts_mention m WHERE m.post_id = p.id AND m.author_id = p.author_id
      AND m.user_id = %(user)s))
"""
_WROTE_TO = """
SELECT user_id FROM accounts_usercounts told WHERE user_id = ANY(%(users)s) AND EXISTS (
    SELECT FROM posts_post p
    JOIN posts_mention m ON m.post_id = p.id AND m.author_id = p.author_id AND m.user_id = %(author)s
    WHERE p.author_id = told.user_id AND p.visibility = 'mentioned' AND p.deleted_at IS NULL)
"""


def add_post(post_id: int, *, only: Collection[int] | None = None) -> None:
    """Add a post, if it is a message, to the conversations of its author and of the mentioned people.

    People who mute the author and people with a block in either direction are left out. If staff have hidden the post,
    it is added only to the author's conversation. `only`: only to the conversations of these users.
    """
    if not Post.objects.filter(pk=post_id, visibility=Visibility.MENTIONED).exists():
        return  # most posts are not messages
    author_id = author_of(post_id)
    post = visible_posts(author_id, [post_id]).posts.get(post_id)
    if post is None or post.visibility != Visibility.MENTIONED:
        return
    mentioned = set() if post.is_hidden else set(post.mentions.values()) - {author_id}
    related = exact_relations(author_id, mentioned)
    mutes = Mute.objects.filter(owner__in=mentioned, muted=author_id)
    muting = set(mutes.values_list("owner_id", flat=True))
    told = mentioned - related.severed - muting
    users = {author_id, *told} if only is None else told & set(only)
    values: dict[str, Any] = {
        "thread": post.thread_id,
        "post": post_id,
        "author": author_id,
        "users": sorted(users),
        "strange_to": sorted(_strange_to(author_id, told - related.followed_by)),
    }
    with connection.cursor() as sql:
        sql.execute(_ADD_POST, values)
        for (user_id,) in sql.fetchall():
            announce("conversed", user_id=user_id, post_id=post_id)


def _strange_to(author_id: int, user_ids: Collection[int]) -> set[int]:
    """The users in `user_ids` to whom an author is a stranger.

    For them, a conversation that the author begins is a request. An author is not a stranger to users who have written
    to the author, or have exempted the author from their notification policy. Staff are never strangers. The caller
    leaves out the author's followers.
    """
    if user_ids and User.objects.filter(pk=author_id, is_staff=True).exists():
        return set()
    permitting = NotificationPermission.objects.filter(user__in=user_ids, actor=author_id)
    strange_to = set(user_ids) - set(permitting.values_list("user_id", flat=True))
    if not strange_to:
        return set()
    wrote = rows_of(_WROTE_TO, {"users": sorted(strange_to), "author": author_id})
    return strange_to - {user_id for (user_id,) in wrote}


def update_last_post(post_id: int) -> None:
    """Update the last post of the conversations whose last post `post_id` was deleted, hidden or edited.

    A conversation without a remaining post is deleted.
    """
    for row in Conversation.objects.filter(last_post=post_id):
        with connection.cursor() as sql:
            sql.execute(_LAST_POST, {"thread": row.thread_id, "user": row.user_id})
            (last,) = sql.fetchone() or (None,)
        unchanged = Conversation.objects.filter(pk=row.pk, last_post=post_id)
        if last is None:
            unchanged.delete()
        elif last != post_id:
            unchanged.update(last_post=last)


def mark_messages_read(user_id: int, *, author_id: int) -> None:
    """Mark a user's conversations as read if an author wrote the last message, which a block now hides."""
    author = F("last_post_id").bitrightshift(SEQUENCE_BITS).bitand(MAX_AUTHOR_ID)
    unread = Conversation.objects.filter(user=user_id, is_unread=True).alias(author=author)
    unread.filter(author=author_id).update(is_unread=False)
