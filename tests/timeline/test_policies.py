"""One contract for all delivery policies: whatever the policy, and while it changes, home equals the oracle."""

from datetime import timedelta
from itertools import permutations
from unittest.mock import Mock

import pytest
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.audit.comparison.pages import missing_in_windows
from apps.audit.oracle import Oracle
from apps.events import actions as events
from apps.events.leases import State
from apps.graph.actions import follow_user, unfollow_user
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.models import PostCounts
from apps.timeline import policy as policies
from apps.timeline.fanout import auto_policy, switch
from apps.timeline.fanout.switch import set_author_policy, set_site_policy
from apps.timeline.history.unread import newer_candidate_count
from apps.timeline.home import home_timeline
from apps.timeline.models import (
    AuthorPolicy,
    Backfill,
    BackfillChunk,
    FanoutChunk,
    FanoutJob,
    Mode,
    Policy,
    PolicyChange,
    SitePolicy,
    TimelineEntry,
)
from apps.timeline.sources import outbox, pulled_authors
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.connections import RedisError, timelines
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.faults import dead_redis

pytestmark = pytest.mark.django_db
POLICIES = [Policy.PUSH, Policy.ONLINE, Policy.PULL, Policy.AUTO]
CHANGES = list(permutations(POLICIES, 2))


class Circle:
    """Two authors; a reader who is online, one who is not yet, and one who follows later."""

    def __init__(self):
        self.alice, self.bob = make_user("alice"), make_user("bob")
        self.online, self.dormant, self.late = (
            make_user(name) for name in ("present", "dormant", "latecomer")
        )
        for reader in (self.online, self.dormant):
            follow_user(reader, self.alice)
            follow_user(reader, self.bob)
        follow_user(self.late, self.bob)
        deliver()
        for reader in (self.online, self.late, self.alice):
            home_timeline(reader, Cursor())

    def live(self):
        """Something of everything that changes a home timeline."""
        first, doomed = publish(self.alice), publish(self.alice)
        publish(self.bob)
        publish(self.alice, "for followers", visibility="followers")
        publish(self.alice, f"for @{self.online.handle}", visibility="mentioned")
        repost(self.bob, first.pk)
        deliver()
        delete_post(doomed.pk, by=self.alice)
        follow_user(self.late, self.alice)
        deliver()
        publish(self.alice, unlisted := "unlisted", visibility=unlisted)
        deliver()
        unfollow_user(self.late, self.alice)
        publish(self.bob)
        deliver()

    def look(self):
        """Every page of everybody, down and up, and what is new."""
        oracle = Oracle()
        for reader in (self.online, self.dormant, self.late, self.alice):
            viewer = user_by_id(reader.pk)
            truth = oracle.home(viewer.pk)
            assert walked_down(viewer) == truth
            assert walked_up(viewer) == truth
            if truth:
                assert newer_candidate_count(viewer, truth[-1]) >= len(truth) - 1


def walked_down(viewer, limit=3):
    found, cursor = [], Cursor(limit=limit)
    while True:
        page = home_timeline(viewer, cursor)
        found += [item.id for item in page.items]
        if page.older is None:
            return found
        cursor = Cursor(max_id=page.older, limit=limit)


def walked_up(viewer, limit=3):
    found, cursor = [], Cursor(min_id=1, limit=limit)
    while True:
        page = home_timeline(viewer, cursor)
        found = [item.id for item in page.items] + found
        if page.newer is None or not page.items:
            return found
        cursor = Cursor(min_id=page.newer, limit=limit)


@pytest.fixture
def circle(db):
    return Circle()


def ask(author, policy):
    set_author_policy(author, policy, by="a test")
    if policy == Policy.AUTO:
        auto_policy.measure_author(author.pk)


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_of_an_author_shows_what_sql_says(circle, policy):
    circle.live()
    ask(circle.alice, policy)
    circle.live()
    circle.look()


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_of_the_site_shows_what_sql_says(circle, policy):
    circle.live()
    set_site_policy(policy, by="a test")
    auto_policy.measure_all()
    circle.live()
    circle.look()


@pytest.mark.long
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_hand_over_loses_and_repeats_nothing(circle, before, after):
    ask(circle.alice, before)
    circle.live()
    ask(circle.alice, after)
    circle.look()  # while the posts are on their way
    circle.live()
    deliver()
    circle.look()
    is_pulled = after == Policy.PULL
    assert AuthorPolicy.objects.filter(pulled_since__isnull=False).exists() == is_pulled


@pytest.mark.long
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_the_site_changes_over_without_a_loss(circle, before, after):
    set_site_policy(before, by="a test")
    circle.live()
    circle.look()
    set_site_policy(after, by="a test")
    circle.look()
    circle.live()
    circle.look()
    assert SitePolicy.objects.get().pulls_all == (after == Policy.PULL)
    assert SitePolicy.objects.get().generation == (before == Policy.PULL and after != Policy.PULL)


def test_each_post_remembers_its_mode(circle):
    modes = []
    for policy in (Policy.PUSH, Policy.PULL, Policy.ONLINE):
        set_author_policy(circle.alice, policy, by="a test")
        post = publish(circle.alice)
        deliver()
        modes.append(FanoutJob.objects.get(pk=post.pk).mode)
    assert modes == ["push", "pull", "online"]


@pytest.mark.slow
def test_a_post_for_everybody_has_a_row_for_the_dormant_too(circle):
    set_author_policy(circle.alice, Policy.PUSH, by="a test")
    post = publish(circle.alice)
    restricted = publish(circle.alice, "for followers", visibility="followers")
    deliver()
    rows = TimelineEntry.objects.filter(post_id__in=[post.pk, restricted.pk])
    assert set(rows.values_list("reader", "post_id")) == {
        (circle.online.pk, post.pk),
        (circle.dormant.pk, post.pk),
    }
    job = FanoutJob.objects.get(pk=post.pk)
    assert list(job.chunks.values_list("state", "delivered", "dormant")) == [("done", 1, 1)]


def test_a_pulled_post_is_pushed_to_nobody_but_its_author(circle):
    set_author_policy(circle.alice, Policy.PULL, by="a test")
    post = publish(circle.alice)
    deliver()
    assert post.pk not in HOME.ids(circle.online.pk)
    assert post.pk in HOME.ids(circle.alice.pk)
    job = FanoutJob.objects.get(pk=post.pk)
    assert (job.state, job.chunks.count()) == (State.DONE, 0)


@pytest.mark.parametrize("of_site", [False, True])
def test_restricted_posts_go_to_inboxes_whatever_the_policy(circle, of_site):
    if of_site:
        set_site_policy(Policy.PULL, by="a test")
    else:
        set_author_policy(circle.alice, Policy.PULL, by="a test")
    post = publish(circle.alice, "for followers", visibility="followers")
    deliver()
    assert INBOX.ids(circle.online.pk) == [post.pk]


@pytest.mark.slow
def test_pushes_end_only_when_all_readers_have_been_told(circle):
    """Without an announcement a reader could believe the windows while nothing is pushed any more."""
    home_timeline(circle.online, Cursor())
    with dead_redis(), pytest.raises(RedisError):
        set_author_policy(circle.alice, Policy.PULL, by="a test")
    row = AuthorPolicy.objects.get(author=circle.alice)
    assert row.pulled_since is not None
    assert row.mode is None
    home_timeline(circle.online, Cursor())
    post = publish(circle.alice)
    deliver()
    assert post.pk in HOME.ids(circle.online.pk)
    switch.maintain()  # goes on with it
    assert AuthorPolicy.objects.get(author=circle.alice).mode == Mode.PULL
    circle.live()
    circle.look()


def test_authors_whom_auto_lets_pull_are_not_switched_again_and_again(circle, monkeypatch):
    set_author_policy(circle.alice, Policy.PULL, by="a test")
    AuthorPolicy.objects.update(policy=Policy.AUTO)
    monkeypatch.setattr(switch, "apply_mode", Mock(side_effect=AssertionError))
    switch.maintain()


def test_a_process_that_knows_an_old_version_looks_again(circle):
    home_timeline(circle.online, Cursor())
    old = policies.cached()
    set_author_policy(circle.alice, Policy.PULL, by="a test")
    post = publish(circle.alice)
    deliver()
    policies._process.policies = old
    assert [item.id for item in home_timeline(circle.online, Cursor()).items] == [post.pk]
    assert policies.cached().pulled == {circle.alice.pk}


def test_a_lost_key_is_put_back(circle):
    set_author_policy(circle.alice, Policy.PULL, by="a test")
    post = publish(circle.alice)
    deliver()
    timelines().delete(policies.VERSION_KEY)
    policies.clear_cache()
    assert [item.id for item in home_timeline(circle.online, Cursor()).items] == [post.pk]
    version = SitePolicy.objects.get().version
    assert timelines().get(policies.VERSION_KEY) == str(version).encode()


def test_an_announcement_never_goes_back():
    policies.announce(7)
    policies.announce(3)
    assert timelines().get(policies.VERSION_KEY) == b"7"


def test_the_author_is_merged_until_the_last_receipt_of_the_hand_over(circle, settings):
    settings.FANOUT_CHUNK_SIZE = 1
    set_author_policy(circle.alice, Policy.PULL, by="a test")
    posts = [publish(circle.alice).pk for _ in range(3)]
    deliver()
    set_author_policy(circle.alice, Policy.ONLINE, by="a test")
    switch.split_backfills(limit=1)
    left = BackfillChunk.objects.count()
    assert left == 2
    while left:
        assert AuthorPolicy.objects.get(pk=circle.alice.pk).pulled_since is not None
        circle.look()
        left -= switch.run_backfills(limit=1)
    assert AuthorPolicy.objects.get(pk=circle.alice.pk).pulled_since is None
    assert HOME.ids(circle.online.pk) == posts[::-1]
    circle.look()
    BackfillChunk.objects.update(state=State.PENDING, due_at=timezone.now())
    switch.run_backfills(limit=9)  # twice is once
    assert HOME.ids(circle.online.pk) == posts[::-1]


def test_a_hand_over_that_fails_for_good_keeps_the_author_merged(circle):
    set_author_policy(circle.alice, Policy.PULL, by="a test")
    publish(circle.alice)
    deliver()
    set_author_policy(circle.alice, Policy.ONLINE, by="a test")
    switch.split_backfills(limit=1)
    BackfillChunk.objects.update(state=State.DEAD)
    switch.maintain()
    assert AuthorPolicy.objects.get(pk=circle.alice.pk).pulled_since is not None
    circle.look()


@pytest.mark.slow
def test_a_pull_that_begins_again_before_the_hand_over_is_done(circle):
    for policy in (Policy.PULL, Policy.ONLINE, Policy.PULL, Policy.ONLINE):
        set_author_policy(circle.alice, policy, by="a test")
        publish(circle.alice)
        events.run_due(limit=100)  # the post goes out, the backfill does not
        circle.look()
    deliver()
    circle.look()
    assert AuthorPolicy.objects.get(pk=circle.alice.pk).pulled_since is None
    assert Backfill.objects.count() == 2


def test_with_nobody_merged_a_page_costs_nothing_more(circle, monkeypatch):
    home_timeline(circle.online, Cursor())
    monkeypatch.setattr(pulled_authors, "ids", None)  # would fail if it were called
    monkeypatch.setattr(policies, "load", None)
    home_timeline(circle.online, Cursor())


@pytest.mark.slow
def test_a_page_pulls_from_the_merged_authors_only(circle, monkeypatch):
    """Two accesses and one for all N outboxes, instead of one for all whom the reader follows (source 003: 2 + N)."""
    set_author_policy(circle.alice, Policy.PULL, by="a test")
    circle.live()
    asked, read = [], outbox._read

    def noting(revisions, *args, **options):
        asked.append(set(revisions))
        return read(revisions, *args, **options)

    monkeypatch.setattr(outbox, "_read", noting)
    home_timeline(user_by_id(circle.online.pk), Cursor())
    home_timeline(user_by_id(circle.late.pk), Cursor())  # follows no merged author
    assert asked == [{circle.alice.pk}]


@pytest.mark.long
def test_the_auditor_misses_nothing_of_merged_authors(circle):
    set_author_policy(circle.alice, Policy.PULL, by="a test")
    circle.live()
    assert missing_in_windows(circle.online.pk) == ([], 0)
    set_author_policy(circle.alice, Policy.ONLINE, by="a test")
    deliver()
    assert missing_in_windows(circle.online.pk) == ([], 0)
    set_site_policy(Policy.PULL, by="a test")
    circle.live()
    assert missing_in_windows(circle.online.pk) == ([], 0)


def test_history_says_who_changed_what_and_why(circle):
    set_author_policy(circle.alice, Policy.PULL, by="dora", reason="A celebrity.")
    set_site_policy(Policy.PUSH, by="dora")
    lines = PolicyChange.objects.order_by("pk").values_list(
        "author", "before", "after", "reason", "made_by"
    )
    assert list(lines) == [
        (circle.alice.pk, "site", "pull", "A celebrity.", "dora"),
        (None, "online", "push", "", "dora"),
    ]


def test_the_policy_before_is_what_staff_had_before(circle):
    assert switch.policy_before(None) is None
    set_site_policy(Policy.PUSH, by="dora")
    set_site_policy(Policy.PUSH, by="dora", reason="the same once more")
    set_author_policy(circle.alice, Policy.AUTO, by="dora")
    set_author_policy(circle.alice, Policy.PULL, by=Policy.AUTO)
    assert switch.policy_before(None) == Policy.ONLINE
    assert switch.policy_before(circle.alice.pk) == Policy.SITE


def seen(**fields):
    return auto_policy.MeasuredCost(**{"followers": 100_000, "online": 0.2, "posts_a_day": 5.0, "reads_a_day": 100.0,
                                **fields})  # fmt: skip


def test_auto_chooses_by_cost_and_says_why(settings):
    assert auto_policy.choose(seen(), None).mode == Mode.PULL
    assert auto_policy.choose(seen(followers=99_999), None).mode == Mode.ONLINE
    assert auto_policy.choose(seen(reads_a_day=1e6), None).mode == Mode.ONLINE
    assert auto_policy.choose(seen(followers=150), None).mode == Mode.PUSH
    reason = auto_policy.choose(seen(), None).reason
    assert "100000 followers, 20% of them online, 5.0 posts and 100 reads a day" in reason
    assert "pushing would take 2.4 s a day, pulling 0.0 s" in reason


def test_auto_does_not_flutter(settings):
    """In at T, out at 0.8 T (source 004: counts change all the time)."""
    modes, now = [], None
    for followers in (99_000, 100_000, 99_000, 80_000, 79_999, 99_000, 100_000):
        now = auto_policy.choose(seen(followers=followers), now).mode
        modes.append(now.value)
    assert modes == ["online", "pull", "pull", "pull", "online", "online", "pull"]


@pytest.mark.long
def test_an_author_crosses_the_threshold_both_ways_and_no_post_is_lost(circle, settings):
    settings.AUTO_PULL_FOLLOWERS = 2
    settings.AUTO_PUSH_FOLLOWERS = 0
    set_author_policy(circle.alice, Policy.AUTO, by="a test")
    circle.live()
    modes = []
    for threshold in (2, 9, 2):
        settings.AUTO_PULL_FOLLOWERS = threshold
        auto_policy.measure_all()
        row = AuthorPolicy.objects.get(pk=circle.alice.pk)
        modes.append(row.mode)
        assert row.measured["followers"] == 2
        assert "2 followers" in row.reason
        circle.live()
        circle.look()
    assert modes == ["pull", "online", "pull"]


@pytest.mark.slow
def test_measures_come_from_receipts_posts_and_reads(circle):
    circle.live()
    now = auto_policy.measure(circle.alice.pk)
    assert now.followers == 2
    assert 0.5 <= now.online <= 1
    assert now.posts_a_day == pytest.approx(4 / 7)


def test_the_last_delivery_is_told_as_it_was(circle):
    assert auto_policy.last_delivery() is None
    post = delivered(circle.alice)
    FanoutChunk.objects.filter(job=post.pk).update(
        finished_at=post.created_at + timedelta(seconds=2)
    )
    last = auto_policy.LastDelivery(post.pk, followers=2, home_caches=1, seconds=2)
    assert auto_policy.last_delivery(circle.alice) == auto_policy.last_delivery() == last
    assert auto_policy.last_delivery(circle.bob) is None
    pending = publish(circle.alice)
    assert auto_policy.last_delivery() == last, f"{pending.pk} is not delivered yet"


def test_before_a_switch_stands_what_was_measured(circle):
    post = delivered(circle.alice)
    FanoutChunk.objects.filter(job=post.pk).update(
        finished_at=post.created_at + timedelta(seconds=2)
    )
    PostCounts.objects.filter(pk=post.pk).update(reads=70)
    assert list(dict(auto_policy.before_switch(circle.alice)).values()) == [
        "home caches of 1 of 2 followers, in 2.0 s", "2, 50 % of them online", "0.1", "0", "10",
    ]  # fmt: skip
    assert list(dict(auto_policy.before_switch()).values())[1:] == ["50%"]
    assert dict(auto_policy.before_switch(circle.bob))["the last delivery of a post"] == (
        "There is no finished delivery yet."
    )


def test_a_site_that_chooses_looks_at_large_authors_only(circle, settings):
    settings.AUTO_PULL_FOLLOWERS = 2
    set_site_policy(Policy.AUTO, by="a test")
    assert auto_policy.measure_all() == 2  # alice and bob, whom two and three follow
    assert set(AuthorPolicy.objects.values_list("policy", flat=True)) == {"auto"}


def test_the_policy_that_staff_set_while_an_author_is_measured_stays(circle, monkeypatch):
    set_author_policy(circle.alice, Policy.AUTO, by="a test")

    def measure(author_id, measure=auto_policy.measure):
        set_author_policy(circle.alice, Policy.PULL, by="staff", reason="a campaign")
        return measure(author_id)

    monkeypatch.setattr(auto_policy, "measure", measure)
    auto_policy.measure_all()
    row = AuthorPolicy.objects.get(pk=circle.alice.pk)
    assert (row.policy, row.mode, row.reason) == (Policy.PULL, Mode.PULL, "a campaign")
    assert not PolicyChange.objects.filter(made_by=Policy.AUTO).exists()


def test_authors_who_were_never_measured_come_first(circle, monkeypatch):
    monkeypatch.setattr(auto_policy, "AUTHORS_BATCH_SIZE", 1)
    set_author_policy(circle.alice, Policy.AUTO, by="a test", reason="")
    assert auto_policy.measure_all() == 1
    set_author_policy(circle.bob, Policy.AUTO, by="a test", reason="")
    AuthorPolicy.objects.filter(pk=circle.bob.pk).update(measured_at=None)
    assert auto_policy.measure_all() == 1
    assert not AuthorPolicy.objects.filter(measured_at=None).exists()
