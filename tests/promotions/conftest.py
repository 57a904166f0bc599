"""Segments and campaigns in few words."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.promotions.actions import segments_changed, start_campaign, sweep_batch, switch_promotions
from apps.promotions.models import (
    Campaign,
    PromotedAccount,
    PromotionSwitch,
    Segment,
    SegmentMembership,
    SegmentRule,
    Trait,
    VirtualFollow,
)
from apps.timeline.pipeline import rulebook
from tests.support.factories import deliver, make_user, moderator


def trait(slug="first-year-student"):
    return Trait.objects.get(slug=slug)


def make_segment(slug, description="", *rules, is_active=True):
    """`rules` are columns of rules, kind first: ("trait", trait)."""
    segment = Segment.objects.create(
        slug=slug, name=slug, description=description or slug, is_active=is_active
    )
    column = {"active": "days", "joined": "since"}
    for kind, value in rules:
        SegmentRule.objects.create(segment=segment, kind=kind, **{column.get(kind, kind): value})
    segments_changed()
    return segment


def make_campaign(account, *segments, starts=timedelta(minutes=-1), days=7, **fields):
    PromotedAccount.objects.get_or_create(user=account, defaults={"sponsor": "The university"})
    if not PromotionSwitch.objects.filter(is_on=True).exists():
        switch_promotions(on=True, by=moderator())
    values = {"name": "Autumn", "budget_impressions": 1000, "frequency_cap": 3, **fields}
    now = timezone.now()
    campaign = Campaign.objects.create(
        account_id=account.pk, starts_at=now + starts, ends_at=now + timedelta(days=days), **values
    )
    campaign.segments.set(segments)
    return campaign


def start(campaign):
    start_campaign(campaign.pk, by=moderator())
    deliver()


def sweep():
    """Everybody's segments, to the end of the pass."""
    while sweep_batch():
        pass
    deliver()


def followees(user):
    return set(VirtualFollow.objects.filter(user=user).values_list("account", flat=True))


def slugs(user):
    rows = SegmentMembership.objects.filter(user=user).values_list("segment__slug", flat=True)
    return set(rows)


@pytest.fixture
def side_by_side(monkeypatch):
    """Promoted posts wherever they belong by their time: for tests of all else but their share of a page."""
    monkeypatch.setattr(rulebook, "OTHERS_BETWEEN", 0)


@pytest.fixture
def freshers(db):
    return make_segment("freshers", "first-year students", ("trait", trait()))


@pytest.fixture
def shop(db):
    """An account that pays."""
    return make_user("shop", display_name="The book shop")
