"""Exports an account's feeds into its archive, and erases them with the account."""

from collections.abc import Iterable, Sequence

from django.conf import settings

from apps.accounts.models import User
from apps.feeds.actions import RULES, SWITCHES, forget_person
from apps.feeds.models import Feed
from apps.feeds.queries import handles_in
from apps.privacy.hooks import Part, Record, address_of


def _records(rows: Sequence[Feed]) -> Iterable[Record]:
    handles = handles_in(rows)
    for row in rows:
        rules: Record = {name: getattr(row, name) for name in RULES}
        for name in ("include_people", "exclude_people"):
            rules[name] = [address_of(handles[pk]) for pk in rules[name] if pk in handles]
        switches = {name: getattr(row, name) for name in SWITCHES}
        yield {"name": row.name, "address": settings.SITE_URL + row.url, **rules, **switches}


ARCHIVE = Part(
    "feeds.jsonl",
    lambda user: Feed.objects.filter(owner=user).select_related("owner"),
    _records,
    "rule-based feeds",
)


def feeds(user: User, limit: int) -> int:
    """Delete the account's feeds, and remove the account from the rules of other people's feeds."""
    rows = Feed.objects.filter(pk__in=Feed.objects.filter(owner=user).values("pk")[:limit])
    return forget_person(user.pk) + rows.delete()[0]
