"""Conversations: threads among mentioned people, one entry per thread and member. Adding a post twice does no harm."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.errors import NotFound
from apps.events.live import announce
from apps.graph.models import Mute
from apps.graph.queries import exact_relations
from apps.notifications.models import Conversation
from apps.pagination import Cursor, Page, to_page
from apps.posts.models import Post, Visibility
from apps.posts.queries import visible_posts
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import author_of

MAX_ROUNDS = 20  # after so many batches of hidden conversations the list ends
_ADD_POST = """
INSERT INTO notifications_conversation AS c (user_id, thread_id, last_post_id, is_unread)
SELECT user_id, %(thread)s, %(post)s, user_id <> %(author)s FROM unnest(%(users)s) AS user_id
ON CONFLICT (user_id, thread_id) DO UPDATE SET last_post_id = excluded.last_post_id, is_unread = excluded.is_unread
WHERE c.last_post_id < excluded.last_post_id
RETURNING user_id
"""
# The newest remaining post of a thread that a user wrote or is mentioned in.
_LAST_POST = """
SELECT max(id) FROM posts_post p
WHERE thread_id = %(thread)s AND visibility = 'mentioned' AND deleted_at IS NULL
  AND (author_id = %(user)s OR EXISTS (SELECT FROM posts_mention m WHERE m.post_id = p.id AND m.user_id = %(user)s))
"""


@dataclass(frozen=True, slots=True)
class ConversationItem:
    """A conversation with its newest post and the other people in it."""

    id: int
    item: FeedItem
    people: list[User]
    is_unread: bool


def conversations_page(viewer: User, cursor: Cursor) -> Page[ConversationItem]:
    """A page of a viewer's conversations, by their newest post; the cursor is the id of that post."""
    found: list[ConversationItem] = []
    position = cursor
    for _round in range(MAX_ROUNDS):
        rows = _rows(viewer, position)
        found += _conversation_items(viewer, rows)
        if len(found) > cursor.limit or len(rows) <= cursor.limit:
            break
        position = cursor.beyond(rows[-1].last_post_id)
    # by visible posts: a cursor must not reveal the id of a hidden one
    return to_page(found, cursor, id_of=lambda conversation: conversation.item.id)


def get_conversation(viewer: User, number: int) -> ConversationItem:
    """A conversation of the viewer's. NotFound."""
    rows = list(Conversation.objects.filter(user=viewer, pk=number))
    if items := _conversation_items(viewer, rows):
        return items[0]
    raise NotFound(_("There is no such conversation."))


def conversation_with_last_post(viewer: User, post_id: int) -> ConversationItem | None:
    """The viewer's conversation whose newest post this is."""
    rows = Conversation.objects.filter(user=viewer, last_post=post_id)
    return next(iter(_conversation_items(viewer, list(rows))), None)


def _rows(viewer: User, cursor: Cursor) -> list[Conversation]:
    """One conversation more than a page holds, in the order of the cursor."""
    rows = Conversation.objects.filter(user=viewer, last_post__gt=cursor.floor)
    if cursor.max_id is not None:
        rows = rows.filter(last_post__lt=cursor.max_id)
    order = "last_post_id" if cursor.ascending else "-last_post_id"
    return list(rows.order_by(order)[: cursor.limit + 1])


def _conversation_items(viewer: User, rows: Sequence[Conversation]) -> list[ConversationItem]:
    items = {item.id: item for item in hydrate(viewer.pk, [row.last_post_id for row in rows]).items}
    other_ids = {item.id: _other_ids(viewer, item) for item in items.values()}
    users = users_by_id({user_id for ids in other_ids.values() for user_id in ids})
    return [
        ConversationItem(
            row.pk,
            items[row.last_post_id],
            [users[user_id] for user_id in other_ids[row.last_post_id] if user_id in users],
            row.is_unread,
        )
        for row in rows
        if row.last_post_id in items
    ]


def _other_ids(viewer: User, item: FeedItem) -> list[int]:
    """The people in a conversation besides the viewer; the viewer alone for a note to oneself."""
    user_ids = dict.fromkeys([item.author.pk, *item.post.mentions.values()])
    return [user_id for user_id in user_ids if user_id != viewer.pk] or [viewer.pk]


def add_post(post_id: int) -> None:
    """Make a post the newest in the conversations of its author and of the mentioned who do not mute or block them."""
    if not Post.objects.filter(pk=post_id, visibility=Visibility.MENTIONED).exists():
        return  # nearly all posts
    author_id = author_of(post_id)
    post = visible_posts(author_id, [post_id]).posts.get(post_id)
    if post is None or post.visibility != Visibility.MENTIONED:
        return
    mentioned = set(post.mentions.values()) - {author_id}
    severed = exact_relations(author_id, mentioned).severed
    mutes = Mute.objects.filter(owner__in=mentioned, muted=author_id)
    muting = set(mutes.values_list("owner_id", flat=True))
    values: dict[str, Any] = {
        "thread": post.thread_id,
        "post": post_id,
        "author": author_id,
        "users": [author_id, *sorted(mentioned - severed - muting)],
    }
    with connection.cursor() as sql:
        sql.execute(_ADD_POST, values)
        for (user_id,) in sql.fetchall():
            announce("conversed", user_id=user_id, post_id=post_id)


def update_last_post(post_id: int) -> None:
    """Find the newest post again for conversations whose newest was deleted, or mentions other people since an edit."""
    for row in Conversation.objects.filter(last_post=post_id):
        with connection.cursor() as sql:
            sql.execute(_LAST_POST, {"thread": row.thread_id, "user": row.user_id})
            (last,) = sql.fetchone() or (None,)
        unchanged = Conversation.objects.filter(pk=row.pk, last_post=post_id)
        if last is None:
            unchanged.delete()
        elif last != post_id:
            unchanged.update(last_post=last)


def mark_read(viewer: User, number: int) -> None:
    """Mark a conversation as read. NotFound."""
    if not Conversation.objects.filter(user=viewer, pk=number).update(is_unread=False):
        raise NotFound(_("There is no such conversation."))


def remove_conversation(viewer: User, number: int) -> None:
    """Remove a conversation from the viewer's list; the next post of its thread brings it back. NotFound."""
    deleted, _by_model = Conversation.objects.filter(user=viewer, pk=number).delete()
    if not deleted:
        raise NotFound(_("There is no such conversation."))
