"""Queries that read tags. Parameters called `name` take any spelling."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.pagination import Cursor, Page, page_of_rows
from apps.tags.models import (
    AUTHOR_OF_POST,
    FeaturedTag,
    PastTagFollow,
    Tag,
    TagDay,
    TagFollow,
    TagUse,
)
from apps.tags.names import normalize

DAYS = 7  # in a tag's history


@dataclass(frozen=True, slots=True)
class Day:
    """How often a tag was used on one day, and by how many accounts."""

    day: date
    uses: int = 0
    accounts: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TagUsage:
    """A tag with its history, today first, and whether the viewer follows it."""

    tag: Tag
    history: list[Day]
    is_followed: bool = False
    is_in_use: bool = True  # whether visitors can see any post with it; if not, uses are hidden

    @property
    def uses(self) -> int:
        """The number of posts with the tag in the last seven days."""
        return sum(day.uses for day in self.history)

    @property
    def accounts(self) -> int:
        """The number of accounts that used the tag on its busiest day, which is a lower bound for the seven days."""
        return max(day.accounts for day in self.history)


def tag_named(name: str) -> Tag:
    """The tag with a name; unsaved if nobody has used it yet. Raises NotFound for an invalid name."""
    normalized = normalize(name)
    if normalized is None:
        raise NotFound(_("There is no such tag."))
    return Tag.objects.filter(name=normalized).first() or Tag(name=normalized)


def publicly_used(tags: QuerySet[Tag]) -> QuerySet[Tag]:
    """The `tags` that have a public post by an author who is not suspended.

    A tag with only restricted or deleted posts must be indistinguishable from a tag that nobody has ever used.
    """
    uses = TagUse.objects.filter(tag=OuterRef("pk"), is_public=True).alias(author=AUTHOR_OF_POST)
    uses = uses.filter(Exists(User.objects.filter(pk=OuterRef("author"), suspended_at=None)))
    # a subquery for the first row; EXISTS might be planned as a join with all uses
    first = Subquery(uses.order_by("-post_id").values("post_id")[:1])
    return tags.alias(public_use=first).filter(public_use__isnull=False)


def tag_usages(
    tags: Collection[Tag], viewer: User | None, *, are_in_use: bool = False
) -> list[TagUsage]:
    """Tags with their history and whether a viewer follows them, in at most three queries.

    Pass `are_in_use` if the tags come from `publicly_used`.
    """
    ids = {tag.pk for tag in tags if tag.pk}
    used = ids
    if ids and not are_in_use:
        used = set(publicly_used(Tag.objects.filter(pk__in=ids)).values_list("pk", flat=True))
    counts = {(row.tag_id, row.day): row for row in _days(used)}
    followed = _followed_of(viewer, ids)

    def usage(tag: Tag, day: date) -> Day:
        row = counts.get((tag.pk, day))
        return Day(day, row.uses, row.accounts) if row else Day(day)

    return [
        TagUsage(tag, [usage(tag, day) for day in _last_days()], tag.pk in followed, tag.pk in used)
        for tag in tags
    ]


def followed_names(user: User) -> frozenset[str]:
    """The names of the tags that an account follows; no query is made for accounts that follow none."""
    if not user.counts.followed_tags:
        return frozenset()
    return frozenset(TagFollow.objects.filter(user=user).values_list("tag__name", flat=True))


def followers_among(names: Collection[str] | None, user_ids: Collection[int]) -> set[int]:
    """The accounts among `user_ids` that follow one of the tags, given by normalized name; any tag for None."""
    rows = TagFollow.objects.filter(user__in=user_ids)
    if names is not None:
        rows = rows.filter(tag__name__in=names)
    return set(rows.values_list("user_id", flat=True).distinct())


@dataclass(frozen=True, slots=True)
class OwnUse:
    """A tag on a profile, with the number of the account's public posts that use it, and the id of the last one."""

    row: FeaturedTag
    uses: int = 0
    last_post_id: int | None = None


def featured_tags(user_id: int) -> list[OwnUse]:
    """The tags on an account's profile, most used first."""
    rows = list(FeaturedTag.objects.filter(user=user_id).select_related("tag").order_by("pk"))
    uses = _own_uses(user_id).filter(tag__in=[row.tag_id for row in rows]) if rows else ()
    found = {use["tag"]: use for use in uses}
    featured = [
        OwnUse(row, found[row.tag_id]["uses"], found[row.tag_id]["last"])
        if row.tag_id in found
        else OwnUse(row)
        for row in rows
    ]
    return sorted(featured, key=lambda use: (-use.uses, use.row.pk))


def featured_ids(user: User | None) -> set[int]:
    """The ids of the tags on a viewer's own profile."""
    if user is None:
        return set()
    return set(FeaturedTag.objects.filter(user=user).values_list("tag", flat=True))


def tags_to_feature(user_id: int, *, maximum: int) -> list[Tag]:
    """The tags that an account uses most, except those on its profile."""
    uses = _own_uses(user_id).exclude(
        tag__in=FeaturedTag.objects.filter(user=user_id).values("tag")
    )
    ids = [use["tag"] for use in uses.order_by("-uses", "tag")[:maximum]]
    tags = Tag.objects.in_bulk(ids)
    return [tags[tag_id] for tag_id in ids]


def _own_uses(user_id: int) -> QuerySet[Any, Any]:
    """An account's public uses of each tag: `tag`, `uses`, and `last`, the id of the last post."""
    own = TagUse.objects.filter(is_public=True).alias(author=AUTHOR_OF_POST).filter(author=user_id)
    return own.values("tag").annotate(uses=Count("pk"), last=Max("post_id"))


def followed_page(user: User, cursor: Cursor) -> Page[Tag]:
    """The tags that an account follows, latest follow first; the cursor is the id of the follow."""
    page = page_of_rows(TagFollow.objects.filter(user=user).select_related("tag"), cursor)
    return page.with_items([row.tag for row in page.items])


# The first tags by name, so that an exact match is among them, and the most used tags of today and yesterday.
_BEGINNING = """
(SELECT id FROM tags_tag WHERE name LIKE %s ORDER BY name LIMIT %s)
UNION
SELECT tag_id FROM (
    (SELECT tag_id FROM tags_tagday WHERE day = %s ORDER BY accounts DESC, uses DESC LIMIT %s)
    UNION ALL
    (SELECT tag_id FROM tags_tagday WHERE day = %s ORDER BY accounts DESC, uses DESC LIMIT %s)
) used
"""
MAX_BEGINNING, MAX_USED = 200, 500


def tags_beginning(text: str, *, maximum: int) -> list[Tag]:
    """Publicly used tags whose names begin with a text. An exact match comes first, then the most used."""
    start = normalize(text)
    if start is None:
        return []
    today, yesterday, *_rest, first = _last_days()
    candidates = RawSQL(  # noqa: S611 -- a constant
        _BEGINNING,
        [start.replace("_", r"\_") + "%", MAX_BEGINNING, today, MAX_USED, yesterday, MAX_USED],
    )
    days = TagDay.objects.filter(tag=OuterRef("pk"), day__gte=first).values("tag")
    uses = Subquery(days.annotate(uses=Sum("uses")).values("uses"))
    rows = Tag.objects.filter(pk__in=candidates, name__startswith=start)
    ranked = publicly_used(rows).alias(is_exact=Q(name=start), uses=Coalesce(uses, 0))
    return list(ranked.order_by("-is_exact", "-uses", "name")[:maximum])


def public_post_ids(
    tag_id: int, cursor: Cursor, count: int, *, database: str = DEFAULT_DB_ALIAS
) -> list[int]:
    """Up to `count` ids of public posts with a tag, within the bounds and in the order of the cursor."""
    public = TagUse.objects.using(database).filter(tag=tag_id, is_public=True)
    rows = public.filter(post_id__gt=cursor.floor)
    if cursor.max_id is not None:
        rows = rows.filter(post_id__lt=cursor.max_id)
    order = "post_id" if cursor.ascending else "-post_id"
    return list(rows.order_by(order).values_list("post_id", flat=True)[:count])


def _followed_of(viewer: User | None, tag_ids: Collection[int]) -> set[int]:
    if viewer is None or not viewer.counts.followed_tags:
        return set()
    rows = TagFollow.objects.filter(user=viewer, tag__in=tag_ids)
    return set(rows.values_list("tag_id", flat=True))


def _days(tag_ids: Collection[int]) -> list[TagDay]:
    first = _last_days()[-1]
    return list(TagDay.objects.filter(tag__in=tag_ids, day__gte=first)) if tag_ids else []


def _last_days() -> list[date]:
    today = datetime.now(UTC).date()
    return [today - timedelta(days=back) for back in range(DAYS)]


def tags_followed_before(user_id: int, before: datetime) -> set[int]:
    """The ids of the tags that an account followed just before the time `before`."""
    now = TagFollow.objects.filter(user=user_id, created_at__lt=before)
    past = PastTagFollow.objects.filter(user=user_id, began_at__lt=before, ended_at__gte=before)
    return {*now.values_list("tag", flat=True), *past.values_list("tag", flat=True)}
