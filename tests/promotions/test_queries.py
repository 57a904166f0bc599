"""What the timeline asks: what a reader may see and why; and what is counted when it was shown."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import UserCounts
from apps.graph.actions import (
    block_user,
    follow_user,
    mute_user,
    unblock_user,
    unfollow_user,
)
from apps.graph.cache import GRAPH_REVISION, load_graph_revisions
from apps.posts.models import Post
from apps.promotions import actions
from apps.promotions.actions import (
    count_impressions,
    pause_campaign,
    purge_impressions,
    set_traits,
    start_campaign,
    state_trait,
)
from apps.promotions.cache import (
    ALL,
    CAMPAIGNS,
    READERS,
    ReaderEntry,
    Shown,
    load_campaigns,
    load_readers,
    today,
)
from apps.promotions.models import CampaignCount, ReaderImpressions, VirtualFollow
from apps.promotions.queries import promotions_of, virtual_followee_ids
from apps.promotions.tasks import purge_impressions as purge_task
from feedcache.ids import compose
from feedcache.read_through.envelope import pack
from tests.promotions.conftest import make_campaign, start
from tests.support.factories import deliver, make_user, moderator, suspend
from tests.support.threads import together
from tests.timeline.test_plans import nodes_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("side_by_side")]


@pytest.fixture
def fresher(alice, freshers):
    state_trait(alice, "first-year-student")
    deliver()
    return alice


@pytest.fixture
def campaign(fresher, freshers, shop):
    campaign = make_campaign(shop, freshers)
    start(campaign)
    return campaign


def impressions(campaign):
    return CampaignCount.objects.get(campaign=campaign).impressions


class TestWhatAReaderMaySee:
    def test_the_account_and_the_reason(self, campaign, fresher, shop, django_assert_num_queries):
        promotions_of(fresher.pk)  # the newest posts of campaigns are in Memcached from then on
        with django_assert_num_queries(1):
            promotion = promotions_of(fresher.pk)[shop.pk]
        assert (promotion.account_id, promotion.campaign_id) == (shop.pk, campaign.pk)
        assert promotion.sponsor == "The university"
        assert promotion.reason() == (
            "Promoted to first-year students because you said so (first-year student)."
        )

    def test_up_to_the_cap_of_the_day(self, campaign, fresher, shop):
        for page in ("1", "2", "2", "1"):
            count_impressions(fresher.pk, [campaign.pk], page_id=page)
        assert shop.pk in promotions_of(fresher.pk)
        count_impressions(fresher.pk, [campaign.pk], page_id="3")
        assert promotions_of(fresher.pk) == {}
        ReaderImpressions.objects.update(day=today() - timedelta(days=1))
        assert shop.pk in promotions_of(fresher.pk)

    def test_another_campaign_of_the_account_goes_on_above_the_cap(
        self, campaign, fresher, freshers, shop
    ):
        second = make_campaign(shop, freshers, frequency_cap=9)
        start(second)
        for page in range(3):
            count_impressions(fresher.pk, [campaign.pk], page_id=str(page))
        assert promotions_of(fresher.pk)[shop.pk].campaign_id == second.pk

    def test_a_real_follow_goes_first(self, campaign, fresher, shop):
        follow_user(fresher, shop)
        assert promotions_of(fresher.pk) == {}
        unfollow_user(fresher, shop)
        assert shop.pk in promotions_of(fresher.pk)

    @pytest.mark.parametrize("turned", [False, True])
    def test_not_across_a_block(self, campaign, fresher, shop, turned):
        pair = (shop, fresher) if turned else (fresher, shop)
        block_user(*pair)
        assert promotions_of(fresher.pk) == {}
        unblock_user(*pair)
        assert shop.pk in promotions_of(fresher.pk)

    def test_not_of_muted_or_suspended_accounts(self, campaign, fresher, freshers, shop):
        kitchen = make_user("kitchen")
        start(make_campaign(kitchen, freshers))
        mute_user(fresher, kitchen)
        assert set(promotions_of(fresher.pk)) == {shop.pk}
        suspend(shop)
        assert promotions_of(fresher.pk) == {}

    def test_a_leftover_row_shows_nothing(self, campaign, fresher, carol, freshers, shop):
        """As while a batch has not come yet."""
        VirtualFollow.objects.create(
            user=carol, account_id=shop.pk, campaign=campaign, segment=freshers
        )
        assert promotions_of(carol.pk) == {}


class TestCache:
    def test_whom_a_reader_follows_is_read_once(
        self, memcached, campaign, fresher, carol, shop, django_assert_num_queries
    ):
        assert virtual_followee_ids(fresher.pk) == (shop.pk,)
        assert virtual_followee_ids(carol.pk) == ()
        with django_assert_num_queries(0):
            assert virtual_followee_ids(fresher.pk) == (shop.pk,)
            assert virtual_followee_ids(carol.pk) == ()

    def test_is_right_on_the_next_read_after_every_change(self, memcached, campaign, fresher, shop):
        assert virtual_followee_ids(fresher.pk) == (shop.pk,)
        for traits, expected in ((["cook"], ()), (["first-year-student"], (shop.pk,))):
            set_traits(fresher, traits)
            assert virtual_followee_ids(fresher.pk) == expected
            [cached] = GRAPH_REVISION.get_many([fresher.pk], load_graph_revisions).values()
            assert cached == UserCounts.objects.get(pk=fresher.pk).graph_revision

    def test_the_event_repairs_what_a_dead_process_left(self, memcached, campaign, fresher, shop):
        set_traits(fresher, [])
        READERS.set_many({fresher.pk: ReaderEntry((shop.pk,))})
        deliver()
        assert virtual_followee_ids(fresher.pk) == ()

    def test_so_does_that_of_a_campaign(self, memcached, campaign, freshers, shop):
        old = load_campaigns([ALL])
        pause_campaign(campaign.pk, by=moderator())
        CAMPAIGNS.set_many(old)
        deliver()
        assert CAMPAIGNS.get_many([ALL], load_campaigns) == {ALL: ()}
        start_campaign(campaign.pk, by=moderator())
        CAMPAIGNS.set_many({ALL: ()})
        deliver()
        [[live]] = CAMPAIGNS.get_many([ALL], load_campaigns).values()
        assert live.id == campaign.pk

    @pytest.mark.parametrize(
        "value",
        [
            ReaderEntry(),
            ReaderEntry((5, 2**40), (1, 2), (Shown(7, "2026-01-01", 3, [-(2**63), 2**63 - 1]),)),
        ],
    )
    def test_what_is_encoded_is_decoded(self, value):
        assert READERS.decode(READERS.encode(value)) == value

    def test_campaigns_too(self, campaign):
        [campaigns] = load_campaigns([ALL]).values()
        assert [one.id for one in campaigns] == [campaign.pk]
        assert CAMPAIGNS.decode(CAMPAIGNS.encode(campaigns)) == campaigns

    @pytest.mark.parametrize(
        "data", [b"", b"x", b"[1]", pack(b"[1]"), pack(b"[1, 2, 3]"), pack(b"1")]
    )
    @pytest.mark.parametrize("kind", [READERS, CAMPAIGNS])
    def test_garbage_is_refused(self, kind, data):
        with pytest.raises(ValueError):  # noqa: PT011 -- any of them is a miss
            kind.decode(data)

    def test_loads_many_in_one_query(
        self, campaign, fresher, carol, shop, django_assert_num_queries
    ):
        with django_assert_num_queries(1):
            found = load_readers([fresher.pk, carol.pk])
        assert {pk: entry.followees for pk, entry in found.items()} == {
            fresher.pk: (shop.pk,),
            carol.pk: (),
        }

    def test_finds_the_newest_post_without_reading_the_others(self, campaign, shop):
        posts = Post.objects.bulk_create(
            Post(id=compose(1_750_000_000 + n, shop.pk, 0), author_id=shop.pk, thread_id=0)
            for n in range(500)
        )
        with connection.cursor() as sql:
            sql.execute("ANALYZE posts_post, accounts_usercounts")
        with CaptureQueriesContext(connection) as captured:
            [found] = load_campaigns([ALL])[ALL]
        assert found.newest_id == posts[-1].pk
        with connection.cursor() as sql:
            sql.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + captured.captured_queries[-1]["sql"])
            nodes = list(nodes_of(sql.fetchone()[0][0]["Plan"]))
        scans = [node for node in nodes if node.get("Relation Name") == "posts_post"]
        read = [node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in scans]
        assert read == [1]


class TestImpressions:
    def test_a_page_counts_once(self, campaign, fresher):
        for _ in range(3):
            count_impressions(fresher.pk, [campaign.pk, campaign.pk], page_id="a")
        count_impressions(fresher.pk, [campaign.pk], page_id="b")
        count_impressions(fresher.pk, [campaign.pk], page_id="a")
        assert impressions(campaign) == 2
        assert ReaderImpressions.objects.get().number == 2

    def test_only_the_newest_pages_are_remembered(self, campaign, fresher):
        for page in range(actions.PAGES_REMEMBERED + 5):
            count_impressions(fresher.pk, [campaign.pk], page_id=str(page))
        assert len(ReaderImpressions.objects.get().pages) == actions.PAGES_REMEMBERED

    def test_of_campaigns_that_run_only(self, campaign, fresher, freshers, shop):
        draft = make_campaign(shop, freshers)
        count_impressions(fresher.pk, [campaign.pk, draft.pk, 0], page_id="a")
        count_impressions(fresher.pk, [], page_id="b")
        assert impressions(campaign) == 1
        assert ReaderImpressions.objects.count() == 1

    def test_two_statements_whatever_the_number(
        self, campaign, fresher, freshers, shop, django_assert_num_queries
    ):
        others = [make_campaign(shop, freshers) for _ in range(3)]
        for other in others:
            start(other)
        ids = [each.pk for each in (campaign, *others)]
        with django_assert_num_queries(4):  # with the savepoint of the test's transaction
            count_impressions(fresher.pk, ids, page_id="a")
        assert [impressions(each) for each in (campaign, *others)] == [1, 1, 1, 1]

    def test_too_many_campaigns_are_an_error(self, fresher):
        with pytest.raises(ValueError, match="at most"):
            count_impressions(fresher.pk, range(actions.MAX_COUNTED + 1), page_id="a")

    def test_earlier_days_are_forgotten(self, campaign, fresher):
        count_impressions(fresher.pk, [campaign.pk], page_id="a")
        purge_impressions()
        assert ReaderImpressions.objects.exists()
        ReaderImpressions.objects.update(day=today() - timedelta(days=2))
        purge_task()
        assert not ReaderImpressions.objects.exists()
        assert impressions(campaign) == 1


@pytest.mark.django_db(transaction=True)
def test_many_pages_at_once_lose_no_impression(fresher, freshers, shop):
    campaigns = [make_campaign(shop, freshers), make_campaign(shop, freshers)]
    for campaign in campaigns:
        start(campaign)
    readers = [make_user() for _ in range(4)]
    ids = [campaign.pk for campaign in campaigns]

    def show(number):
        order = ids if number % 2 else ids[::-1]
        for page in range(5):
            count_impressions(readers[number].pk, order, page_id=str(page))

    together(4, show)
    assert [impressions(campaign) for campaign in campaigns] == [20, 20]
