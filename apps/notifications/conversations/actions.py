"""What members do with their conversations: write, read, mute, leave and remove."""

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotAllowed, NotFound, invalid
from apps.events.live import announce
from apps.graph.queries import exact_relations
from apps.notifications.actions import accept_notifications_from
from apps.notifications.conversations.delivery import add_post
from apps.notifications.conversations.queries import (
    conversation_with,
    get_conversation,
    people_of,
)
from apps.notifications.models import Conversation
from apps.posts.actions.drafts import Draft
from apps.posts.actions.mute_thread import mute_thread, unmute_thread
from apps.posts.content.text import MAX_MENTIONS
from apps.posts.models import IdempotencyKey, Post, Visibility
from apps.texts import is_visible
from apps.timeline import publishing
from apps.timeline.thread import visible_item
from feedcache.ids import author_of

MAX_PEOPLE = MAX_MENTIONS  # including the author


def begin(
    author: User,
    people: Sequence[User],
    draft: Draft,
    *,
    idempotency_key: str,
    content_digest: Sequence[str] = (),
) -> Post:
    """Send people a message, in the author's conversation with exactly these people, or in a new one.

    `content_digest` is as in `publish_post`. Raises Invalid, NotFound, NotAllowed, Conflict, TooMany or Unavailable.
    """
    if not people:
        raise invalid("to", _("Choose at least one recipient."), "blank")
    parent_id = _parent_id(author, people, idempotency_key)
    draft = replace(draft, reply_to_id=parent_id)
    return _send(author, people, draft, idempotency_key, content_digest)


def answer(
    author: User,
    number: int,
    draft: Draft,
    *,
    seen_id: int,
    idempotency_key: str,
    content_digest: Sequence[str] = (),
) -> Post:
    """Answer the message `seen_id`, the last one on the page that `author` saw: write to its author and its addressees.

    `content_digest` is as in `publish_post`. Raises Invalid, NotFound, NotAllowed, Conflict, TooMany or Unavailable.
    """
    conversation = get_conversation(author, number)
    seen = visible_item(author.pk, seen_id)  # a later message may be for other people
    is_message = seen.post.visibility == Visibility.MENTIONED
    if not is_message or seen.post.thread_id != conversation.thread_id:
        raise NotFound(_("There is no such conversation."))
    draft = replace(draft, reply_to_id=seen_id)
    return _send(author, people_of(author, seen), draft, idempotency_key, content_digest)


def _parent_id(author: User, people: Sequence[User], key: str) -> int | None:
    """The id of the message that a new message replies to; None if it begins a conversation.

    If a form is sent twice, the id is the same both times.
    """
    sent = IdempotencyKey.objects.filter(user=author, key=key).exclude(post=None)
    if key and (earlier := sent.first()) and earlier.post:
        parent_id: int | None = earlier.post.reply_to_id
        return parent_id
    known = conversation_with(author, people)
    return known.item.id if known else None


def _send(
    author: User, people: Sequence[User], draft: Draft, key: str, content_digest: Sequence[str]
) -> Post:
    """Publish a message for these people, except those separated by a block; its text begins with their handles."""
    others = [person for person in people if person.pk != author.pk]
    if len(others) >= MAX_PEOPLE:
        raise invalid("to", _("At most %(count)d people.") % {"count": MAX_PEOPLE}, "too_many")
    severed = exact_relations(author.pk, [person.pk for person in others]).severed
    reached = [person for person in others if person.pk not in severed]
    if not people:
        raise NotAllowed(_("Everybody else has left."))
    if others and not reached:
        raise NotAllowed(_("You can't message this account."))
    if not is_visible(draft.body) and not draft.media_ids:
        raise invalid("status", _("Write something first."), "blank")
    message = replace(
        draft,
        body=" ".join([*(f"@{person.handle}" for person in reached), draft.body]),
        visibility=Visibility.MENTIONED,
        allowed_mentions=tuple(person.pk for person in reached),
    )
    post = publishing.publish(
        author, message, idempotency_key=key, content_digest=content_digest
    ).post
    # so that the author's next page shows the message; the event handler does the same later
    add_post(post.pk)
    return post


def mark_read(viewer: User, number: int) -> None:
    """Mark a conversation as read, and announce it to the author of its last message. Raises NotFound.

    Nothing is announced if the conversation is read already or a request, or if the viewer has disabled read receipts.
    """
    row = Conversation.objects.filter(user=viewer, pk=number, has_left=False).first()
    if row is None:
        raise NotFound(_("There is no such conversation."))
    if not row.is_unread:
        return
    rows = Conversation.objects.filter(pk=row.pk, last_post=row.last_post_id)
    if not viewer.tells_seen or row.is_request:
        rows.update(is_unread=False)
        return
    if rows.update(is_unread=False, seen_id=row.last_post_id):  # no later message has arrived
        announce("seen", user_id=author_of(row.last_post_id), post_id=row.last_post_id)


def accept_request(viewer: User, number: int) -> None:
    """Accept a request: list it as a conversation, and exempt the author of its last message from the viewer's policy.

    Raises NotFound.
    """
    conversation = get_conversation(viewer, number)
    _change(viewer, number, is_request=False)
    accept_notifications_from(viewer, [conversation.item.author.pk])


def mute_conversation(viewer: User, number: int) -> None:
    """Mute a conversation: it stays listed, but neither notifies nor counts as unread in the badge. Raises NotFound."""
    mute_thread(viewer, get_conversation(viewer, number).item.id)


def unmute_conversation(viewer: User, number: int) -> None:
    """Undo `mute_conversation`. Raises NotFound."""
    unmute_thread(viewer, get_conversation(viewer, number).item.id)


def leave_conversation(viewer: User, number: int) -> None:
    """Leave a conversation until the viewer writes in it again; it stays muted even then. Raises NotFound.

    The other members' pages no longer address messages to the viewer; messages that still do are ignored.
    """
    mute_conversation(viewer, number)
    _change(viewer, number, has_left=True, is_unread=False)


def remove_conversation(viewer: User, number: int) -> None:
    """Remove a conversation from the viewer's list; the next message in it adds it again. Raises NotFound."""
    deleted, _by_model = Conversation.objects.filter(
        user=viewer, pk=number, has_left=False
    ).delete()
    if not deleted:
        raise NotFound(_("There is no such conversation."))


def _change(viewer: User, number: int, **values: bool) -> None:
    if not Conversation.objects.filter(user=viewer, pk=number, has_left=False).update(**values):
        raise NotFound(_("There is no such conversation."))
