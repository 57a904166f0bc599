"""Whatever people and staff do in whatever order, virtual follows are what the rows say, and so is every revision."""

import random
from contextlib import suppress

import pytest
from django.db import connection

from apps.accounts.models import UserCounts
from apps.errors import DomainError
from apps.promotions.actions import (
    count_impressions,
    end_campaign,
    opt_in,
    opt_out,
    pause_campaign,
    segments_changed,
    start_campaign,
    state_trait,
    withdraw_trait,
)
from apps.promotions.cache import ALL, CAMPAIGNS, READERS, load_campaigns, load_readers
from apps.promotions.models import Campaign, Segment, SegmentMembership, VirtualFollow
from apps.promotions.queries import ask_promotions, promotions_of
from feedcache.read_through import Batch
from tests.promotions.conftest import make_campaign, make_segment, sweep, trait
from tests.support.factories import deliver, make_user, moderator
from tests.support.threads import together

pytestmark = pytest.mark.long

TRAITS = ("cook", "reader", "student")


def wanted():
    """From the rows alone, in Python and with none of the code under test: (user, account) -> (campaign, segment)."""
    with connection.cursor() as sql:
        sql.execute("""
            SELECT u.user_id, r.segment_id FROM promotions_usertrait u
            JOIN promotions_segmentrule r ON r.trait_id = u.trait_id
            JOIN promotions_segment s ON s.id = r.segment_id
            WHERE s.is_active AND u.user_id NOT IN (SELECT user_id FROM promotions_optout)
        """)
        members = set(sql.fetchall())
    follows = {}
    for campaign in Campaign.objects.filter(state="running").order_by("-pk"):
        for segment_id in sorted(campaign.segments.values_list("pk", flat=True), reverse=True):
            for user_id, of_segment in members:
                if of_segment == segment_id and user_id != campaign.account_id:
                    follows[user_id, campaign.account_id] = (campaign.pk, segment_id)
    return members, follows


def present():
    members = set(SegmentMembership.objects.values_list("user", "segment"))
    rows = VirtualFollow.objects.values_list("user", "account", "campaign", "segment")
    return members, {(user, account): through for user, account, *through in rows}


def as_tuples(state):
    members, follows = state
    return members, {pair: tuple(through) for pair, through in follows.items()}


class World:
    """A few people, accounts that pay, and segments, to whom anything may happen."""

    def __init__(self, seed):
        self.choose, self.staff = random.Random(seed), moderator()
        self.people = [make_user() for _ in range(4)]
        self.shops = [make_user(), make_user()]
        self.segments = [make_segment(slug, slug, ("trait", trait(slug))) for slug in TRAITS]
        self.acts = (
            [self.join] * 3
            + [self.leave, self.plan, self.switch, self.refuse]
            + [self.run, self.see] * 2
        )

    def one(self, of):
        return self.choose.choice(of)

    def join(self):
        state_trait(self.one(self.people + self.shops), self.one(TRAITS))

    def leave(self):
        withdraw_trait(self.one(self.people + self.shops), self.one(TRAITS))

    def plan(self):
        make_campaign(
            self.one(self.shops),
            *self.choose.sample(self.segments, 2),
            budget_impressions=self.choose.randrange(1, 9),
            frequency_cap=self.choose.randrange(1, 4),
        )

    def run(self):
        act = self.one([start_campaign, start_campaign, pause_campaign, end_campaign])
        for campaign in Campaign.objects.exclude(state="ended").order_by("pk")[
            self.choose.randrange(3) :
        ][:1]:
            act(campaign.pk, by=self.staff)

    def see(self):
        person = self.one(self.people)
        campaigns = [one.campaign_id for one in promotions_of(person.pk).values()]
        count_impressions(person.pk, campaigns, page_id=str(self.choose.randrange(9)))

    def switch(self):
        changed = Segment.objects.filter(pk=self.one(self.segments).pk)
        changed.update(is_active=self.choose.random() < 0.8)
        segments_changed()

    def refuse(self):
        self.one([opt_out, opt_in])(self.one(self.people))


def cached(user):
    """As a page reads it."""
    batch = Batch()
    promotions = ask_promotions(batch, user.pk)
    batch.execute(check_revisions=True)
    assert batch.is_current
    return promotions()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(3))
def test_the_caches_say_what_the_rows_say_after_every_step(memcached, seed):
    world = World(seed)
    for step in range(80):
        if step % 3 == 0:
            deliver()  # what the last acts set off; what this one sets off has to wait
        # at once: tombstones would keep the entries of the last act away for seconds
        READERS.set_many(load_readers([user.pk for user in world.people]))
        CAMPAIGNS.set_many(load_campaigns([ALL]))
        with suppress(DomainError):
            world.one(world.acts)()
        for user in world.people:
            exact = promotions_of(user.pk)
            assert cached(user) == exact
            assert [one.pages for one in cached(user).values()] == [
                one.pages for one in exact.values()
            ]


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(3))
def test_random_lives_end_as_the_rows_say(seed):
    world = World(seed)
    for step in range(50):
        with suppress(DomainError):  # such as a start of a running campaign
            world.one(world.acts)()
        if step % 10 == 9:
            sweep()
            assert as_tuples(present()) == wanted()
            for user in world.people:
                due = {account for (reader, account) in wanted()[1] if reader == user.pk}
                assert set(promotions_of(user.pk)) == due


@pytest.mark.django_db
def test_the_revision_grows_with_every_change_and_with_nothing_else(shop):
    reader = make_user()
    cooks = make_segment("cooks", "", ("trait", trait("cook")))
    campaign = make_campaign(shop, cooks)
    seen = []

    def note():
        deliver()
        seen.append(UserCounts.objects.get(pk=reader.pk).graph_revision)

    for act in (
        lambda: state_trait(reader, "cook"),  # no campaign yet
        lambda: start_campaign(campaign.pk, by=moderator()),
        sweep,
        lambda: state_trait(reader, "reader"),
        lambda: withdraw_trait(reader, "cook"),
        lambda: withdraw_trait(reader, "cook"),
    ):
        act()
        note()
    assert seen == [0, 1, 1, 1, 2, 2]


@pytest.mark.django_db(transaction=True)
def test_joining_and_leaving_while_campaigns_start_and_stop(shop):
    segments = [make_segment(slug, slug, ("trait", trait(slug))) for slug in TRAITS]
    campaigns = [make_campaign(shop, segment) for segment in segments]
    people, staff = [make_user() for _ in range(3)], moderator()

    def live(number):
        choose = random.Random(number)
        for _ in range(8):
            try:
                if number == 3:
                    run = choose.choice([start_campaign, pause_campaign])
                    run(choose.choice(campaigns).pk, by=staff)
                else:
                    change = choose.choice([state_trait, state_trait, withdraw_trait])
                    change(people[number], choose.choice(TRAITS))
            except DomainError:
                continue

    together(4, live)
    deliver()
    assert as_tuples(present()) == wanted()
