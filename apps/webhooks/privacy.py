"""Exports an account's webhooks into its archive, and erases them with the account."""

from collections.abc import Iterable, Sequence

from apps.accounts.models import User
from apps.privacy.hooks import Part, Record
from apps.webhooks.models import Endpoint
from apps.webhooks.queries import endpoints_of, maker_of


def _records(rows: Sequence[Endpoint]) -> Iterable[Record]:
    for row in rows:
        yield {
            "Address": row.address,
            "Messages": " ".join(row.kinds),
            "Program": maker_of(row),
            "Since": row.created_at.isoformat(),
        }


ARCHIVE = Part("webhooks.csv", endpoints_of, _records, "servers that get messages from the account")


def webhooks(user: User, limit: int) -> int:
    """Delete the account's endpoints with their messages."""
    rows = Endpoint.objects.filter(owner=user).values("pk")[:limit]
    return Endpoint.objects.filter(pk__in=rows).delete()[0]
