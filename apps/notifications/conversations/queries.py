"""Queries that read conversations and their messages, limited to those that the viewer may see now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.errors import NotFound
from apps.notifications.models import Conversation
from apps.pagination import Cursor, Page, to_page
from apps.posts.content.text import html, without_handles
from apps.posts.queries import muted_threads
from apps.sql import rows_of
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import MAX_AUTHOR_ID, SEQUENCE_BITS, author_of, authors_of

MAX_ROUNDS = 20  # a page reads at most this many batches to skip hidden conversations or messages
NAMED = 3  # the maximum number of people in a group whose names the list shows
MAX_WAITING = 10  # the count of requests stops at this number
# The requests from strangers, without those that no list shows because the author of the last message is suspended or
# blocked by the viewer.
_WAITING = f"""
SELECT c.id FROM notifications_conversation c
JOIN accounts_user author ON author.id = c.last_post_id >> {SEQUENCE_BITS} & {MAX_AUTHOR_ID}
WHERE c.user_id = %(viewer)s AND c.is_request AND NOT c.has_left AND author.suspended_at IS NULL
  AND author.id NOT IN (SELECT blocked_id FROM graph_block WHERE owner_id = %(viewer)s)
LIMIT {MAX_WAITING}
"""  # noqa: S608 -- constants

# The messages of a thread that a viewer wrote or is mentioned in; hydration drops those that are hidden from them.
_MESSAGES = """
SELECT id FROM posts_post p
WHERE thread_id = %(thread)s AND visibility = 'mentioned' AND deleted_at IS NULL
  AND id > %(floor)s AND id < %(below)s
  AND (author_id = %(viewer)s OR EXISTS (
      SELECT FROM posts_mention m
      WHERE m.post_id = p.id AND m.author_id = p.author_id AND m.user_id = %(viewer)s))
ORDER BY id {order} LIMIT %(limit)s
"""
MAX_SEARCHED = 200  # `conversation_with` searches this many of the newest conversations
# For each post: its id, whether it is a message, and the ids of the users that it mentions.
_PEOPLE = """
SELECT p.id, p.visibility = 'mentioned', ARRAY(
    SELECT m.user_id FROM posts_mention m WHERE m.post_id = p.id AND m.author_id = p.author_id)
FROM posts_post p WHERE p.id = ANY(%(posts)s) AND p.author_id = ANY(%(authors)s)
"""


@dataclass(frozen=True, slots=True)
class ConversationItem:
    """A conversation with its newest post and the other people in it."""

    id: int
    thread_id: int
    item: FeedItem
    people: list[User]
    is_unread: bool
    is_request: bool = False
    is_muted: bool = False

    @property
    def is_group(self) -> bool:
        return len(self.people) > 1

    @property
    def names(self) -> str:
        return ", ".join(person.name for person in self.people[:NAMED])

    @property
    def others(self) -> int:
        """The number of people who are not named in the list."""
        return max(0, len(self.people) - NAMED)

    @property
    def is_own(self) -> bool:
        """Whether the viewer wrote the newest message."""
        return self.item.flags.own

    @property
    def text(self) -> str:
        """The content warning or the text of the last message, for the list of conversations."""
        post = self.item.post
        return post.content_warning or without_handles(post.body, post.mentions)


@dataclass(frozen=True, slots=True)
class Message:
    """A post of a conversation, shown as a bubble."""

    item: FeedItem
    begins: bool  # whether it is the first on its page, or follows a message by somebody else

    @property
    def html(self) -> SafeString:
        """The text without the recipients' handles at its beginning."""
        post = self.item.post
        return html(without_handles(post.body, post.mentions), handles=post.mentions)

    @property
    def has_more(self) -> bool:
        """Whether the message has something that only its own page shows."""
        post = self.item.post
        return post.poll is not None or post.source_id is not None


def conversations_page(
    viewer: User, cursor: Cursor, *, requests: bool | None = None
) -> Page[ConversationItem]:
    """A page of a viewer's conversations, ordered by their newest post; the cursor is the id of that post.

    `requests` selects only requests from strangers (True), or everything except these (False).
    """
    found: list[ConversationItem] = []
    position = cursor
    for _round in range(MAX_ROUNDS):
        rows = _rows(viewer, position, requests=requests)
        found += _conversation_items(viewer, rows)
        if len(found) > cursor.limit or len(rows) <= cursor.limit:
            break
        position = cursor.beyond(rows[-1].last_post_id)
    # the cursors are ids of visible posts, because they must not reveal the id of a hidden post
    return to_page(found, cursor, id_of=lambda conversation: conversation.item.id)


def get_conversation(viewer: User, number: int) -> ConversationItem:
    """One of the viewer's conversations. Raises NotFound."""
    rows = list(Conversation.objects.filter(user=viewer, pk=number, has_left=False))
    if items := _conversation_items(viewer, rows):
        return items[0]
    raise NotFound(_("There is no such conversation."))


def conversation_with_last_post(viewer: User, post_id: int) -> ConversationItem | None:
    """The viewer's conversation whose newest post is `post_id`; None if there is none or the post is hidden."""
    rows = Conversation.objects.filter(user=viewer, last_post=post_id, has_left=False)
    return next(iter(_conversation_items(viewer, list(rows))), None)


def conversation_with(viewer: User, people: Sequence[User]) -> ConversationItem | None:
    """The newest conversation with exactly these people that began as a message; None if there is none.

    Also None if one of these people has left that conversation.
    """
    wanted = {person.pk for person in people} - {viewer.pk}
    rows = Conversation.objects.filter(user=viewer, has_left=False).order_by("-last_post")
    newest = list(rows[:MAX_SEARCHED])
    posts = {row.last_post_id for row in newest} | {row.thread_id for row in newest}
    found = rows_of(_PEOPLE, {"posts": list(posts), "authors": list(authors_of(posts))})
    messages = {post_id for post_id, is_message, _mentioned in found if is_message}
    named = {post_id: {author_of(post_id), *mentioned} for post_id, _, mentioned in found}
    for row in newest:
        if row.thread_id in messages and named.get(row.last_post_id, set()) - {viewer.pk} == wanted:
            items = _conversation_items(viewer, [row])
            # fewer people: somebody has left the conversation
            return items[0] if items and len(items[0].people) == max(1, len(wanted)) else None
    return None


def people_of(viewer: User, message: FeedItem) -> list[User]:
    """The author and the addressees of a message who have not left; the viewer only for a note to oneself."""
    ids = _other_ids(viewer, message)
    users, thread_id = users_by_id(ids), message.post.thread_id
    left = _left([thread_id], set(ids))
    return [users[one] for one in ids if one in users and (thread_id, one) not in left]


def seen_by(viewer: User, conversation: ConversationItem, message_id: int) -> list[User]:
    """The people who share read receipts and saw a message by the viewer; none if the viewer does not share them."""
    if not viewer.tells_seen:
        return []
    rows = Conversation.objects.filter(
        thread_id=conversation.thread_id,
        user__in=[person.pk for person in conversation.people],
        user__tells_seen=True,
        is_request=False,
        seen_id__gte=message_id,
    )
    seen = set(rows.values_list("user_id", flat=True))
    return [person for person in conversation.people if person.pk in seen]


def waiting_requests(viewer: User) -> int:
    """The number of open requests from strangers, counted up to ten."""
    return len(rows_of(_WAITING, {"viewer": viewer.pk}))


def messages_page(viewer: User, conversation: ConversationItem, cursor: Cursor) -> Page[Message]:
    """A page of the messages of a conversation, oldest first; the cursor is the id of a post."""
    found: list[FeedItem] = []
    position = cursor
    for _round in range(MAX_ROUNDS):
        ids = _message_ids(viewer, conversation, position)
        items = {item.id: item for item in hydrate(viewer.pk, ids).items}
        found += [items[post_id] for post_id in ids if post_id in items]
        if len(found) > cursor.limit or len(ids) <= cursor.limit:
            break
        position = cursor.beyond(ids[-1])
    page = to_page(found, cursor, id_of=lambda item: item.id)
    oldest_first = page.items[::-1]
    before = [0, *(item.author.pk for item in oldest_first)]
    return page.with_items(
        [
            Message(item, begins=item.author.pk != author_id)
            for item, author_id in zip(oldest_first, before, strict=False)
        ]
    )


def _message_ids(viewer: User, conversation: ConversationItem, cursor: Cursor) -> list[int]:
    values = {
        "thread": conversation.thread_id,
        "viewer": viewer.pk,
        "floor": cursor.floor,
        "below": cursor.max_id or 2**63 - 1,
        "limit": cursor.wanted,
    }
    rows = rows_of(_MESSAGES.format(order="ASC" if cursor.ascending else "DESC"), values)
    return [post_id for (post_id,) in rows]


def _rows(viewer: User, cursor: Cursor, *, requests: bool | None) -> list[Conversation]:
    """The conversations of a page and one more: newest first, or oldest first if the cursor is ascending."""
    rows = Conversation.objects.filter(user=viewer, last_post__gt=cursor.floor, has_left=False)
    if requests is not None:
        rows = rows.filter(is_request=requests)
    if cursor.max_id is not None:
        rows = rows.filter(last_post__lt=cursor.max_id)
    order = "last_post_id" if cursor.ascending else "-last_post_id"
    return list(rows.order_by(order)[: cursor.limit + 1])


def _conversation_items(viewer: User, rows: Sequence[Conversation]) -> list[ConversationItem]:
    items = {item.id: item for item in hydrate(viewer.pk, [row.last_post_id for row in rows]).items}
    shown = [row for row in rows if row.last_post_id in items]
    other_ids = {row.pk: _other_ids(viewer, items[row.last_post_id]) for row in shown}
    ids = {user_id for of_one in other_ids.values() for user_id in of_one}
    threads = [row.thread_id for row in shown]
    users, muted = users_by_id(ids), muted_threads(viewer.pk, threads)
    left = _left(threads, ids - {viewer.pk})
    return [
        ConversationItem(
            row.pk,
            row.thread_id,
            items[row.last_post_id],
            [
                users[user_id]
                for user_id in other_ids[row.pk]
                if user_id in users and (row.thread_id, user_id) not in left
            ],
            row.is_unread,
            row.is_request,
            row.thread_id in muted,
        )
        for row in shown
    ]


def _left(thread_ids: Sequence[int], user_ids: set[int]) -> set[Any]:
    """The users who have left one of the threads, as pairs of thread id and user id."""
    rows = Conversation.objects.filter(thread_id__in=thread_ids, user__in=user_ids, has_left=True)
    return set(rows.values_list("thread_id", "user_id"))


def _other_ids(viewer: User, item: FeedItem) -> list[int]:
    """The ids of the people in a conversation except the viewer; only the viewer's id for a note to oneself."""
    user_ids = dict.fromkeys([item.author.pk, *item.post.mentions.values()])
    return [user_id for user_id in user_ids if user_id != viewer.pk] or [viewer.pk]
