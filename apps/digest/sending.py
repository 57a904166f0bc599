"""Sends the weekly e-mail. Each e-mail to a member is a row, which a task claims and sends (`apps.events.leases`).

The e-mail shows the posts with the most reactions on the member's home page in the last seven days. It leaves out
restricted posts, because e-mail is not encrypted. It is plain text, so nobody learns who opened it.
"""

from dataclasses import dataclass
from datetime import date, timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override

from apps import sql
from apps.accounts.models import User
from apps.addresses import absolute
from apps.digest.actions import end_token
from apps.digest.models import DigestReader, Issue
from apps.events import leases
from apps.events.leases import State
from apps.notifications.queries import Unread, unread
from apps.timeline.history.catch_up import catch_up
from apps.timeline.pipeline.items import FeedItem

TASK = "apps.digest.tasks.send"
MAX_POSTS = 7
EXCERPT_CHARACTERS = 200
SWEEP_BATCH_SIZE = 50
RETENTION = timedelta(weeks=4)  # a week's row prevents a second e-mail for that week

# Members who subscribe during a week get the mail from the next week on.
_MAKE = """
INSERT INTO digest_issue (user_id, week, state, attempts, last_error)
SELECT user_id, %(week)s, %(state)s, 0, '' FROM digest_digestreader WHERE since < %(week)s ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class Digest:
    """The content of an e-mail."""

    user: User
    items: list[FeedItem]
    more: int  # the number of posts that the mail leaves out
    unread: Unread
    end_url: str

    @property
    def is_empty(self) -> bool:
        return not (self.items or any(self.unread))


def make_issues(today: date | None = None) -> int:
    """Insert this week's missing rows and return their number. A second run inserts none."""
    today = today or timezone.now().date()
    monday = today - timedelta(days=today.weekday())
    return sql.change(_MAKE, week=monday, state=State.PENDING.value)


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Send due e-mails, unless enough workers are sending already; returns the number of claimed rows."""
    at_once = settings.EMAIL_CONCURRENCY
    return leases.run_few(Issue, _send, at_once=at_once, limit=limit, only=only)


def due() -> list[int]:
    """The ids of some due e-mails, only a few at a time, to spare the mail server."""
    return leases.due_ids(Issue, limit=SWEEP_BATCH_SIZE)


def purge() -> None:
    sql.purge(Issue.objects.filter(finished_at__lt=Now() - RETENTION).order_by("finished_at"))


def digest_of(user: User) -> Digest:
    """The content of a member's e-mail. Leaves out restricted, promoted and filtered posts, and the member's own."""
    found = [item for item in catch_up(user, None).by_reactions if _may_be_mailed(user, item)]
    # a post that several people reposted appears once
    items = list({item.shown.id: item.shown for item in found}.values())
    return Digest(
        user=user,
        items=items[:MAX_POSTS],
        more=len(items) - len(items[:MAX_POSTS]),
        unread=unread(user),
        end_url=absolute(reverse("digest_end", args=[end_token(user)])),
    )


def _may_be_mailed(user: User, item: FeedItem) -> bool:
    shown = item.shown
    return (
        shown.post.is_open and shown.author.pk != user.pk and not (item.warnings or shown.warnings)
    )


def _send(row: Issue) -> None:
    """Send an e-mail, unless it is empty, or the member unsubscribed, is suspended or frozen, or has no address."""
    readers = DigestReader.objects.select_related("user__counts")
    reader = readers.filter(user=row.user_id).first()
    if reader is None or not _may_get_mail(reader.user):
        return
    digest = digest_of(reader.user)
    if not digest.is_empty:
        with override(reader.user.interface_language or settings.LANGUAGE_CODE):
            message_of(digest).send()


def _may_get_mail(user: User) -> bool:
    return bool(user.email) and user.is_active and not user.is_suspended


def message_of(digest: Digest) -> EmailMessage:
    """The e-mail in the current language, with headers that let mail programs unsubscribe (RFC 2369, RFC 8058)."""
    context = {
        "digest": digest,
        "site_name": settings.SITE_NAME,
        "site_url": settings.SITE_URL,
        "excerpt": EXCERPT_CHARACTERS,
    }
    subject = render_to_string("digest/mail_subject.txt", context)
    return EmailMessage(
        " ".join(subject.split()),
        render_to_string("digest/mail.txt", context),
        to=[digest.user.email or ""],
        headers={
            "List-Unsubscribe": f"<{digest.end_url}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            "Auto-Submitted": "auto-generated",
        },
    )
