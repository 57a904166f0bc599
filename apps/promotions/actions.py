"""Actions for promotions: people's choices, their segments, and the start and end of campaigns.

Locks are taken in the order that `membership` describes. Starting or stopping a campaign is done in batches. Each batch
handles an event, and records the event of the next batch in its own transaction; so no batch is lost, but each may run
twice.
"""

from collections.abc import Collection
from datetime import timedelta
from hashlib import blake2b
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.staff import log_action, require_permission
from apps.errors import Invalid, NotAllowed, NotFound
from apps.events.actions import enqueue, record
from apps.promotions import membership
from apps.promotions.cache import forget_campaigns, forget_readers, today
from apps.promotions.membership import BATCH_SIZE, lock_campaigns, lock_next, lock_people, recompute
from apps.promotions.models import (
    Campaign,
    CampaignCount,
    CampaignState,
    EndReason,
    OptOut,
    PromotionSwitch,
    ReaderImpressions,
    SegmentMembership,
    SegmentSweep,
    Trait,
    UserTrait,
    VirtualFollow,
)
from apps.promotions.queries import is_switched_on, preview
from apps.sql import purge

RUN_CAMPAIGN = "promotions.run_campaign"
MAX_TRAITS = 20  # per account
# The maximum number of running campaigns. It also limits a reader's virtual follows, and so the work of statements.
MAX_RUNNING = 100
MAX_SEGMENTS = 20  # per campaign
MAX_COUNTED = 20  # campaigns counted for one page
PAGES_REMEMBERED = 16  # per reader, campaign and day
SWEEP_EVERY = timedelta(hours=1)  # some rules depend on the age of the last post
SWEEP_TASK = "apps.promotions.tasks.sweep_segments"
KEEP_DAYS = 2  # a reader's impressions of today, and of yesterday for pages shown around midnight

# A page counts once for each campaign, no matter how many posts of the campaign it shows.
_COUNT = """
INSERT INTO promotions_readerimpressions AS r (user_id, campaign_id, day, number, pages)
SELECT %(user)s, id, %(day)s, 1, ARRAY[%(page)s::bigint]
FROM promotions_campaign WHERE id = ANY(%(campaigns)s) AND state = 'running' ORDER BY id
ON CONFLICT (user_id, day, campaign_id) DO UPDATE
SET number = r.number + 1, pages = (excluded.pages || r.pages)[1:%(remembered)s]
WHERE NOT r.pages @> excluded.pages
RETURNING campaign_id
"""
# Rows are locked in order; otherwise two pages with the same campaigns could deadlock.
_ADD_UP = """
UPDATE promotions_campaigncount t SET impressions = impressions + 1
FROM (
    SELECT campaign_id FROM promotions_campaigncount WHERE campaign_id = ANY(%(campaigns)s)
    ORDER BY campaign_id FOR UPDATE
) counted
WHERE t.campaign_id = counted.campaign_id
RETURNING impressions >= (SELECT budget_impressions FROM promotions_campaign c WHERE c.id = t.campaign_id)
"""


# --- choices of people ----------------------------------------------------------------------------
@transaction.atomic
def set_traits(user: User, slugs: Collection[str]) -> None:
    """Replace the traits that a user has stated, and update the user's segments in the same transaction.

    Retired traits can stay but not be added. Raises Invalid for unknown traits and for more than 20.
    """
    lock_people([user.pk])
    present = dict(UserTrait.objects.filter(user=user).values_list("trait__slug", "pk"))
    added = set(slugs) - present.keys()
    traits = list(Trait.objects.filter(slug__in=added, is_active=True))
    if len(traits) < len(added):
        raise _invalid("traits", _("Choose one of the options."))
    if len(set(slugs)) > MAX_TRAITS:
        raise _invalid(
            "traits", _("You can choose at most %(count)d traits.") % {"count": MAX_TRAITS}
        )
    removed = [pk for slug, pk in present.items() if slug not in slugs]
    UserTrait.objects.filter(pk__in=removed).delete()
    UserTrait.objects.bulk_create(UserTrait(user=user, trait=trait) for trait in traits)
    recompute([user.pk])


@transaction.atomic
def state_trait(user: User, slug: str) -> None:
    """Add a trait unless the user already has it. Raises Invalid in the same cases as `set_traits`."""
    lock_people([user.pk])
    set_traits(user, {*_stated(user), slug})


@transaction.atomic
def withdraw_trait(user: User, slug: str) -> None:
    lock_people([user.pk])
    set_traits(user, _stated(user) - {slug})


@transaction.atomic
def opt_out(user: User) -> None:
    """Remove a user from all segments, and end the user's virtual follows. Stated traits stay, without effect."""
    lock_people([user.pk])
    OptOut.objects.get_or_create(user=user)
    membership.leave_all(user.pk)


@transaction.atomic
def opt_in(user: User) -> None:
    """Undo `opt_out`."""
    lock_people([user.pk])
    OptOut.objects.filter(user=user).delete()
    recompute([user.pk])


def _stated(user: User) -> set[str]:
    return set(UserTrait.objects.filter(user=user).values_list("trait__slug", flat=True))


# --- segments of accounts -------------------------------------------------------------------------
@transaction.atomic
def refresh_user(user_id: int) -> None:
    """Recompute an account's segments and virtual follows from its rows. Idempotent."""
    recompute(lock_people([user_id]))


def forget_user(user_id: int) -> None:
    """Erase a deleted account's choices, segments and impressions, and end campaigns that promote it. Idempotent."""
    with transaction.atomic():
        lock_people([user_id])
        UserTrait.objects.filter(user=user_id).delete()
        OptOut.objects.filter(user=user_id).delete()
        ReaderImpressions.objects.filter(user=user_id).delete()
        membership.leave_all(user_id)
    campaigns = Campaign.objects.filter(account=user_id).exclude(state=CampaignState.ENDED)
    for campaign in campaigns:
        _end_over(campaigns, campaign.pk, EndReason.ACCOUNT)


@transaction.atomic
def segments_changed() -> None:
    """Start a sweep that recomputes all memberships, after staff changed a segment or its rules."""
    SegmentSweep.objects.update_or_create(pk=1, defaults={"after": 0, "finished_at": None})
    transaction.on_commit(forget_campaigns, robust=True)
    transaction.on_commit(lambda: enqueue(SWEEP_TASK))


def sweep_batch() -> bool:
    """Recompute the segments of the next batch of accounts; returns whether there may be more to do now.

    A sweep begins an hour after the last sweep ended, or when a segment changes; each call continues it.
    """
    SegmentSweep.objects.get_or_create(pk=1)
    with transaction.atomic():
        sweep = SegmentSweep.objects.select_for_update(skip_locked=True).filter(pk=1).first()
        if sweep is None:  # another worker has locked it
            return False
        if sweep.finished_at is not None:
            if sweep.finished_at > timezone.now() - SWEEP_EVERY:
                return False
            sweep.after, sweep.finished_at = 0, None
        user_ids = lock_next(sweep.after)
        recompute(user_ids)
        if user_ids:
            sweep.after = user_ids[-1]
        else:
            sweep.finished_at = timezone.now()
        sweep.save(update_fields=["after", "finished_at"])
        return bool(user_ids)


# --- the switch ---------------------------------------------------------------------------------
@transaction.atomic
def switch_promotions(*, on: bool, by: User) -> None:
    """Switch promotions on this site on or off, immediately. Raises NotAllowed without the permission."""
    require_permission(by, RUN_CAMPAIGN)
    switch, _is_new = PromotionSwitch.objects.update_or_create(pk=1, defaults={"is_on": on})
    transaction.on_commit(forget_campaigns, robust=True)
    log_action(by, switch, _("Switched on.") if on else _("Switched off."))


# --- the life of campaigns ------------------------------------------------------------------------
@transaction.atomic
def start_campaign(campaign_id: int, *, by: User) -> None:
    """Start a draft or a paused campaign: from its start date on, people in its segments follow the account virtually.

    Raises NotAllowed without the permission or above `MAX_RUNNING`, Invalid if the campaign cannot run, or NotFound.
    """
    require_permission(by, RUN_CAMPAIGN)
    lock_campaigns()
    campaign = _campaign(campaign_id)
    if campaign.state not in {CampaignState.DRAFT, CampaignState.PAUSED}:
        raise Invalid(_("Only a draft or a paused campaign can be started."), code="state")
    _require_runnable(campaign)
    CampaignCount.objects.get_or_create(campaign=campaign)
    campaign.state = CampaignState.RUNNING
    campaign.save(update_fields=["state"])
    _begin_if_due(campaign)
    log_action(by, campaign, _("Started."))


@transaction.atomic
def pause_campaign(campaign_id: int, *, by: User) -> None:
    """Stop a campaign immediately; it can be edited and started again. Raises NotAllowed, Invalid or NotFound."""
    require_permission(by, RUN_CAMPAIGN)
    lock_campaigns()
    campaign = _campaign(campaign_id)
    if campaign.state != CampaignState.RUNNING:
        raise Invalid(_("Only a running campaign can be paused."), code="state")
    _leave(campaign, CampaignState.PAUSED)
    log_action(by, campaign, _("Paused."))


@transaction.atomic
def end_campaign(campaign_id: int, *, by: User) -> None:
    """End a campaign immediately and permanently. Raises NotAllowed, Invalid or NotFound."""
    require_permission(by, RUN_CAMPAIGN)
    if not _end(campaign_id, EndReason.STAFF):
        raise Invalid(_("This campaign has ended already."), code="state")
    log_action(by, Campaign.objects.get(pk=campaign_id), _("Ended."))


def apply_time() -> None:
    """Begin campaigns whose start date has come, and end campaigns past their end date or budget. Idempotent."""
    now = timezone.now()
    running = Campaign.objects.filter(state=CampaignState.RUNNING)
    due = {
        EndReason.TIME: running.filter(ends_at__lte=now),
        EndReason.BUDGET: running.filter(count__impressions__gte=F("budget_impressions")),
    }
    for reason, campaigns in due.items():
        for campaign in campaigns:
            _end_over(campaigns, campaign.pk, reason)
    for campaign in running.filter(starts_at__lte=now, is_live=False):
        _begin(campaign.pk)


@transaction.atomic
def begin_batch(campaign_id: int, segment_id: int, after: int) -> None:
    """After a campaign began, update the virtual follows of a batch of a segment's people; record the next batch."""
    members = SegmentMembership.objects.filter(segment=segment_id, user__gt=after).order_by("user")
    user_ids = list(members.values_list("user", flat=True)[:BATCH_SIZE])
    membership.apply_campaigns(lock_people(user_ids))
    if len(user_ids) == BATCH_SIZE:
        record("campaign_begun", campaign_id=campaign_id, segment_id=segment_id, after=user_ids[-1])


@transaction.atomic
def stop_batch(account_id: int, after: int) -> None:
    """After a campaign stopped, update a batch of its account's virtual follows; record the next batch."""
    rows = VirtualFollow.objects.filter(account=account_id, pk__gt=after).order_by("pk")
    edges = list(rows.values_list("pk", "user")[:BATCH_SIZE])
    membership.apply_campaigns(lock_people([user_id for _edge, user_id in edges]))
    if len(edges) == BATCH_SIZE:
        record("campaign_stopped", account_id=account_id, after=edges[-1][0])


def _campaign(campaign_id: int) -> Campaign:
    campaign = Campaign.objects.select_for_update().filter(pk=campaign_id).first()
    if campaign is None:
        raise NotFound(_("There is no such campaign."))
    return campaign


def _require_runnable(campaign: Campaign) -> None:
    running = Campaign.objects.filter(state=CampaignState.RUNNING).count()
    count = CampaignCount.objects.filter(campaign=campaign).first()
    promoted = User.objects.filter(pk=campaign.account_id, is_active=True, suspended_at=None)
    segments = campaign.segments.filter(is_active=True).count()
    if not is_switched_on():
        raise Invalid(_("Promotions are switched off on this site."), code="off")
    if not promoted.exists():
        raise Invalid(_("The account is suspended."), code="account")
    if not 0 < segments <= MAX_SEGMENTS:
        message = _("Choose 1 to %(count)d active segments.") % {"count": MAX_SEGMENTS}
        raise Invalid(message, code="segments")
    if campaign.ends_at <= timezone.now():
        raise Invalid(_("Its end date has passed."), code="time")
    if count is not None and count.impressions >= campaign.budget_impressions:
        raise Invalid(_("Its budget is used up."), code="budget")
    if preview(campaign).too_few:
        message = _("Each segment needs at least %(count)d people.")
        raise Invalid(message % {"count": settings.CAMPAIGN_MIN_PEOPLE}, code="people")
    if running >= MAX_RUNNING:
        raise NotAllowed(_("At most %(count)d campaigns can run at once.") % {"count": MAX_RUNNING})


@transaction.atomic
def _begin(campaign_id: int) -> None:
    lock_campaigns()
    _begin_if_due(_campaign(campaign_id))


def _begin_if_due(campaign: Campaign) -> None:
    now, is_running = timezone.now(), campaign.state == CampaignState.RUNNING
    if not is_running or campaign.is_live or not campaign.starts_at <= now < campaign.ends_at:
        return
    campaign.is_live = True
    campaign.save(update_fields=["is_live"])
    transaction.on_commit(forget_campaigns, robust=True)
    for segment_id in campaign.segments.order_by("pk").values_list("pk", flat=True):
        record("campaign_begun", campaign_id=campaign.pk, segment_id=segment_id, after=0)


@transaction.atomic
def _end_over(campaigns: QuerySet[Campaign], campaign_id: int, reason: EndReason) -> None:
    """End a campaign if, once it is locked, it is still one of these: staff may have paused or extended it."""
    lock_campaigns()
    if campaigns.filter(pk=campaign_id).exists():
        _end(campaign_id, reason)


def _end(campaign_id: int, reason: EndReason) -> bool:
    lock_campaigns()
    campaign = _campaign(campaign_id)
    if campaign.state == CampaignState.ENDED:
        return False
    campaign.ended_at, campaign.end_reason = timezone.now(), reason
    _leave(campaign, CampaignState.ENDED)
    return True


def _leave(campaign: Campaign, state: CampaignState) -> None:
    was_live, campaign.is_live, campaign.state = campaign.is_live, False, state
    campaign.save(update_fields=["state", "is_live", "ended_at", "end_reason"])
    if was_live:
        transaction.on_commit(forget_campaigns, robust=True)
        record("campaign_stopped", account_id=campaign.account_id, after=0)


# --- impressions ----------------------------------------------------------------------------------
def count_impressions(reader_id: int, campaign_ids: Collection[int], *, page_id: str) -> None:
    """Count a page that showed posts of these campaigns, once for each campaign and page.

    `page_id` is any string that stays the same when the page is sent again; it is compared with those of the last 16
    pages for the reader, campaign and day. A campaign whose budget is used up is no longer shown, and ends soon. Raises
    ValueError for more than 20 campaigns.
    """
    if not campaign_ids:
        return
    ids = sorted(set(campaign_ids))
    if len(ids) > MAX_COUNTED:
        raise ValueError(f"at most {MAX_COUNTED} campaigns a page, not {len(ids)}")
    values: dict[str, Any] = {
        "user": reader_id,
        "campaigns": ids,
        "day": today(),
        "page": digest(page_id),
        "remembered": PAGES_REMEMBERED,
    }
    with transaction.atomic(), connection.cursor() as sql:
        sql.execute(_COUNT, values)
        if counted := [campaign_id for (campaign_id,) in sql.fetchall()]:
            sql.execute(_ADD_UP, {"campaigns": counted})
            if any(is_used_up for (is_used_up,) in sql.fetchall()):
                transaction.on_commit(forget_campaigns, robust=True)
            transaction.on_commit(lambda: forget_readers([reader_id]), robust=True)


def purge_impressions() -> None:
    """Delete readers' impressions from before yesterday; the campaigns' totals stay."""
    past = ReaderImpressions.objects.filter(day__lte=today() - timedelta(days=KEEP_DAYS))
    purge(past.order_by("pk"))


def digest(page_id: str) -> int:
    """The 64-bit hash of a page id that `ReaderImpressions.pages` stores."""
    return int.from_bytes(blake2b(page_id.encode(), digest_size=8).digest(), signed=True)


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(message, errors={name: message})
