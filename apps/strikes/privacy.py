"""Exports an account's strikes and appeals to its archive, and erases them with the account."""

from collections.abc import Iterable, Sequence

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q

from apps.accounts.models import User
from apps.privacy.hooks import Part, Record
from apps.strikes.models import Evidence, Note, Strike


def _records(rows: Sequence[Strike]) -> Iterable[Record]:
    for row in rows:
        answered = getattr(row, "appeal", None)
        yield {
            "measure": row.measure,
            "rules": row.rules,
            "text": row.text,
            "post": row.evidence,
            "at": row.created_at.isoformat(),
            "taken_back": row.undone_at and row.undone_at.isoformat(),
            "appeal": answered.text if answered else "",
            "answer": answered.answer if answered else "",
        }


ARCHIVE = Part(
    "strikes.jsonl",
    lambda user: Strike.objects.filter(user=user).select_related("appeal"),
    _records,
    "what the moderators decided about you, and your appeals",
)


def strikes(user: User, limit: int) -> int:
    """Delete strikes with their appeals, notes about the account, and the evidence of reports about it or by it. The
    log of staff's acts stays, without the former name.
    """
    kind = ContentType.objects.get_for_model(User)
    entries = LogEntry.objects.filter(content_type=kind, object_id=str(user.pk))
    entries.exclude(object_repr=str(user)).update(object_repr=str(user))
    count = 0
    for rows in (
        Strike.objects.filter(user=user),
        Note.objects.filter(user=user),
        Evidence.objects.filter(Q(report__target=user) | Q(report__reporter=user)),
    ):
        ids = list(rows.values_list("pk", flat=True)[: max(limit - count, 0)])
        rows.model.objects.filter(pk__in=ids).delete()
        count += len(ids)
    return count
