"""Queries about promotions: for the timeline, for people's settings, and for staff who want to start a campaign."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from typing import ClassVar, NamedTuple

import orjson
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.posts.content.post import PostContent
from apps.promotions import wording
from apps.promotions.cache import (
    ALL,
    CAMPAIGNS,
    FACTS,
    READERS,
    LiveCampaign,
    ReaderEntry,
    load_campaigns,
    load_readers,
    today,
)
from apps.promotions.models import (
    Campaign,
    OptOut,
    PromotionSwitch,
    Trait,
    UserTrait,
)
from apps.promotions.segments import people_in
from apps.promotions.wording import RuleFact
from apps.sql import rows_of
from apps.timeline.pipeline.facts import nothing_promoted
from apps.timeline.pipeline.hooks import PromotionOf
from feedcache.read_through import Batch, Future

MAX_PREVIEWED = 10_000  # people; a preview counts no further

# Every condition is checked again, because virtual follows may be a batch behind a change by staff or the reader. When
# one campaign's cap is reached, another of the same account may apply. Follows, blocks and mutes take precedence.
# The exclusions are one NOT over ORs instead of joins: planning 14 joins took ten times as long as running them.
_PROMOTIONS = f"""
SELECT DISTINCT ON (f.account_id) f.account_id, c.id, s.id, s.description,
    (SELECT sponsor FROM promotions_promotedaccount WHERE user_id = f.account_id),
    ({FACTS.format(segment="s.id")}),
    (SELECT pages FROM promotions_readerimpressions
     WHERE user_id = f.user_id AND campaign_id = c.id AND day = %(today)s)
FROM promotions_virtualfollow f
JOIN promotions_campaign c ON c.account_id = f.account_id AND c.is_live
    AND c.starts_at <= %(now)s AND c.ends_at > %(now)s
JOIN promotions_campaign_segments cs ON cs.campaign_id = c.id
JOIN promotions_segment s ON s.id = cs.segment_id AND s.is_active
JOIN promotions_segmentmembership m ON m.segment_id = s.id AND m.user_id = f.user_id
WHERE f.user_id = %(reader)s AND EXISTS (SELECT 1 FROM promotions_promotionswitch WHERE is_on) AND NOT (
    EXISTS (SELECT FROM promotions_campaigncount t
            WHERE t.campaign_id = c.id AND t.impressions >= c.budget_impressions)
    OR EXISTS (SELECT FROM promotions_readerimpressions seen WHERE seen.user_id = f.user_id
               AND seen.campaign_id = c.id AND seen.day = %(today)s AND seen.number >= c.frequency_cap)
    OR EXISTS (SELECT FROM accounts_user u WHERE u.id = f.account_id AND u.suspended_at IS NOT NULL)
    OR EXISTS (SELECT FROM promotions_optout o WHERE o.user_id = f.user_id)
    OR f.account_id IN (SELECT followee_id FROM graph_followee WHERE owner_id = %(reader)s)
    OR f.account_id IN (SELECT muted_id FROM graph_mute WHERE owner_id = %(reader)s)
    OR f.account_id IN (SELECT blocked_id FROM graph_block WHERE owner_id = %(reader)s)
    OR f.account_id IN (SELECT owner_id FROM graph_block WHERE blocked_id = %(reader)s)
)
ORDER BY f.account_id, c.id, s.id
"""  # noqa: S608 -- constants


@dataclass(frozen=True, slots=True)
class Promotion:
    """The reason why a reader sees a post by an account that the reader does not follow.

    `people` describes the segment. `newest_id` is the id of the account's only promoted post: its newest open post that
    is no repost, quote or reply; 0 if there is none. `pages` contains hashes of the ids of the pages that most recently
    showed the campaign to this reader today.
    """

    label: ClassVar = "promotions/_label.html"
    details: ClassVar = "promotions/_details.html"

    account_id: int
    campaign_id: int
    segment_id: int
    people: str
    sponsor: str
    facts: tuple[RuleFact, ...]
    newest_id: int
    pages: tuple[int, ...] = field(default=(), compare=False)

    @property
    def settings_url(self) -> str:
        return reverse("settings_promotions")

    def reason(self) -> str:
        """The reason as a sentence in the language of the request."""
        return wording.reason(self.people, self.facts)


@dataclass(frozen=True, slots=True)
class OwnSegment:
    """A segment that a user is in, as the user's settings show it."""

    people: str
    since: datetime
    facts: tuple[RuleFact, ...]

    def reason(self) -> str:
        return wording.membership(self.people, self.facts)


class Audience(NamedTuple):
    """A lower bound for the people in a campaign's segments. `too_few`: a segment is too small, or there is none."""

    people: int
    too_few: bool = False


# --- for the timeline -----------------------------------------------------------------------------
def virtual_followee_ids(reader_id: int) -> tuple[int, ...]:
    """The accounts that a reader follows virtually, from a cache. `promotions_for` decides which posts are shown."""
    return READERS.get_many([reader_id], load_readers).get(reader_id, ReaderEntry()).followees


def promotions_for(reader: User, batch: Batch | None) -> PromotionOf:
    """A function that maps a post to its promotion, or to None unless the post is the `newest_id` of a promotion.

    Accounts younger than `PROMOTIONS_AFTER_DAYS` see no promotions, so that new members first find people to follow.
    Without a batch, promotions are read in one query when first needed, unless the reader follows nobody virtually.
    """
    if reader.created_at > timezone.now() - timedelta(days=settings.PROMOTIONS_AFTER_DAYS):
        return nothing_promoted
    promotions = ask_promotions(batch, reader.pk) if batch else cache(partial(_exact, reader.pk))

    def promotion_of(post: PostContent) -> Promotion | None:
        promotion = promotions().get(post.author_id)
        is_shown = promotion is not None and promotion.newest_id == post.id
        return promotion if is_shown else None

    return promotion_of


def _exact(reader_id: int) -> Mapping[int, Promotion]:
    return promotions_of(reader_id) if virtual_followee_ids(reader_id) else {}


def ask_promotions(batch: Batch, reader_id: int) -> Future[Mapping[int, Promotion]]:
    """Like `promotions_of`, but read in a batch, and without a query while the caches are fresh.

    The result may also contain accounts that the reader follows, mutes or blocks, that block the reader, or that are
    suspended. This does no harm, because other rules of a page decide about the posts of these accounts.
    """
    readers = batch.get_many(
        READERS, [reader_id], lambda ids: load_readers(ids) if batch.is_current else {}
    )
    campaigns = batch.get_many(
        CAMPAIGNS, [ALL], lambda ids: load_campaigns(ids) if batch.is_current else {}
    )

    @cache
    def promotions() -> Mapping[int, Promotion]:
        if not batch.is_current:
            return promotions_of(reader_id)
        return _chosen(readers().get(reader_id, ReaderEntry()), campaigns().get(ALL, ()))

    return promotions


def _chosen(reader: ReaderEntry, campaigns: Iterable[LiveCampaign]) -> dict[int, Promotion]:
    """For each virtual followee, the first campaign to show now, with its first segment that the reader is in."""
    now, day = timezone.now().timestamp(), today().isoformat()
    shown = {one.campaign_id: one for one in reader.shown if one.day == day}
    found: dict[int, Promotion] = {}
    for campaign in campaigns:
        seen = shown.get(campaign.id)
        segments = [segment for segment in campaign.segments if segment.id in reader.segments]
        if (
            segments
            and campaign.account_id in reader.followees
            and campaign.account_id not in found
            and campaign.starts_at <= now < campaign.ends_at
            and not (seen and seen.number >= campaign.frequency_cap)
        ):
            segment = segments[0]
            found[campaign.account_id] = Promotion(
                campaign.account_id,
                campaign.id,
                segment.id,
                segment.people,
                campaign.sponsor,
                _facts(segment.facts),
                campaign.newest_id,
                tuple(seen.pages) if seen else (),
            )
    return found


def promotions_of(reader_id: int) -> dict[int, Promotion]:
    """The promotions that a reader may see now, by the promoted account's id, from one query and the cached campaigns.

    Promotions must be switched on, and the campaign must be live, within its time and budget, and below the reader's
    cap for today. Accounts that the reader follows, mutes or blocks, that block the reader, or that are suspended, are
    left out. At most 100, one per account.
    """
    values = {"reader": reader_id, "now": timezone.now(), "today": today()}
    rows = rows_of(_PROMOTIONS, values)
    newest = {one.account_id: one.newest_id for one in _live_campaigns()} if rows else {}
    return {
        account_id: Promotion(
            account_id,
            campaign_id,
            segment_id,
            people,
            sponsor,
            _facts(facts),
            newest.get(account_id, 0),
            tuple(pages or ()),
        )
        for account_id, campaign_id, segment_id, people, sponsor, facts, pages in rows
    }


def is_switched_on() -> bool:
    """Whether staff have switched promotions on."""
    return PromotionSwitch.objects.filter(is_on=True).exists()


def is_anything_promoted() -> bool:
    """Whether promoted posts can be seen at all: the switch is on, and a live campaign has budget left."""
    return bool(_live_campaigns())


def is_promoted(account_id: int) -> bool:
    """Whether promotions are switched on, and a live campaign with budget left promotes the account."""
    return any(campaign.account_id == account_id for campaign in _live_campaigns())


def _live_campaigns() -> tuple[LiveCampaign, ...]:
    return CAMPAIGNS.get_many([ALL], load_campaigns).get(ALL, ())


# --- for people -----------------------------------------------------------------------------------
def choosable_traits() -> list[Trait]:
    """The traits that people may state about themselves, sorted by name."""
    return sorted(Trait.objects.filter(is_active=True), key=lambda trait: trait.label)


def stated_traits(user: User) -> list[Trait]:
    """The traits that a user has stated, oldest first."""
    rows = UserTrait.objects.filter(user=user).select_related("trait").order_by("pk")
    return [row.trait for row in rows]


def is_opted_out(user: User) -> bool:
    return OptOut.objects.filter(user=user).exists()


def segments_of(user: User) -> list[OwnSegment]:
    """The segments that a user is in, and why, in one query."""
    sql = f"""
SELECT s.description, m.created_at, ({FACTS.format(segment="s.id")})
FROM promotions_segmentmembership m JOIN promotions_segment s ON s.id = m.segment_id AND s.is_active
WHERE m.user_id = %(user)s ORDER BY s.id
"""  # noqa: S608 -- constants
    rows = rows_of(sql, {"user": user.pk})
    return [OwnSegment(people, since, _facts(facts)) for people, since, facts in rows]


def _facts(rules: str | None) -> tuple[RuleFact, ...]:
    return tuple(RuleFact(kind, value or "") for kind, value in orjson.loads(rules or "[]"))


# --- for staff ------------------------------------------------------------------------------------
def preview(campaign: Campaign) -> Audience:
    """The approximate number of people who would follow a campaign's account virtually under the current rules.

    The number is rounded down, and is not given if a segment is too small: a rule that matches only one person, or two
    numbers that differ by one, would reveal something about that person. Counting stops at 10,000.
    """
    people: set[int] = set()
    segments = campaign.segments.filter(is_active=True).order_by("pk").prefetch_related("rules")
    for segment in segments:
        members = people_in(segment).exclude(pk=campaign.account_id)
        found = members.values_list("pk", flat=True)[:MAX_PREVIEWED]
        if len(found) < settings.CAMPAIGN_MIN_PEOPLE:
            return Audience(0, too_few=True)
        people.update(found)
    if not segments:
        return Audience(0, too_few=True)
    return Audience(_rounded(min(len(people), MAX_PREVIEWED)))


def _rounded(people: int) -> int:
    """Round down to one significant digit, but not below `CAMPAIGN_MIN_PEOPLE`."""
    step: int = 10 ** (len(str(people)) - 1)
    return max(people // step * step, int(settings.CAMPAIGN_MIN_PEOPLE))
