"""The files about promotions in an account's archive."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from apps.privacy.hooks import Part, Record
from apps.promotions.models import OptOut, SegmentMembership, UserTrait


def _since(row: Any) -> Record:
    return {"Since": row.created_at.isoformat()}


def _each(write: Callable[[Any], Record]) -> Callable[[Sequence[Any]], Iterable[Record]]:
    return lambda rows: map(write, rows)


PARTS = (
    Part(
        "traits.csv",
        lambda user: UserTrait.objects.filter(user=user).select_related("trait"),
        _each(lambda row: {"Trait": row.trait.name, **_since(row)}),
        "what they say about themselves",
    ),
    Part(
        "segments.csv",
        lambda user: SegmentMembership.objects.filter(
            user=user, segment__is_active=True
        ).select_related("segment"),
        _each(lambda row: {"Counted among": row.segment.description, **_since(row)}),
        "the groups they are counted among, so that promoted posts are shown",
    ),
    Part(
        "no_promoted_posts.csv",
        lambda user: OptOut.objects.filter(user=user),
        _each(_since),
        "since when they want no promoted posts",
    ),
)
