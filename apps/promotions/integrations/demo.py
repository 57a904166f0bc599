"""A demo campaign: Carol states that she likes to cook, and sees the promoted posts of a kitchen."""

from datetime import timedelta

from apps.accounts.models import User
from apps.demo.seeding.world import World, moment_of
from apps.promotions.actions import set_traits
from apps.promotions.models import (
    Campaign,
    CampaignCount,
    CampaignState,
    PromotedAccount,
    RuleKind,
    Segment,
    SegmentRule,
    Trait,
)

READER, ACCOUNT, TRAIT = "carol", "slow_kitchen", "cook"
DAYS = 90


def make_promotions(world: World) -> None:
    """Create the campaign if this run has created the scripted people, and the trait is active."""
    trait = Trait.objects.filter(slug=TRAIT, is_active=True).first()
    if not world.makes_cast or trait is None:
        return
    segment, is_new = Segment.objects.get_or_create(
        slug="people-who-cook",
        defaults={"name": "People who cook", "description": "people who like to cook"},
    )
    if is_new:
        SegmentRule.objects.create(segment=segment, kind=RuleKind.TRAIT, trait=trait)
    account, _is_new = PromotedAccount.objects.get_or_create(
        user_id=world.cast[ACCOUNT].pk, defaults={"sponsor": "The Slow Kitchen"}
    )
    start = moment_of(world.now)
    campaign = Campaign.objects.create(
        account=account,
        name="The Slow Kitchen",
        starts_at=start,
        ends_at=start + timedelta(days=DAYS),
        budget_impressions=100_000,
        state=CampaignState.RUNNING,
        is_live=True,
    )
    CampaignCount.objects.create(campaign=campaign)
    campaign.segments.add(segment)
    set_traits(User.objects.get(pk=world.cast[READER].pk), [TRAIT])
