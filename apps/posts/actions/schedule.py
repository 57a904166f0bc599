"""Posts that are published later: rows that become due, claimed under a lease as all work here.

No delayed message is involved: a queue may lose it, or run it twice. The row's number is the idempotency key of the
post, so a worker that dies between publishing and noting it down publishes nothing twice. What cannot be published any
more (the post it answers is gone, its author is suspended) becomes a dead letter that says why.
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
from apps.errors import Invalid, NotAllowed, NotFound
from apps.events import leases
from apps.paging import Cursor, Page, page_of_rows
from apps.posts.actions import idempotency
from apps.posts.actions.attachments import reserve
from apps.posts.actions.audience import audience
from apps.posts.actions.author import mentioned
from apps.posts.actions.drafts import Draft, check_mentions, checked, invalid
from apps.posts.models import Attachment, ScheduledPost

EARLIEST = timedelta(minutes=5)
LATEST = timedelta(days=366)
FAILED_SHOWN = 50
DOMAIN_ERRORS = {
    one.__name__ for one in (Invalid, NotAllowed, NotFound)
}  # what an author can do something about


def schedule_post(
    author: User,
    draft: Draft,
    at: datetime,
    *,
    idempotency_key: str = "",
    content_digest: Sequence[str] = (),
) -> ScheduledPost:
    """Keep a draft until its time comes, with the pictures that were uploaded for it.

    Invalid when it could not be published now either.
    The same idempotency key of the same author gives what was kept first (`repeats`); `content_digest` then stands for the pictures.
    """
    request = idempotency.Request(author, idempotency_key, draft, at, content_digest)
    if (made := idempotency.existing_result(request)) is not None and made.scheduled is not None:
        return made.scheduled
    _check_time(at)
    if draft.pictures:
        raise invalid("media_ids", _("Upload pictures first."), "not_allowed")
    body = checked(draft)
    check_mentions(draft, set(mentioned(body).values()) - {author.pk})
    audience(author.pk, draft, None)
    with transaction.atomic():
        if (made := idempotency.claim(request)) is not None and made.scheduled is not None:
            return made.scheduled
        User.objects.select_for_update().get(pk=author.pk)  # two requests must not pass the limit
        if _waiting(author).count() >= settings.SCHEDULED_POSTS_MAX:
            text = _("At most %(count)d posts can wait.") % {"count": settings.SCHEDULED_POSTS_MAX}
            raise invalid("scheduled_at", text, "too_many")
        kept = {**asdict(draft), "body": body}
        kept.pop("pictures")
        waits = ScheduledPost.objects.create(author=author, scheduled_at=at, due_at=at, draft=kept)
        reserve(waits, draft.media_ids)
        idempotency.note(request, scheduled=waits)
        return waits


def scheduled_posts(author: User, cursor: Cursor) -> Page[ScheduledPost]:
    """A page of what an author has waiting, the last made first."""
    rows = _waiting(author).prefetch_related("attachments")
    page: Page[ScheduledPost] = page_of_rows(rows, cursor)
    return page


def scheduled_post(author: User, number: int) -> ScheduledPost:
    """One that waits; NotFound."""
    found = _waiting(author).filter(pk=number).first()
    if found is None:
        raise _not_there()
    return found


def reschedule(author: User, number: int, at: datetime) -> ScheduledPost:
    """Another time for one that waits; NotFound, Invalid."""
    _check_time(at)
    if not _waiting(author).filter(pk=number).update(scheduled_at=at, due_at=at):
        raise _not_there()
    return scheduled_post(author, number)


def cancel(author: User, number: int) -> None:
    """Forget one that waits; NotFound when it has been published or is being published."""
    deleted, _by_model = _waiting(author).filter(pk=number).delete()
    if not deleted:
        raise _not_there()


def failed_posts(author: User) -> list[ScheduledPost]:
    """What could not be published, the last made first; at most 50."""
    rows = _failed(author).prefetch_related("attachments").order_by("-pk")
    return list(rows[:FAILED_SHOWN])


def failed_post(author: User, number: int) -> ScheduledPost:
    """One that could not be published; NotFound."""
    found = _failed(author).filter(pk=number).first()
    if found is None:
        raise _not_there()
    return found


def why_not(row: ScheduledPost) -> str:
    """Why a post could not be published, in the reader's language."""
    kind, _colon, message = row.last_error.partition(": ")
    if kind in DOMAIN_ERRORS:
        return _(message)  # kept as it is written in the code
    return _("Something went wrong on our side. Nothing is lost: try it again.")


def try_again(author: User, number: int) -> None:
    """Give one that could not be published five more tries, now; NotFound."""
    if not leases.revive_dead(ScheduledPost, pk=number, author=author):
        raise _not_there()


def give_up(author: User, number: int) -> None:
    """Forget one that could not be published; NotFound."""
    deleted, _by_model = _failed(author).filter(pk=number).delete()
    if not deleted:
        raise _not_there()


def release_failed(author: User, number: int) -> None:
    """Forget one that could not be published; its pictures wait for the post that takes its place. NotFound."""
    Attachment.objects.filter(scheduled=failed_post(author, number)).update(
        scheduled=None, created_at=timezone.now()
    )
    give_up(author, number)


def retry_dead(numbers: Sequence[int]) -> int:
    """Give those that could not be published five more tries, now; how many."""
    return len(leases.revive_dead(ScheduledPost, pk__in=numbers))


def discard_dead(numbers: Sequence[int]) -> int:
    """Give up those that could not be published; how many."""
    deleted, _by_model = ScheduledPost.objects.filter(
        pk__in=numbers, state=leases.State.DEAD
    ).delete()
    return deleted


def _waiting(author: User) -> QuerySet[ScheduledPost]:
    # one that has been claimed is on its way: it can be neither moved nor taken back
    return ScheduledPost.objects.filter(author=author, state=leases.State.PENDING, attempts=0)


def _failed(author: User) -> QuerySet[ScheduledPost]:
    return ScheduledPost.objects.filter(author=author, state=leases.State.DEAD)


def _not_there() -> NotFound:
    return NotFound(_("There is no such scheduled post."))


def _check_time(at: datetime) -> None:
    now = timezone.now()
    if not now + EARLIEST <= at <= now + LATEST:
        text = _("Choose a time from five minutes to a year from now.")
        raise invalid("scheduled_at", text, "out_of_range")
