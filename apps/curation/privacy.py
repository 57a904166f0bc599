"""Exports an account's collections into its archive, and erases them with the account."""

from collections.abc import Iterable, Sequence

from django.conf import settings

from apps.accounts.models import User
from apps.curation.models import Collection, CollectionItem, ReportedCollection
from apps.curation.queries import shown
from apps.privacy.hooks import Part, Record, address_of


def _records(rows: Sequence[Collection]) -> Iterable[Record]:
    for one in shown(rows, None):
        row = one.collection
        yield {
            "name": row.name,
            "description": row.description,
            "tag": row.tag,
            "language": row.language,
            "sensitive": row.is_sensitive,
            "discoverable": row.is_discoverable,
            "address": settings.SITE_URL + row.url,
            "since": row.created_at.isoformat(),
            "accounts": [address_of(item.member.handle) for item in one.items],
        }


ARCHIVE = Part(
    "collections.jsonl",
    lambda user: Collection.objects.filter(owner=user).select_related("owner"),
    _records,
    "collections of accounts",
)


def collections(user: User, limit: int) -> int:
    """Remove the account from collections, delete its own collections, and delete the stored texts of reported ones."""
    inside = CollectionItem.objects.filter(member=user).values("pk")[:limit]
    done = CollectionItem.objects.filter(pk__in=inside).delete()[0]
    own = Collection.objects.filter(owner=user).values("pk")[:limit]
    reported = ReportedCollection.objects.filter(report__target=user).values("pk")[:limit]
    done += ReportedCollection.objects.filter(pk__in=reported).delete()[0]
    return done + Collection.objects.filter(pk__in=own).delete()[0]
