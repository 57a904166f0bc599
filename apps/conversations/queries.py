"""Reads of conversations: only what the viewer can open now."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.conversations.models import Conversation
from apps.errors import NotFound
from apps.paging import Cursor, Page, to_page
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem

MAX_ROUNDS = 20  # of conversations that are all hidden; then the list ends


@dataclass(frozen=True, slots=True)
class ConversationItem:
    """A conversation with what was said last, and with whom."""

    id: int
    item: FeedItem
    people: list[User]
    is_unread: bool


def conversations_page(viewer: User, cursor: Cursor) -> Page[ConversationItem]:
    """A page of a viewer's conversations, the newest said first; the cursor is the id of what was said last."""
    found: list[ConversationItem] = []
    walk = cursor
    for _round in range(MAX_ROUNDS):
        rows = _rows(viewer, walk)
        found += _conversation_items(viewer, rows)
        if len(found) > cursor.limit or len(rows) <= cursor.limit:
            break
        walk = cursor.beyond(rows[-1].last_post_id)
    # of what is shown: a cursor must not name a post that the viewer may not see
    return to_page(found, cursor, id_of=lambda talk: talk.item.id)


def one_conversation(viewer: User, number: int) -> ConversationItem:
    """One of a viewer's conversations, as it would be listed. NotFound."""
    for talk in _conversation_items(
        viewer, list(Conversation.objects.filter(user=viewer, pk=number))
    ):
        return talk
    raise NotFound(_("There is no such conversation."))


def conversation_about(viewer: User, post_id: int) -> ConversationItem | None:
    """The conversation of a viewer's in which a post was said last, as it would be listed."""
    rows = Conversation.objects.filter(user=viewer, last_post=post_id)
    return next(iter(_conversation_items(viewer, list(rows))), None)


def _rows(viewer: User, walk: Cursor) -> list[Conversation]:
    """One conversation more than a page has, in reading order."""
    rows = Conversation.objects.filter(user=viewer, last_post__gt=walk.floor)
    if walk.max_id is not None:
        rows = rows.filter(last_post__lt=walk.max_id)
    order = "last_post_id" if walk.ascending else "-last_post_id"
    return list(rows.order_by(order)[: walk.limit + 1])


def _conversation_items(viewer: User, rows: Sequence[Conversation]) -> list[ConversationItem]:
    found = hydrate(viewer.pk, [row.last_post_id for row in rows]).items
    items = {item.id: item for item in found}
    named = {item.id: _others(viewer, item) for item in found}
    users = users_by_id({one for ids in named.values() for one in ids})
    return [
        ConversationItem(
            row.pk,
            items[row.last_post_id],
            [users[one] for one in named[row.last_post_id] if one in users],
            row.is_unread,
        )
        for row in rows
        if row.last_post_id in items
    ]


def _others(viewer: User, item: FeedItem) -> list[int]:
    """Who is in it besides the viewer, who is alone only in a note to oneself."""
    named = dict.fromkeys([item.author.pk, *item.post.mentions.values()])
    return [one for one in named if one != viewer.pk] or [viewer.pk]
