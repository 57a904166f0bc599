"""Reads of tags. Names are given as people write them."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.paging import Cursor, Page, to_page
from apps.tags.models import Tag, TagDay, TagFollow, TagUse
from apps.tags.names import normal
from feedcache.ids import MAX_AUTHOR_ID, SEQUENCE_BITS
from feedcache.local_cache import LocalCache
from feedcache.memcached.topology_listener import current, listener
from feedcache.redis_servers.connections import RedisError, timelines

DAYS = 7  # of a tag's history
TRENDING_DAYS = 2
MAX_TRENDING = 100
TALKED_ABOUT = 10
TALK_SECONDS = 60.0
TALK_CHANNEL = "trending-tags"

logger = logging.getLogger(__name__)

TALK: "LocalCache[str, list[TagUsage]]" = LocalCache(maximum=1, ttl_seconds=TALK_SECONDS)


@dataclass(frozen=True, slots=True)
class Day:
    """How often a tag was used on a day, and by how many accounts."""

    day: date
    uses: int = 0
    accounts: int = 0


@dataclass(frozen=True, slots=True)
class TagUsage:
    """A tag with its history, today first, and whether the viewer follows it."""

    tag: Tag
    history: list[Day]
    is_followed: bool = False
    is_in_use: bool = True  # by a public post that visitors see; else nothing is said of it

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


def in_use(tags: QuerySet[Tag]) -> QuerySet[Tag]:
    """Those of some tags that a public post bears whose author is not suspended: the others are nobody's business.

    A tag that only restricted or deleted posts bear must not be told from one that nobody ever wrote.
    """
    author = F("post_id").bitrightshift(SEQUENCE_BITS).bitand(MAX_AUTHOR_ID)
    uses = TagUse.objects.filter(tag=OuterRef("pk"), is_public=True).alias(author=author)
    uses = uses.filter(Exists(User.objects.filter(pk=OuterRef("author"), suspended_at=None)))
    # its first row, not EXISTS, which PostgreSQL may turn into a join with all uses there are
    first = Subquery(uses.order_by("-post_id").values("post_id")[:1])
    return tags.alias(public_use=first).filter(public_use__isnull=False)


def known(
    tags: Collection[Tag], viewer: User | None, *, are_in_use: bool = False
) -> list[TagUsage]:
    """Tags with their history and whether a viewer follows them, in three queries at most.

    `are_in_use`: the caller has just asked for such tags only.
    """
    ids = {tag.pk for tag in tags if tag.pk}
    used = ids
    if ids and not are_in_use:
        used = set(in_use(Tag.objects.filter(pk__in=ids)).values_list("pk", flat=True))
    counted = {(row.tag_id, row.day): row for row in _days(used)}
    followed = _followed_of(viewer, ids)

    def day(tag: Tag, one: date) -> Day:
        row = counted.get((tag.pk, one))
        return Day(one, row.uses, row.accounts) if row else Day(one)

    return [
        TagUsage(tag, [day(tag, one) for one in _last_days()], tag.pk in followed, tag.pk in used)
        for tag in tags
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
    page = to_page(found, cursor, id_of=lambda row: row.pk)
    return page.mapped([row.tag for row in page.items])


def trending(*, maximum: int, offset: int = 0) -> list[Tag]:
    """The tags that the most accounts used today and yesterday, some passed over; at most 100."""
    days = [_today() - timedelta(days=back) for back in range(TRENDING_DAYS)]
    scores: dict[int, tuple[int, int]] = {}
    for one in days:
        rows = TagDay.objects.filter(day=one, uses__gt=0).order_by("-accounts", "-uses")[
            :MAX_TRENDING
        ]
        for row in rows:
            accounts, uses = scores.get(row.tag_id, (0, 0))
            scores[row.tag_id] = accounts + row.accounts, uses + row.uses
    tags = in_use(Tag.objects.filter(pk__in=scores)).in_bulk()  # the counts are minutes old
    best = sorted(tags, key=lambda tag_id: (scores[tag_id], tag_id), reverse=True)
    return [tags[tag_id] for tag_id in best[offset : offset + maximum]]


def talked_about() -> list[TagUsage]:
    """The ten tags that the most accounts use now, as visitors see them.

    Up to a minute old, for it stands beside every page; but a tag that is gone is gone at once (`forget_talk`).
    """
    listener().subscribe_channel(TALK_CHANNEL, _heard)
    current()  # from here on this process listens
    return TALK.get("", lambda: known(trending(maximum=TALKED_ABOUT), None, are_in_use=True)) or []


def forget_talk() -> None:
    """Nothing older than now is shown beside pages: here at once, in other processes when the message arrives."""
    TALK.clear()
    try:
        timelines().publish(TALK_CHANNEL, b"")
    except RedisError as error:
        logger.warning("trending tags may be a minute old: %s", error)


def _heard(_message: bytes | None) -> None:
    TALK.clear()


def tags_beginning(text: str, *, maximum: int) -> list[Tag]:
    """Tags in use whose names begin with a text, the one of exactly this name first, then by name."""
    start = normal(text)
    if start is None:
        return []
    rows = in_use(Tag.objects.filter(name__startswith=start)).order_by("name")
    return list(rows[:maximum])


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
