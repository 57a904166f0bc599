"""Scheduled posts: rows that become due, claimed under a lease like all background work.

Delayed messages are not used, because a queue may lose a message or deliver it twice. The post's idempotency key
contains the row's number, so a post is not published twice if a worker dies after publishing it and before recording
that. A post that can no longer be published (its parent was deleted, or its author is suspended) becomes a dead letter
with the reason after five attempts. `timeline.publishing.publish_due` publishes posts that are due.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import user_ids_by_handle
from apps.errors import Invalid, NotAllowed, NotFound, invalid
from apps.events import leases
from apps.pagination import Cursor, Page, page_of_rows
from apps.posts.actions import idempotency
from apps.posts.actions.attachments import reserve
from apps.posts.actions.drafts import (
    Draft,
    UnexpectedMentions,
    audience,
    check_mentions,
    clean_draft,
)
from apps.posts.content.text import mentioned_handles
from apps.posts.models import Attachment, ScheduledPost
from apps.posts.queries import visible_posts

EARLIEST = timedelta(minutes=5)
LATEST = timedelta(days=366)
MAX_FAILED = 50
# Errors whose messages are meant for the author.
DOMAIN_ERRORS = {error.__name__ for error in (Invalid, NotAllowed, NotFound, UnexpectedMentions)}


def schedule_post(
    author: User,
    draft: Draft,
    at: datetime,
    *,
    idempotency_key: str = "",
    content_digest: Sequence[str] = (),
) -> ScheduledPost:
    """Store a draft with its uploaded pictures, to be published at `at`.

    If an author repeats an idempotency key, the first scheduled post is returned (`idempotency`); `content_digest` says
    whether the files are the same, although new uploads have other ids. The posts that the draft replies to or quotes
    are checked only when it is published. Raises Invalid, NotFound, NotAllowed or Conflict.
    """
    request = idempotency.Request(author, idempotency_key, draft, at, content_digest)
    earlier = idempotency.existing_result(request)
    if earlier is not None and earlier.scheduled is not None:
        return earlier.scheduled
    _check_time(at)
    if draft.pictures:
        raise invalid("media_ids", _("Upload pictures first."), "not_allowed")
    body = clean_draft(draft)
    mentions = user_ids_by_handle(mentioned_handles(body))
    check_mentions(draft, set(mentions.values()) - {author.pk})
    # a reply inherits its circle; publishing refuses a reply to a post that its author may not see
    parents = visible_posts(author.pk, [draft.reply_to_id] if draft.reply_to_id else []).posts
    audience(author.pk, draft, parents.get(draft.reply_to_id or 0))
    with transaction.atomic():
        earlier = idempotency.claim(request)
        if earlier is not None and earlier.scheduled is not None:
            return earlier.scheduled
        User.objects.select_for_update().get(pk=author.pk)  # a lock, so that the limit holds
        if _pending(author).count() >= settings.SCHEDULED_POSTS_MAX:
            text = _("At most %(count)d scheduled posts.") % {"count": settings.SCHEDULED_POSTS_MAX}
            raise invalid("scheduled_at", text, "too_many")
        data = {**asdict(draft), "body": body}
        data.pop("pictures")
        row = ScheduledPost.objects.create(author=author, scheduled_at=at, due_at=at, draft=data)
        reserve(row, draft.media_ids)
        idempotency.note(request, scheduled=row)
        return row


def scheduled_posts(author: User, cursor: Cursor) -> Page[ScheduledPost]:
    """The author's pending posts, most recently created first."""
    rows = _pending(author).prefetch_related("attachments")
    page: Page[ScheduledPost] = page_of_rows(rows, cursor)
    return page


def scheduled_post(author: User, number: int) -> ScheduledPost:
    """A pending post of the author. Raises NotFound."""
    row = _pending(author).filter(pk=number).first()
    if row is None:
        raise _not_found()
    return row


def reschedule(author: User, number: int, at: datetime) -> ScheduledPost:
    """Change the time of a pending post. Raises NotFound or Invalid."""
    _check_time(at)
    if not _pending(author).filter(pk=number).update(scheduled_at=at, due_at=at):
        raise _not_found()
    return scheduled_post(author, number)


def cancel(author: User, number: int) -> None:
    """Delete a pending post. Raises NotFound if publishing it has begun."""
    deleted, _by_model = _pending(author).filter(pk=number).delete()
    if not deleted:
        raise _not_found()


def failed_posts(author: User) -> list[ScheduledPost]:
    """The newest 50 posts that could not be published."""
    rows = _failed(author).prefetch_related("attachments").order_by("-pk")
    return list(rows[:MAX_FAILED])


def failed_post(author: User, number: int) -> ScheduledPost:
    """A post of the author that could not be published. Raises NotFound."""
    row = _failed(author).filter(pk=number).first()
    if row is None:
        raise _not_found()
    return row


def failure_reason(row: ScheduledPost) -> str:
    """The reason why a post could not be published, in the reader's language."""
    kind, _colon, message = row.last_error.partition(": ")
    if kind in DOMAIN_ERRORS:
        return _(message)  # stored untranslated
    return _("Something went wrong on our side. Nothing is lost. Please try again.")


def retry_failed(author: User, number: int) -> None:
    """Give a failed post five more attempts, from now. Raises NotFound."""
    if not leases.revive_dead(ScheduledPost, pk=number, author=author):
        raise _not_found()


def delete_failed(author: User, number: int) -> None:
    """Delete a failed post. Raises NotFound."""
    deleted, _by_model = _failed(author).filter(pk=number).delete()
    if not deleted:
        raise _not_found()


def release_failed(author: User, number: int) -> None:
    """Delete a failed post. Its pictures stay for a day, for the post that replaces it. Raises NotFound."""
    Attachment.objects.filter(scheduled=failed_post(author, number)).update(
        scheduled=None, created_at=timezone.now()
    )
    delete_failed(author, number)


def retry_dead(numbers: Sequence[int]) -> int:
    """Give failed posts five more attempts, from now; returns their number."""
    return len(leases.revive_dead(ScheduledPost, pk__in=numbers))


def discard_dead(numbers: Sequence[int]) -> int:
    """Delete failed posts; returns their number."""
    rows = ScheduledPost.objects.filter(pk__in=numbers, state=leases.State.DEAD)
    _deleted, by_model = rows.delete()
    return by_model.get(ScheduledPost._meta.label, 0)


def _pending(author: User) -> QuerySet[ScheduledPost]:
    # a row with attempts is being published or will be retried, and can no longer be rescheduled or cancelled
    return ScheduledPost.objects.filter(author=author, state=leases.State.PENDING, attempts=0)


def _failed(author: User) -> QuerySet[ScheduledPost]:
    return ScheduledPost.objects.filter(author=author, state=leases.State.DEAD)


def _not_found() -> NotFound:
    return NotFound(_("There is no such scheduled post."))


def _check_time(at: datetime) -> None:
    now = timezone.now()
    if not now + EARLIEST <= at <= now + LATEST:
        text = _("Choose a time from five minutes to a year from now.")
        raise invalid("scheduled_at", text, "out_of_range")
