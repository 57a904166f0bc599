"""Exports a subscription to the weekly e-mail into archives, and erases it with the account."""

from collections.abc import Iterable, Sequence

from apps.accounts.models import User
from apps.digest.models import DigestReader, Issue
from apps.privacy.hooks import Part, Record


def _records(rows: Sequence[DigestReader]) -> Iterable[Record]:
    for row in rows:
        yield {"Weekly mail since": row.since.isoformat()}


ARCHIVE = Part(
    "weekly_mail.csv",
    lambda user: DigestReader.objects.filter(user=user),
    _records,
    "whether you get the weekly mail",
)


def digests(user: User, limit: int) -> int:
    """Delete the subscription, and the rows of sent and pending e-mails."""
    readers = DigestReader.objects.filter(user=user).delete()[0]
    rows = Issue.objects.filter(user=user).values("pk")[:limit]
    return readers + Issue.objects.filter(pk__in=rows).delete()[0]
