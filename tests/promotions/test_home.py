"""Promoted posts on home timelines: delivered, pulled, rebuilt and shown like those of followees, while they may be."""

import time
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from random import Random

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.accounts.actions import update_profile, update_settings
from apps.accounts.queries import user_by_id
from apps.audit.comparison.pages import Sample, differences, missing_in_windows
from apps.audit.explain import explain
from apps.audit.oracle import Oracle
from apps.engagement.actions import mark_post_read
from apps.errors import DomainError
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.moderation.actions import hide_post, show_post
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.promotions.actions import (
    opt_in,
    opt_out,
    pause_campaign,
    state_trait,
    withdraw_trait,
)
from apps.promotions.integrations import impressions as counting
from apps.promotions.integrations.impressions import count_seen, count_shown
from apps.promotions.models import Campaign, CampaignCount, ReaderImpressions, VirtualFollow
from apps.promotions.tasks import apply_time
from apps.ranking.ordering import ranked_page
from apps.second_level import older, spans
from apps.second_level.handlers import update_spans
from apps.timeline.fanout import dispatch
from apps.timeline.fanout.progress import delivery_progress, with_receipts
from apps.timeline.fanout.switch import set_author_policy, set_site_policy
from apps.timeline.handlers import update_promoted_posts
from apps.timeline.history.unread import get_activity, newer_candidate_count
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob, Policy, TimelineEntry
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.sources import sql as pull
from apps.timeline.sources.home_cache import HOME
from tests.promotions.conftest import (
    make_campaign,
    make_segment,
    side_by_side,  # noqa: F401 -- a fixture
    start,
    sweep,
    trait,
)
from tests.support.factories import deliver, delivered, make_user, moderator, publish, repost
from tests.support.faults import dead_redis
from tests.support.pictures import picture
from tests.timeline.outboxes import write
from tests.timeline.short_caches import shorten
from tests.timeline.test_warm import build_filters

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("side_by_side")]
FRESHER = "first-year-student"


@pytest.fixture
def freshers(db):
    return make_segment("freshers", "first-year students", ("trait", trait(FRESHER)))


@pytest.fixture
def shop(db):
    """An account that pays."""
    return make_user("shop", display_name="The book shop")


@pytest.fixture
def reader(alice, freshers):
    """In the segment, online."""
    state_trait(alice, FRESHER)
    deliver()
    home_timeline(alice, Cursor())
    return alice


@pytest.fixture
def campaign(reader, freshers, shop):
    campaign = make_campaign(shop, freshers)
    start(campaign)
    return campaign


def shown(viewer, limit=40):
    return [item.id for item in home_timeline(user_by_id(viewer.pk), Cursor(limit=limit)).items]


def item_of(viewer, post):
    page = home_timeline(user_by_id(viewer.pk), Cursor(limit=40))
    return next(item for item in page.items if item.id == post.pk)


def equals_oracle(viewer):
    found = shown(viewer)
    assert found == Oracle().home(viewer.pk) == Oracle.of_viewer(viewer.pk).home(viewer.pk)
    return found


def progress(post):
    jobs = with_receipts(FanoutJob.objects.filter(pk=post.pk))
    return delivery_progress(jobs.get())


class TestFanOut:
    @pytest.mark.slow
    def test_open_posts_reach_virtual_followers(self, campaign, reader, shop, bob):
        fan = make_user()
        follow_user(fan, shop)
        deliver()
        posts = [publish(shop, visibility=one) for one in ("public", "unlisted", "followers")]
        deliver()
        assert equals_oracle(reader) == [posts[1].pk]  # the newest
        assert shown(bob) == []
        assert set(HOME.ids(reader.pk)) == {posts[0].pk, posts[1].pk}
        assert {post.pk: progress(post).expected for post in posts} == {
            posts[0].pk: 2,
            posts[1].pk: 2,
            posts[2].pk: 1,
        }

    @pytest.mark.slow
    def test_the_receipts_add_up(self, campaign, reader, shop, settings):
        settings.FANOUT_CHUNK_SIZE = 2
        fans = [make_user() for _ in range(3)]
        for fan in fans:
            follow_user(fan, shop)
        for _ in range(4):
            state_trait(make_user(), FRESHER)
        deliver()
        post = publish(shop)
        dispatch.start_job(post.pk)
        while True:
            now = progress(post)
            assert now.expected == now.delivered + now.dormant + now.pending == 8
            if not dispatch.run_due(limit=1):
                break
        now = progress(post)
        assert (now.delivered, now.dormant, now.pending) == (1, 7, 0)
        chunks = FanoutChunk.objects.filter(job=post.pk)
        assert sorted(chunks.values_list("is_virtual", "expected")) == [
            (False, 1), (False, 2), (True, 1), (True, 2), (True, 2),
        ]  # fmt: skip
        dispatch.start_job(post.pk)  # the event runs again
        assert progress(post) == now

    def test_a_delivery_to_everybody_writes_rows_for_the_dormant(self, campaign, reader, shop):
        set_author_policy(shop, Policy.PUSH, by="staff")
        post = delivered(shop)
        assert TimelineEntry.objects.filter(reader=reader.pk, post_id=post.pk).exists()
        delete_post(post.pk, by=shop)
        deliver()
        assert not TimelineEntry.objects.filter(post_id=post.pk).exists()
        assert equals_oracle(reader) == []


class TestBackfill:
    def test_a_campaign_brings_what_was_there_before(self, reader, freshers, shop):
        post = delivered(shop)
        assert equals_oracle(reader) == []
        start(make_campaign(shop, freshers))
        assert post.pk in HOME.ids(reader.pk)
        assert equals_oracle(reader) == [post.pk]

    def test_leaving_the_segment_is_seen_on_the_next_page_before_any_worker(
        self, campaign, reader, shop
    ):
        post = delivered(shop)
        assert shown(reader) == [post.pk]
        withdraw_trait(reader, FRESHER)
        assert shown(reader) == []
        assert post.pk in HOME.ids(reader.pk)
        deliver()
        assert post.pk not in HOME.ids(reader.pk)
        state_trait(reader, FRESHER)
        deliver()
        assert equals_oracle(reader) == [post.pk]

    @pytest.mark.slow
    def test_a_follow_wins_and_its_end_leaves_the_promotion(self, campaign, reader, shop):
        post, secret = publish(shop), publish(shop, visibility="followers")
        follow_user(reader, shop)
        deliver()
        assert equals_oracle(reader) == [secret.pk, post.pk]
        assert item_of(reader, post).promotion is None
        withdraw_trait(reader, FRESHER)
        deliver()
        assert equals_oracle(reader) == [secret.pk, post.pk]
        state_trait(reader, FRESHER)
        deliver()
        unfollow_user(reader, shop)
        deliver()
        assert equals_oracle(reader) == [post.pk]
        assert post.pk in HOME.ids(reader.pk)
        assert item_of(reader, post).promotion is not None

    @pytest.mark.slow
    def test_the_auditor_finds_nothing(self, campaign, reader, shop):
        for _ in range(5):
            publish(shop)
            publish(reader)
        deliver()
        for cursor in (Cursor(limit=4), Cursor(limit=40)):
            page = home_timeline(reader, cursor)
            sample = Sample.of_page(reader.pk, time.time() + 1, cursor, page)
            assert differences(sample) == []
        assert missing_in_windows(reader.pk) == ([], 0)

    def test_twice_is_once(self, campaign, reader, shop):
        delivered(shop)
        before = HOME.ids(reader.pk)
        for _ in range(2):
            payload = {"account_id": shop.pk, "user_ids": [reader.pk]}
            update_promoted_posts(payload)
            update_spans(payload)
        assert HOME.ids(reader.pk) == before


class TestSources:
    @pytest.mark.usefixtures("media")
    def test_a_post_with_a_picture_is_promoted_like_any_other(self, campaign, reader, shop):
        publish(shop)
        wall = upload_picture(shop, BytesIO(picture()), alt="A wall.")
        post = delivered(shop, media_ids=[wall.pk])
        assert equals_oracle(reader) == [post.pk]

    @pytest.mark.slow
    def test_rebuilt_and_without_redis(self, campaign, reader, shop):
        own, post = publish(reader), publish(shop)
        publish(shop, visibility="mentioned", body="@alice")
        deliver()
        HOME.drop(reader.pk)
        assert equals_oracle(reader) == [post.pk, own.pk]
        with dead_redis():
            assert shown(reader) == [post.pk, own.pk]

    @pytest.mark.parametrize("policy", [Policy.PUSH, Policy.ONLINE, Policy.PULL])
    def test_under_every_policy_of_the_author(self, campaign, reader, shop, policy):
        first = publish(shop)
        set_author_policy(shop, policy, by="staff")
        second = delivered(shop)
        assert equals_oracle(reader) == [second.pk]
        set_author_policy(shop, Policy.ONLINE, by="staff")
        deliver()
        assert equals_oracle(reader) == [second.pk]
        assert HOME.ids(reader.pk) == [second.pk, first.pk]
        assert missing_in_windows(reader.pk) == ([], 0)

    def test_while_the_whole_site_pulls(self, campaign, reader, shop):
        set_site_policy(Policy.PULL, by="staff")
        post = delivered(shop)
        assert equals_oracle(reader) == [post.pk]

    @pytest.mark.slow
    def test_below_the_home_cache_and_in_the_second_level(
        self, reader, freshers, shop, monkeypatch
    ):
        shorten(monkeypatch, HOME=replace(HOME, length=6))
        monkeypatch.setattr(pull, "home_ids_nearby", lambda *_asked: [])
        monkeypatch.setattr(older, "enqueue", lambda _name, *asked, expires: older.fill(*asked))
        friend = make_user()
        follow_user(reader, friend)
        write(friend, 30)
        write(shop, 30)
        write(shop, 3, start=30, visibility="followers")
        start(make_campaign(shop, freshers))
        for _visit in range(3):
            assert walked(reader) == Oracle().home(reader.pk)
        assert len(walked(reader)) == 31
        assert spans.readers_with_span([reader.pk]) == [reader.pk]
        withdraw_trait(reader, FRESHER)
        assert len(walked(reader)) == 30
        deliver()
        assert walked(reader) == Oracle().home(reader.pk)
        state_trait(reader, FRESHER)
        follow_user(reader, make_user())
        deliver()
        for _visit in range(2):
            assert walked(reader) == Oracle().home(reader.pk)

    def test_nearby_posts_of_the_site(self, campaign, reader, shop):
        post = publish(shop)
        publish(shop, visibility="followers")
        publish(make_user())
        assert pull.home_ids_nearby(reader.pk, Cursor(), 10) == [post.pk]
        assert pull.home_ids(reader.pk, Cursor(), 10) == [post.pk]
        assert pull.open_home_ids(reader.pk, Cursor(min_id=1), 10) == [post.pk]
        assert pull.restricted_home_ids(reader.pk, Cursor(), 10) == []
        follow_user(reader, shop)
        assert pull.home_ids(reader.pk, Cursor(), 10).count(post.pk) == 1


def walked(viewer, limit=7):
    viewer, items, cursor = user_by_id(viewer.pk), [], Cursor(limit=limit)
    while True:
        page = home_timeline(viewer, cursor)
        items += [item.id for item in page.items]
        if page.older is None:
            return items
        cursor = Cursor(max_id=page.older, limit=limit)


class TestWhatIsShown:
    def test_what_was_read_is_explained_as_read(self, campaign, reader, shop):
        update_settings(reader, hides_read=True)
        post = delivered(shop)
        assert explain(user_by_id(reader.pk), post.pk).on_home
        mark_post_read(reader, post.pk)
        found = explain(user_by_id(reader.pk), post.pk)
        assert (found.on_home, found.reason) == (False, Reason.READ)
        assert post.pk not in shown(reader)

    def test_why(self, campaign, reader, shop):
        post = publish(shop)
        own = publish(reader)
        deliver()
        promotion = item_of(reader, post).promotion
        assert promotion.sponsor == "The university"
        assert promotion.reason() == (
            "Promoted to first-year students because you said so (first-year student)."
        )
        assert item_of(reader, own).promotion is None

    def test_from_the_start_on(self, reader, freshers, shop):
        post = delivered(shop)
        campaign = make_campaign(shop, freshers, starts=timedelta(hours=1))
        start(campaign)
        assert equals_oracle(reader) == []
        Campaign.objects.update(starts_at=timezone.now() - timedelta(minutes=5))
        apply_time()
        deliver()
        assert equals_oracle(reader) == [post.pk]

    def test_two_segments_of_one_person(self, campaign, reader, shop):
        kitchen = make_user("kitchen")
        start(make_campaign(kitchen, make_segment("cooks", "keen cooks", ("trait", trait("cook")))))
        state_trait(reader, "cook")
        posts = [publish(shop), publish(kitchen)]
        deliver()
        assert equals_oracle(reader) == [posts[1].pk, posts[0].pk]
        assert "keen cooks" in item_of(reader, posts[1]).promotion.reason()
        withdraw_trait(reader, "cook")
        assert shown(reader) == [posts[0].pk]

    @pytest.mark.slow
    def test_equal_follows_and_other_traits_make_other_pages(self, campaign, reader, shop):
        friend, twin, cook = make_user(), make_user(), make_user()
        for one in (reader, twin, cook):
            follow_user(one, friend)
        start(make_campaign(friend, make_segment("cooks", "keen cooks", ("trait", trait("cook")))))
        kitchen = make_user("kitchen")
        start(make_campaign(kitchen, make_segment("home", "home cooks", ("trait", trait("cook")))))
        state_trait(cook, "cook")
        press = make_user("press")
        start(make_campaign(press, make_segment("chinese", "readers", ("language", "zh"))))
        update_profile(cook, post_language="zh")
        sweep()
        posts = [publish(author) for author in (friend, shop, kitchen, press)]
        deliver()
        assert equals_oracle(twin) == [posts[0].pk]
        assert equals_oracle(reader) == sorted([posts[1].pk, posts[0].pk], reverse=True)
        of_cook = [posts[0].pk, posts[2].pk, posts[3].pk]
        assert equals_oracle(cook) == sorted(of_cook, reverse=True)

    @pytest.mark.parametrize("by", ["reader", "account"])
    def test_not_across_a_block(self, campaign, reader, shop, by):
        delivered(shop)
        block_user(*((reader, shop) if by == "reader" else (shop, reader)))
        deliver()
        assert equals_oracle(reader) == []

    @pytest.mark.slow
    def test_not_when_muted_paused_or_refused(self, campaign, reader, shop):
        post = delivered(shop)
        opt_out(reader)
        assert equals_oracle(reader) == []
        opt_in(reader)
        deliver()
        assert equals_oracle(reader) == [post.pk]
        pause_campaign(campaign.pk, by=moderator())
        assert equals_oracle(reader) == []
        start(campaign)
        assert equals_oracle(reader) == [post.pk]
        mute_user(reader, shop)
        assert equals_oracle(reader) == []

    @pytest.mark.slow
    def test_only_the_newest_and_never_the_words_of_others(self, campaign, reader, shop):
        source, old = publish(make_user()), publish(shop)
        deliver()
        assert equals_oracle(reader) == [old.pk]
        new = publish(shop)
        publish(shop, visibility="followers")
        repost(shop, source.pk)
        publish(shop, reply_to_id=source.pk)
        publish(shop, quote_of_id=source.pk)
        deliver()
        assert equals_oracle(reader) == [new.pk]
        hide_post(new.pk, by=moderator())
        deliver()
        assert equals_oracle(reader) == [old.pk]
        show_post(new.pk, by=moderator())
        deliver()
        assert equals_oracle(reader) == [new.pk]
        delete_post(new.pk, by=shop)
        deliver()
        assert equals_oracle(reader) == [old.pk]

    def test_no_query_without_virtual_follows(
        self, memcached, bob, alice, django_assert_num_queries
    ):
        build_filters()
        delivered(alice)
        viewer = user_by_id(bob.pk)
        for _warm in range(2):
            home_timeline(viewer, Cursor())
        with django_assert_num_queries(0):
            assert len(home_timeline(viewer, Cursor()).items) == 1

    def test_none_with_them_and_with_filters(
        self, memcached, campaign, reader, shop, api_of, django_assert_num_queries
    ):
        build_filters()
        keywords = [KeywordChange(keyword="spoiler")]
        create_filter(reader, FilterChange("Words", ["home"], keywords=keywords))
        post = delivered(shop)
        viewer = user_by_id(reader.pk)
        for _warm in range(2):
            home_timeline(viewer, Cursor())
        with django_assert_num_queries(0):
            assert [item.id for item in home_timeline(viewer, Cursor()).items] == [post.pk]
        client, address = api_of(reader), "/api/v1/timelines/home?promoted=true"
        for _warm in range(2):  # the first one is counted
            client.get(address)
        with django_assert_num_queries(0):
            [status] = client.get(address).json()
        assert status["feedsite"]["promotion"]["sponsor"] == "The university"

    def test_unread_and_ranked(self, campaign, reader, shop):
        viewer = user_by_id(reader.pk)
        position = get_activity(viewer).last_id
        post = delivered(shop)
        assert newer_candidate_count(viewer, 1) == 0  # no badge rings for it
        assert get_activity(viewer, position).items == []
        assert shown(viewer) == [post.pk]
        first = ranked_page(viewer, limit=5)
        assert [bool(item.promotion) for item in first.items] == [True]
        again = ranked_page(viewer, session_id=first.session, limit=5)
        assert [bool(item.promotion) for item in again.items] == [True]
        follow_user(viewer, shop)
        deliver()
        assert newer_candidate_count(user_by_id(reader.pk), 1) == 1


class TestImpressions:
    def test_what_was_seen_counts_once_a_view_and_the_cap_ends_it(self, campaign, reader, shop):
        post, other = delivered(shop), delivered(reader)
        for view in range(3):
            assert post.pk in shown(reader)
            for _again in range(2):
                count_seen(reader.pk, post.pk, view=str(view))
                count_seen(reader.pk, other.pk, view=str(view))
            assert ReaderImpressions.objects.get().number == view + 1
        assert post.pk not in equals_oracle(reader)
        count_seen(reader.pk, post.pk, view="later")
        assert CampaignCount.objects.get().impressions == 3

    def test_a_page_for_a_program_counts_once_and_the_cap_ends_them(self, campaign, reader, shop):
        post = delivered(shop)
        for page in range(3):
            items = home_timeline(reader, Cursor()).items
            assert post.pk in {item.id for item in items}
            for _again in range(2):
                count_shown(reader.pk, items)
            assert ReaderImpressions.objects.get().number == page + 1
            delivered(reader, f"Number {page}.")
        assert CampaignCount.objects.get().impressions == 3
        assert post.pk not in equals_oracle(reader)

    def test_the_budget_ends_them(self, campaign, reader, shop):
        delivered(shop)
        Campaign.objects.update(budget_impressions=1)
        count_shown(reader.pk, home_timeline(reader, Cursor()).items)
        assert equals_oracle(reader) == []

    def test_a_page_without_any_asks_nothing(self, reader, django_assert_num_queries):
        publish(reader)
        items = home_timeline(reader, Cursor()).items
        with django_assert_num_queries(0):
            count_shown(reader.pk, items)

    def test_a_failure_fails_no_page(self, campaign, reader, shop, monkeypatch):
        def unavailable(*_page, page_id):
            raise OperationalError("canceling statement due to lock timeout")

        post = delivered(shop)
        items = home_timeline(reader, Cursor()).items
        with monkeypatch.context() as patch:
            patch.setattr(counting, "count_impressions", unavailable)
            count_shown(reader.pk, items)
        assert not ReaderImpressions.objects.exists()
        assert shown(reader) == [post.pk]


class History:
    """People who state and withdraw traits, accounts that pay, and caches that are thrown away."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.people = [make_user() for _ in range(3)]
        self.payers = [make_user() for _ in range(2)]
        self.traits = [FRESHER, "cook"]
        segments = [make_segment(one, one, ("trait", trait(one))) for one in self.traits]
        self.campaigns = [
            make_campaign(self.payers[0], segments[0]),
            make_campaign(self.payers[1], *segments),
            make_campaign(self.payers[0], segments[1]),
        ]
        for campaign in self.campaigns[:2]:
            start(campaign)
        self.posts = []
        for one in self.everybody:
            home_timeline(one, Cursor())

    @property
    def everybody(self):
        return [*self.people, *self.payers]

    def step(self):
        one = self.random.choice(self.people)
        payer = self.random.choice(self.payers)
        ways = [
            lambda: state_trait(one, self.random.choice(self.traits)),
            lambda: withdraw_trait(one, self.random.choice(self.traits)),
            lambda: self.random.choice([opt_out, opt_in, opt_in])(one),
            lambda: follow_user(one, self.random.choice(self.everybody)),
            lambda: unfollow_user(one, payer),
            lambda: self.say(payer),
            lambda: self.say(payer),
            lambda: self.say(one),
            self.run_or_pause,
            lambda: HOME.drop(one.pk),
            lambda: set_author_policy(
                payer, self.random.choice([Policy.PUSH, Policy.ONLINE, Policy.PULL]), by="staff"
            ),
            lambda: home_timeline(one, Cursor(limit=3)),
        ]
        with suppress(DomainError):  # nobody follows themselves
            self.random.choice(ways)()
        if self.random.random() < 0.4:
            deliver()

    def say(self, author):
        visibility = self.random.choice(["public", "public", "unlisted", "followers"])
        publish(author, visibility=visibility)

    def run_or_pause(self):
        campaign = self.random.choice(self.campaigns)
        campaign.refresh_from_db()
        if campaign.state == "running":
            pause_campaign(campaign.pk, by=moderator())
        else:
            start(campaign)

    def look(self):
        oracle = Oracle()
        for one in self.everybody:
            assert walked(one, limit=3) == oracle.home(one.pk)
            assert Oracle.of_viewer(one.pk).home(one.pk) == oracle.home(one.pk)
        return VirtualFollow.objects.count()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_random_histories_equal_the_oracle(seed, db, monkeypatch):
    shorten(monkeypatch, HOME=replace(HOME, length=6))
    history, follows = History(seed), 0
    for _round in range(4):
        for _step in range(15):
            history.step()
        deliver()
        follows += history.look()
    assert follows  # a history in which nothing is promoted proves nothing
