"""Writes of conversations. Noting a post twice is noting it once."""

from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.conversations.models import Conversation
from apps.errors import NotFound
from apps.events.live import announce
from apps.graph.models import Mute
from apps.graph.queries import exact_relations
from apps.posts.models import Post, Visibility
from apps.posts.queries import visible_posts
from feedcache.ids import author_of

_NOTE = """
INSERT INTO conversations_conversation AS c (user_id, thread_id, last_post_id, is_unread)
SELECT user_id, %(thread)s, %(post)s, user_id <> %(author)s FROM unnest(%(users)s) AS user_id
ON CONFLICT (user_id, thread_id) DO UPDATE SET last_post_id = excluded.last_post_id, is_unread = excluded.is_unread
WHERE c.last_post_id < excluded.last_post_id
RETURNING user_id
"""
# The newest that is left of a thread for somebody.
_LAST = """
SELECT max(id) FROM posts_post p
WHERE thread_id = %(thread)s AND visibility = 'mentioned' AND deleted_at IS NULL
  AND (author_id = %(user)s OR EXISTS (SELECT FROM posts_mention m WHERE m.post_id = p.id AND m.user_id = %(user)s))
"""


def note_post(post_id: int) -> None:
    """Put a post for mentioned people into the conversations of those it is among; not of who mutes or blocks the author."""
    if not Post.objects.filter(pk=post_id, visibility=Visibility.MENTIONED).exists():
        return  # as for nearly all posts
    author_id = author_of(post_id)
    post = visible_posts(author_id, [post_id]).posts.get(post_id)
    if post is None or post.visibility != Visibility.MENTIONED:
        return
    named = set(post.mentions.values()) - {author_id}
    severed = exact_relations(author_id, named).severed
    mutes = Mute.objects.filter(owner__in=named, muted=author_id)
    deaf = severed | set(mutes.values_list("owner_id", flat=True))
    values: dict[str, Any] = {
        "thread": post.thread_id,
        "post": post_id,
        "author": author_id,
        "users": [author_id, *sorted(named - deaf)],
    }
    with connection.cursor() as sql:
        sql.execute(_NOTE, values)
        for (user_id,) in sql.fetchall():
            announce("conversed", user_id=user_id, post_id=post_id)


def renew_last(post_id: int) -> None:
    """What was said last in conversations in which a post was that, now that it is gone or names others."""
    for row in Conversation.objects.filter(last_post=post_id):
        with connection.cursor() as sql:
            sql.execute(_LAST, {"thread": row.thread_id, "user": row.user_id})
            (last,) = sql.fetchone() or (None,)
        mine = Conversation.objects.filter(pk=row.pk, last_post=post_id)
        if last is None:
            mine.delete()
        elif last != post_id:
            mine.update(last_post=last)


def mark_read(viewer: User, number: int) -> None:
    """Note that a conversation has been read. NotFound."""
    if not Conversation.objects.filter(user=viewer, pk=number).update(is_unread=False):
        raise NotFound(_("There is no such conversation."))


def remove_conversation(viewer: User, number: int) -> None:
    """Take a conversation off one's list; what is said in it next brings it back. NotFound."""
    deleted, _by_model = Conversation.objects.filter(user=viewer, pk=number).delete()
    if not deleted:
        raise NotFound(_("There is no such conversation."))
