"""Reads of tags. Names are given as people write them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.caches.local import LocalCache
from apps.paging import Cursor, Page, cut
from apps.refusals import NotFound
from apps.tags.models import Tag, TagDay, TagFollow, TagUse
from apps.tags.names import normal

DAYS = 7  # of a tag's history
TRENDING_DAYS = 2
MOST_TRENDING = 100
TALKED_ABOUT = 10
TALK_SECONDS = 60.0


TALK: "LocalCache[str, list[KnownTag]]" = LocalCache(most=1, ttl_seconds=TALK_SECONDS)


@dataclass(frozen=True, slots=True)
class Day:
    """How often a tag was used on a day, and by how many accounts."""

    day: date
    uses: int = 0
    accounts: int = 0


@dataclass(frozen=True, slots=True)
class KnownTag:
    """A tag with its history, today first, and whether the viewer follows it."""

    tag: Tag
    history: list[Day]
    is_followed: bool = False

    @property
    def uses(self) -> int:
        """How many posts of the last seven days bear it."""
        return sum(one.uses for one in self.history)

    @property
    def accounts(self) -> int:
        """How many accounts used it on its busiest of those days: at least so many did in all."""
        return max(one.accounts for one in self.history)


def tag_named(name: str) -> Tag:
    """The tag of a name, unsaved when nobody has used it yet; NotFound when it can be no tag's name."""
    wanted = normal(name)
    if wanted is None:
        raise NotFound(_("There is no such tag."))
    return Tag.objects.filter(name=wanted).first() or Tag(name=wanted)


def known(tags: Collection[Tag], viewer: User | None) -> list[KnownTag]:
    """Tags with their history and whether a viewer follows them, in two queries."""
    ids = [tag.pk for tag in tags if tag.pk]
    counted = {(row.tag_id, row.day): row for row in _days(ids)}
    followed = _followed_of(viewer, ids)

    def day(tag: Tag, one: date) -> Day:
        row = counted.get((tag.pk, one))
        return Day(one, row.uses, row.accounts) if row else Day(one)

    return [
        KnownTag(tag, [day(tag, one) for one in _last_days()], tag.pk in followed) for tag in tags
    ]


def followed_names(user: User) -> frozenset[str]:
    """The names of the tags that an account follows. No query for those who follow none."""
    if not user.counts.followed_tags:
        return frozenset()
    return frozenset(TagFollow.objects.filter(user=user).values_list("tag__name", flat=True))


def followers_among(names: Collection[str], user_ids: Collection[int]) -> set[int]:
    """Those of some accounts who follow one of some tags, by normal names."""
    rows = TagFollow.objects.filter(tag__name__in=names, user__in=user_ids)
    return set(rows.values_list("user_id", flat=True))


def followed_page(user: User, cursor: Cursor) -> Page[Tag]:
    """The tags that an account follows, the latest first; the cursor is the id of the follow."""
    rows = TagFollow.objects.filter(user=user, pk__gt=cursor.floor).select_related("tag")
    if cursor.max_id is not None:
        rows = rows.filter(pk__lt=cursor.max_id)
    found = list(rows.order_by("pk" if cursor.ascending else "-pk")[: cursor.limit + 1])
    page = cut(found, cursor, id_of=lambda row: row.pk)
    return page.mapped([row.tag for row in page.items])


def trending(*, most: int, offset: int = 0) -> list[Tag]:
    """The tags that the most accounts used today and yesterday, some passed over; at most 100."""
    days = [_today() - timedelta(days=back) for back in range(TRENDING_DAYS)]
    scores: dict[int, tuple[int, int]] = {}
    for one in days:
        rows = TagDay.objects.filter(day=one, uses__gt=0).order_by("-accounts", "-uses")[
            :MOST_TRENDING
        ]
        for row in rows:
            accounts, uses = scores.get(row.tag_id, (0, 0))
            scores[row.tag_id] = accounts + row.accounts, uses + row.uses
    best = sorted(scores, key=lambda tag_id: (scores[tag_id], tag_id), reverse=True)
    best = best[offset : offset + most]
    tags = Tag.objects.in_bulk(best)
    return [tags[tag_id] for tag_id in best if tag_id in tags]


def talked_about() -> list[KnownTag]:
    """The ten tags that the most accounts use now, as visitors see them; up to a minute old, for it stands beside every page."""
    return TALK.get("", lambda: known(trending(most=TALKED_ABOUT), None)) or []


def tags_beginning(text: str, *, most: int) -> list[Tag]:
    """Tags whose names begin with a text, the one of exactly this name first, then by name."""
    start = normal(text)
    if start is None:
        return []
    rows = Tag.objects.filter(name__startswith=start).order_by("name")
    return list(rows[:most])


def public_ids(tag_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids of the public posts that bear a tag, inside the cursor's bounds, in reading order."""
    rows = TagUse.objects.filter(tag=tag_id, is_public=True, post_id__gt=cursor.floor)
    if cursor.max_id is not None:
        rows = rows.filter(post_id__lt=cursor.max_id)
    order = "post_id" if cursor.ascending else "-post_id"
    return list(rows.order_by(order).values_list("post_id", flat=True)[:count])


def bearing(post_ids: Collection[int], names: Collection[str]) -> dict[int, set[str]]:
    """Which of some names posts bear, by post."""
    rows = TagUse.objects.filter(post_id__in=post_ids, tag__name__in=names)
    found: dict[int, set[str]] = {post_id: set() for post_id in post_ids}
    for post_id, name in rows.values_list("post_id", "tag__name"):
        found[post_id].add(name)
    return found


def _followed_of(viewer: User | None, tag_ids: Collection[int]) -> set[int]:
    if viewer is None or not viewer.counts.followed_tags:
        return set()
    rows = TagFollow.objects.filter(user=viewer, tag__in=tag_ids)
    return set(rows.values_list("tag_id", flat=True))


def _days(tag_ids: Collection[int]) -> list[TagDay]:
    first = _last_days()[-1]
    return list(TagDay.objects.filter(tag__in=tag_ids, day__gte=first)) if tag_ids else []


def _last_days() -> list[date]:
    today = _today()
    return [today - timedelta(days=back) for back in range(DAYS)]


def _today() -> date:
    return datetime.now(UTC).date()
