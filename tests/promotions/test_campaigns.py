"""The life of campaigns, and the virtual follows that come and go with it."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from apps.accounts.models import User, UserCounts
from apps.errors import Invalid, NotAllowed, NotFound
from apps.events.models import Event
from apps.graph.models import Followee, Follower
from apps.graph.queries import exact_relations
from apps.promotions import actions
from apps.promotions.actions import (
    apply_time,
    count_impressions,
    end_campaign,
    opt_in,
    opt_out,
    pause_campaign,
    set_traits,
    start_campaign,
    state_trait,
    withdraw_trait,
)
from apps.promotions.models import (
    Campaign,
    CampaignState,
    EndReason,
    Segment,
    VirtualFollow,
)
from apps.promotions.queries import preview, promotions_of
from apps.promotions.tasks import apply_time as apply_time_task
from tests.promotions.conftest import followees, make_campaign, make_segment, start, trait
from tests.support.factories import deliver, make_user, moderator, suspend
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db


def virtual_follow(reader_id, account_id):
    return VirtualFollow.objects.filter(user=reader_id, account=account_id).first()


def revision(user):
    return UserCounts.objects.get(pk=user.pk).graph_revision


def changes():
    """(account, readers) of the events, each once however many subscribe."""
    found = Event.objects.filter(name="virtual_follow_changed").order_by("pk")
    payloads = found.values_list("payload", flat=True)
    return list({str(each): (each["account_id"], each["user_ids"]) for each in payloads}.values())


def through(user, account):
    """The row of a virtual follow that is there."""
    row = virtual_follow(user.pk, account.pk)
    assert row is not None
    return row


@pytest.fixture
def cooks(db):
    return make_segment("cooks", "keen cooks", ("trait", trait("cook")))


@pytest.fixture
def fresher(alice, freshers):
    state_trait(alice, "first-year-student")
    deliver()
    return alice


class TestLife:
    def test_follows_appear_at_the_start_and_go_at_the_end(self, fresher, carol, freshers, shop):
        campaign = make_campaign(shop, freshers)
        assert followees(fresher) == set()
        before = revision(fresher)
        start(campaign)
        assert (followees(fresher), followees(carol)) == ({shop.pk}, set())
        assert revision(fresher) == before + 1
        end_campaign(campaign.pk, by=moderator())
        assert promotions_of(fresher.pk) == {}  # before any worker came
        deliver()
        assert followees(fresher) == set()
        assert revision(fresher) == before + 2
        assert changes() == [(shop.pk, [fresher.pk])]
        subscriber = "apps.promotions.handlers.repair_readers"  # one of several
        assert Event.objects.filter(subscriber=subscriber).count() == 2

    def test_a_pause_ends_them_and_another_start_brings_them_back(self, fresher, freshers, shop):
        campaign = make_campaign(shop, freshers)
        start(campaign)
        pause_campaign(campaign.pk, by=moderator())
        deliver()
        assert followees(fresher) == set()
        start(campaign)
        assert followees(fresher) == {shop.pk}

    def test_it_begins_at_its_start_and_ends_at_its_end(self, fresher, freshers, shop):
        campaign = make_campaign(shop, freshers, starts=timedelta(hours=1))
        start(campaign)
        apply_time()
        deliver()
        assert (followees(fresher), promotions_of(fresher.pk)) == (set(), {})
        Campaign.objects.update(starts_at=timezone.now() - timedelta(minutes=5))
        apply_time_task()
        apply_time()
        deliver()
        assert followees(fresher) == {shop.pk}
        Campaign.objects.update(ends_at=timezone.now())
        assert promotions_of(fresher.pk) == {}
        apply_time()
        apply_time()
        deliver()
        campaign.refresh_from_db()
        assert (campaign.state, campaign.end_reason) == (CampaignState.ENDED, EndReason.TIME)
        assert followees(fresher) == set()

    def test_a_used_up_budget_ends_it(self, fresher, freshers, shop):
        campaign = make_campaign(shop, freshers, budget_impressions=2)
        start(campaign)
        count_impressions(fresher.pk, [campaign.pk], page_id="1")
        assert shop.pk in promotions_of(fresher.pk)
        count_impressions(fresher.pk, [campaign.pk], page_id="2")
        assert promotions_of(fresher.pk) == {}
        apply_time()
        deliver()
        campaign.refresh_from_db()
        assert (campaign.state, campaign.end_reason) == (CampaignState.ENDED, EndReason.BUDGET)
        assert followees(fresher) == set()

    @pytest.mark.parametrize("ends", ["time", "budget"])
    def test_what_staff_pause_first_does_not_end(self, fresher, freshers, shop, monkeypatch, ends):
        campaign, chief = make_campaign(shop, freshers, budget_impressions=1), moderator()
        start(campaign)
        if ends == "time":
            Campaign.objects.update(ends_at=timezone.now())
        else:
            count_impressions(fresher.pk, [campaign.pk], page_id="1")
        lock = actions.lock_campaigns

        def lock_after_staff():
            monkeypatch.setattr(actions, "lock_campaigns", lock)
            pause_campaign(campaign.pk, by=chief)
            lock()

        monkeypatch.setattr(actions, "lock_campaigns", lock_after_staff)
        apply_time()
        campaign.refresh_from_db()
        assert (campaign.state, campaign.end_reason) == (CampaignState.PAUSED, "")

    @pytest.mark.slow
    def test_is_done_in_batches_that_may_run_twice(self, freshers, shop, monkeypatch):
        monkeypatch.setattr(actions, "BATCH_SIZE", 2)
        readers = [make_user() for _ in range(5)]
        for reader in readers:
            state_trait(reader, "first-year-student")
        campaign = make_campaign(shop, freshers)
        start(campaign)
        assert all(followees(reader) == {shop.pk} for reader in readers)
        rows = list(VirtualFollow.objects.order_by("pk").values())
        actions.begin_batch(campaign.pk, freshers.pk, 0)
        actions.stop_batch(shop.pk, 0)
        assert list(VirtualFollow.objects.order_by("pk").values()) == rows
        end_campaign(campaign.pk, by=moderator())
        deliver()
        assert not VirtualFollow.objects.exists()

    def test_the_deleted_account_of_a_campaign_ends_it(self, fresher, freshers, shop):
        campaign = make_campaign(shop, freshers)
        start(campaign)
        User.objects.filter(pk=shop.pk).update(erased_at=timezone.now())
        actions.forget_user(shop.pk)
        deliver()
        campaign.refresh_from_db()
        assert (campaign.state, campaign.end_reason) == ("ended", EndReason.ACCOUNT)
        assert followees(fresher) == set()


class TestWhoFollows:
    def test_joining_and_leaving_a_segment_acts_at_once(self, alice, freshers, shop):
        start(make_campaign(shop, freshers))
        state_trait(alice, "first-year-student")
        assert followees(alice) == {shop.pk}  # no worker was needed
        withdraw_trait(alice, "first-year-student")
        assert followees(alice) == set()
        assert revision(alice) == 2

    def test_leaving_one_of_two_segments_keeps_the_follow_for_another_reason(
        self, alice, freshers, cooks, shop
    ):
        start(make_campaign(shop, freshers, cooks))
        set_traits(alice, ["first-year-student", "cook"])
        assert through(alice, shop).segment == freshers
        withdraw_trait(alice, "first-year-student")
        assert through(alice, shop).segment == cooks
        assert promotions_of(alice.pk)[shop.pk].people == "keen cooks"
        withdraw_trait(alice, "cook")
        assert virtual_follow(alice.pk, shop.pk) is None

    def test_another_campaign_of_the_account_keeps_the_follow(self, fresher, freshers, shop):
        first, second = make_campaign(shop, freshers), make_campaign(shop, freshers)
        start(first)
        start(second)
        assert through(fresher, shop).campaign == first
        end_campaign(first.pk, by=moderator())
        deliver()
        assert through(fresher, shop).campaign == second
        end_campaign(second.pk, by=moderator())
        deliver()
        assert followees(fresher) == set()

    def test_two_segments_of_one_person_are_two_follows(self, alice, freshers, cooks, shop):
        kitchen = make_user("kitchen")
        start(make_campaign(shop, freshers))
        start(make_campaign(kitchen, cooks))
        set_traits(alice, ["first-year-student", "cook"])
        assert followees(alice) == {shop.pk, kitchen.pk}
        withdraw_trait(alice, "cook")
        assert followees(alice) == {shop.pk}

    def test_opting_out_ends_it_at_once(self, fresher, freshers, shop):
        start(make_campaign(shop, freshers))
        opt_out(fresher)
        assert (followees(fresher), promotions_of(fresher.pk)) == (set(), {})
        opt_in(fresher)
        assert followees(fresher) == {shop.pk}

    def test_nobody_follows_themselves(self, freshers, shop):
        state_trait(shop, "first-year-student")
        campaign = make_campaign(shop, freshers)
        assert preview(campaign).people == 0
        start(campaign)
        assert followees(shop) == set()

    def test_an_inactive_segment_acts_at_once(self, fresher, freshers, shop):
        start(make_campaign(shop, freshers))
        Segment.objects.update(is_active=False)
        assert promotions_of(fresher.pk) == {}


class TestNobodyLearnsOfIt:
    def test_no_follow_no_count_no_relation(self, fresher, freshers, shop):
        start(make_campaign(shop, freshers))
        assert followees(fresher) == {shop.pk}
        assert not Followee.objects.exists()
        assert not Follower.objects.exists()
        for user in (fresher, shop):
            counts = UserCounts.objects.get(pk=user.pk)
            assert (counts.followers, counts.following) == (0, 0)
        related = exact_relations(fresher.pk, [shop.pk])
        assert not related.following | related.followed_by

    def test_no_model_of_another_app_refers_to_it(self):
        fields = [field for field in VirtualFollow._meta.get_fields() if field.auto_created]
        assert [field.name for field in fields if field.is_relation] == []
        assert not hasattr(User, "virtualfollow_set")


class TestStart:
    @pytest.mark.parametrize("act", [start_campaign, pause_campaign, end_campaign])
    def test_needs_the_permission(self, freshers, shop, act):
        campaign = make_campaign(shop, freshers)
        for by in (make_user(), make_staff("promotions.change_campaign")):
            with pytest.raises(NotAllowed):
                act(campaign.pk, by=by)
        campaign.refresh_from_db()
        assert campaign.state == CampaignState.DRAFT

    def test_is_on_record(self, freshers, shop):
        campaign, staff = make_campaign(shop, freshers), make_staff("promotions.run_campaign")
        start_campaign(campaign.pk, by=staff)
        pause_campaign(campaign.pk, by=staff)
        end_campaign(campaign.pk, by=staff)
        entries = LogEntry.objects.filter(user=staff, object_id=str(campaign.pk)).order_by("pk")
        texts = entries.values_list("change_message", flat=True)
        assert list(texts) == ["Started.", "Paused.", "Ended."]

    def test_what_cannot_run_is_refused_and_says_why(self, freshers, shop):
        chief = moderator()
        over = make_campaign(shop, freshers)
        Campaign.objects.filter(pk=over.pk).update(
            starts_at=timezone.now() - timedelta(days=2), ends_at=timezone.now()
        )
        ended = make_campaign(shop, freshers)
        end_campaign(ended.pk, by=chief)
        for campaign, code in (
            (over, "time"),
            (ended, "state"),
            (make_campaign(shop), "segments"),
        ):
            with pytest.raises(Invalid) as refusal:
                start_campaign(campaign.pk, by=chief)
            assert refusal.value.code == code
        for act in (pause_campaign, end_campaign):
            with pytest.raises(Invalid):
                act(ended.pk, by=chief)
        with pytest.raises(NotFound):
            start_campaign(0, by=chief)

    def test_a_used_up_budget_or_a_suspended_account_does_not_run(self, alice, freshers, shop):
        chief, campaign = moderator(), make_campaign(shop, freshers, budget_impressions=1)
        start(campaign)
        count_impressions(alice.pk, [campaign.pk], page_id="1")
        pause_campaign(campaign.pk, by=chief)
        with pytest.raises(Invalid) as refusal:
            start_campaign(campaign.pk, by=chief)
        assert refusal.value.code == "budget"
        suspend(shop)
        with pytest.raises(Invalid) as refusal:
            start_campaign(make_campaign(shop, freshers).pk, by=chief)
        assert refusal.value.code == "account"

    def test_there_is_a_limit_of_campaigns(self, freshers, shop, monkeypatch):
        monkeypatch.setattr(actions, "MAX_RUNNING", 1)
        start(make_campaign(shop, freshers))
        with pytest.raises(NotAllowed):
            start_campaign(make_campaign(shop, freshers).pk, by=moderator())


class TestPreview:
    def test_counts_each_person_once_and_nobody_who_opted_out(
        self, alice, bob, carol, freshers, cooks, shop, monkeypatch
    ):
        campaign = make_campaign(shop, freshers, cooks)
        set_traits(alice, ["first-year-student", "cook"])
        state_trait(bob, "cook")
        state_trait(carol, "cook")
        opt_out(carol)
        assert preview(campaign) == (2, False)
        monkeypatch.setattr("apps.promotions.queries.MAX_PREVIEWED", 1)
        assert preview(campaign) == (1, False)

    @pytest.mark.slow
    def test_numbers_tell_nothing_about_one_person(self, freshers, shop, settings):
        settings.CAMPAIGN_MIN_PEOPLE = 3
        campaign = make_campaign(shop, freshers)
        told = []
        for _ in range(22):
            state_trait(make_user(), "first-year-student")
            told.append(preview(campaign))
        assert (
            told
            == [(0, True)] * 2
            + [(n, False) for n in range(3, 10)]
            + [(10, False)] * 10
            + [(20, False)] * 3
        )

    def test_few_do_not_hide_behind_many(self, freshers, cooks, shop, settings):
        settings.CAMPAIGN_MIN_PEOPLE = 2
        state_trait(make_user(), "cook")
        for _ in range(3):
            state_trait(make_user(), "first-year-student")
        campaign = make_campaign(shop, freshers, cooks)
        assert preview(campaign) == (0, True)
        with pytest.raises(Invalid) as refusal:
            start_campaign(campaign.pk, by=moderator())
        assert refusal.value.code == "people"
        state_trait(make_user(), "cook")
        start_campaign(campaign.pk, by=moderator())

    def test_an_inactive_segment_is_none(self, freshers, cooks, shop, settings):
        settings.CAMPAIGN_MIN_PEOPLE = 1
        state_trait(make_user(), "cook")
        Segment.objects.filter(pk=freshers.pk).update(is_active=False)
        assert preview(make_campaign(shop, freshers)).too_few
        campaign = make_campaign(shop, freshers, cooks)
        assert preview(campaign) == (1, False)
        start_campaign(campaign.pk, by=moderator())

    def test_a_paused_one_whose_people_left_does_not_start_again(self, freshers, shop, settings):
        fresher = make_user()
        state_trait(fresher, "first-year-student")
        settings.CAMPAIGN_MIN_PEOPLE = 1
        campaign, chief = make_campaign(shop, freshers), moderator()
        start_campaign(campaign.pk, by=chief)
        pause_campaign(campaign.pk, by=chief)
        opt_out(fresher)
        with pytest.raises(Invalid):
            start_campaign(campaign.pk, by=chief)

    def test_is_what_the_start_makes(self, freshers, shop):
        for _ in range(3):
            state_trait(make_user(), "first-year-student")
        campaign = make_campaign(shop, freshers)
        people = preview(campaign).people
        start(campaign)
        assert people == VirtualFollow.objects.count() == 3
