"""Exports an account's push devices into its archive, and erases them with the account."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from apps.accounts.models import User
from apps.privacy.hooks import Part, Record
from apps.push.models import Preferences, Subscription
from apps.push.queries import name_of, subscriptions_of


def _records(rows: Sequence[Subscription]) -> Iterable[Record]:
    for row in rows:
        service = urlsplit(row.endpoint).hostname or ""
        yield {
            "Device or program": name_of(row),
            "Push service": service,
            "Since": row.created_at.isoformat(),
        }


ARCHIVE = Part(
    "push_devices.csv",
    subscriptions_of,
    _records,
    "devices and programs that get notifications",
)


def push_devices(user: User, limit: int) -> int:
    """Delete the account's preferences and up to `limit` subscriptions; returns the number of deleted rows."""
    chosen = Preferences.objects.filter(user=user).delete()[0]
    rows = Subscription.objects.filter(user=user).values("pk")[:limit]
    return chosen + Subscription.objects.filter(pk__in=rows).delete()[0]
