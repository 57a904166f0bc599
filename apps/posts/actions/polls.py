"""Polls: create, replace, end. `engagement.actions.vote` decides who may vote, and until when."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from apps.events.actions import record
from apps.posts.actions.drafts import PollDraft
from apps.posts.models import Poll, Post
from apps.texts import normalise


def create_poll(post: Post, draft: PollDraft) -> Poll:
    """Create the poll of a checked draft, in the transaction that inserts or edits its post."""
    options = [normalise(option) for option in draft.options]
    return Poll.objects.create(
        post=post,
        options=options,
        votes=[0 for _option in options],
        multiple=draft.multiple,
        hide_totals=draft.hide_totals,
        expires_at=timezone.now() + timedelta(seconds=draft.seconds),
    )


def replace_poll(post: Post, draft: PollDraft) -> Poll:
    """Replace the poll of an edited post. Different options, or a change of `multiple`, delete all votes."""
    poll = Poll.objects.select_for_update().filter(post=post).first()
    options = [normalise(option) for option in draft.options]
    if poll is None or (poll.options, poll.multiple) != (options, draft.multiple):
        Poll.objects.filter(post=post).delete()
        return create_poll(post, draft)
    poll.hide_totals, poll.is_ended = draft.hide_totals, False
    poll.expires_at = timezone.now() + timedelta(seconds=draft.seconds)
    poll.save(update_fields=["hide_totals", "expires_at", "is_ended"])
    return poll


def poll_of(post: Post) -> Poll | None:
    """The poll of a post; a post without a poll needs no query."""
    return Poll.objects.get(post=post) if post.has_poll else None


def clear_poll(post: Post) -> None:
    """Remove the options of a deleted post's poll, and end it without notifying anybody."""
    if post.has_poll:
        Poll.objects.filter(post=post).update(options=[], is_ended=True)


def end_polls(*, limit: int) -> int:
    """End up to `limit` expired polls and record an event for each; returns the number found."""
    expired = Poll.objects.filter(is_ended=False, expires_at__lte=timezone.now())
    ids = list(expired.order_by("expires_at").values_list("pk", flat=True)[:limit])
    for post_id in ids:
        with transaction.atomic():
            # unless another worker has just ended it, or an edit has extended it
            if expired.filter(pk=post_id).update(is_ended=True):
                record("poll_ended", post_id=post_id)
    return len(ids)
