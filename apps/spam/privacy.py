"""Exports verdicts about an account's posts into its archive, and erases them with the account."""

from collections.abc import Iterable, Sequence

from apps.accounts.models import User
from apps.privacy.hooks import Part, Record
from apps.spam.heuristics import sentences
from apps.spam.models import Fingerprint, Verdict


def _records(rows: Sequence[Verdict]) -> Iterable[Record]:
    for row in rows:
        yield {
            "post": str(row.post_id),
            "score": row.score,
            "reasons": sentences(row.reasons),
            "acts": row.acts,
            "at": row.created_at.isoformat(),
        }


ARCHIVE = Part(
    "spam_verdicts.jsonl",
    lambda user: Verdict.objects.filter(author=user),
    _records,
    "posts that the site took for spam, and what it did",
)


def verdicts(user: User, limit: int) -> int:
    """Delete the verdicts about an account's posts, and the fingerprints of its posts."""
    count = 0
    for model in (Verdict, Fingerprint):
        ids = model.objects.filter(author=user).values_list("pk", flat=True)[: limit - count]
        count += model.objects.filter(pk__in=list(ids)).delete()[0]
    return count
