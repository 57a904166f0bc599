"""What an archive of an account has of its weekly mail, and what becomes of it when the account is deleted."""

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
    """The subscription, and the mails that were sent or wait."""
    readers = DigestReader.objects.filter(user=user).delete()[0]
    rows = Issue.objects.filter(user=user).values("pk")[:limit]
    return readers + Issue.objects.filter(pk__in=rows).delete()[0]
