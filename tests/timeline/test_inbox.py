"""Restricted posts go straight to the inboxes of those they are for, and nowhere else (row S26)."""

from dataclasses import replace
from functools import partial

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.graph.actions import follow_user, unfollow_user
from apps.graph.groups.actions import (
    add_members,
    create_group,
    delete_group,
    leave_circle,
    remove_members,
)
from apps.graph.models import Circle
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.timeline.fanout.backfill import circle_changed
from apps.timeline.fanout.dispatch import start_job
from apps.timeline.handlers import drop_home_caches
from apps.timeline.history.unread import newer_candidate_count
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk
from apps.timeline.profile import ProfileFilter, profile_timeline
from apps.timeline.sources import home, outbox, sql
from apps.timeline.sources.home_cache import HOME, INBOX, rebuild_home, rebuild_inbox
from feedcache import redis_clients
from feedcache.connections import RedisError, timelines
from feedcache.structures import home_window
from tests.support import pages
from tests.support.factories import deliver, delivered, make_user, publish, show_to_author
from tests.support.pages import ids
from tests.timeline.short_caches import shorten

pytestmark = pytest.mark.django_db

RESTRICTED = ["followers", "mentioned", "circle"]


def fresh(user):
    """As a request reads an account: with its counts and revisions as they are now."""
    return user_by_id(user.pk)


def online(*people):
    for person in people:
        home_timeline(person, Cursor())


@pytest.fixture
def cast(alice, bob, carol):
    """bob follows alice, carol is in her shared circle and follows nobody there any more, dora follows alice too."""
    dora = make_user("dora")
    for one in (carol, dora):
        follow_user(one, alice)
    circle = create_group(Circle, alice, name="Ours", is_shared=True)
    add_members(Circle, alice, circle.pk, [carol.pk])
    unfollow_user(carol, alice)
    deliver()
    people = {"alice": alice, "bob": bob, "carol": carol, "dora": dora}
    online(*people.values())
    return {**people, "circle": circle}


def say(cast, visibility, author="alice"):
    circle = {"circle_id": cast["circle"].pk} if visibility == "circle" else {}
    post = publish(cast[author], "hello @bob", visibility=visibility, **circle)
    deliver()
    return post


TARGETS = {
    "followers": {"alice", "bob", "dora"},
    "mentioned": {"alice", "bob"},
    "circle": {"alice", "carol"},
}
NAMES = ("alice", "bob", "carol", "dora")


@pytest.mark.parametrize("visibility", RESTRICTED)
def test_a_restricted_post_is_in_the_targets_inboxes_and_in_no_home_window(cast, visibility):
    post = say(cast, visibility)
    holders = {name for name in NAMES if INBOX.ids(cast[name].pk) == [post.pk]}
    assert holders == TARGETS[visibility]
    assert [HOME.ids(cast[name].pk) for name in NAMES] == [[]] * 4
    shown = {name for name in NAMES if ids(home_timeline(cast[name], Cursor())) == [post.pk]}
    assert shown == TARGETS[visibility]


@pytest.mark.parametrize("visibility", ["public", "unlisted"])
def test_an_open_post_is_in_no_inbox(cast, visibility):
    post = say(cast, visibility)
    assert [INBOX.ids(cast[name].pk) for name in NAMES] == [[]] * 4
    assert [HOME.ids(cast[name].pk) for name in NAMES] == [[post.pk], [post.pk], [], [post.pk]]


@pytest.mark.parametrize("visibility", RESTRICTED)
def test_it_is_absent_from_the_authors_outbox_for_others(cast, visibility):
    post = say(cast, visibility)
    outsider = make_user()
    for viewer in (None, outsider):
        viewer_id = viewer.pk if viewer else None
        assert (
            ids(
                profile_timeline(
                    fresh(cast["alice"]), viewer, Cursor(), ProfileFilter(replies=True)
                )
            )
            == []
        )
        assert sql.author_ids(cast["alice"].pk, viewer_id, follows=False, cursor=Cursor(), count=9) == []  # fmt: skip
    assert sql.public_ids(Cursor(), 9) == []
    assert outbox.newest_ids_of_followees(cast["bob"].pk, 9) == []
    own = profile_timeline(
        fresh(cast["alice"]), cast["alice"], Cursor(), ProfileFilter(replies=True)
    )
    assert ids(own) == [post.pk]


def test_members_find_it_on_the_profile(cast):
    post = say(cast, "circle")
    found = [
        ids(
            profile_timeline(
                fresh(cast["alice"]), cast[name], Cursor(), ProfileFilter(replies=True)
            )
        )
        for name in NAMES
    ]
    assert found == [[post.pk], [], [post.pk], []]


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("visibility", RESTRICTED)
def test_pushed_and_rebuilt_inboxes_are_equal(cast, visibility):
    for name in NAMES:
        say(cast, visibility)
        say(cast, "public")
    kept = [(HOME.ids(cast[name].pk), INBOX.ids(cast[name].pk)) for name in NAMES]
    timelines().flushdb()
    for name in NAMES:
        assert rebuild_home(cast[name].pk)
        assert rebuild_inbox(cast[name].pk)
    assert [(HOME.ids(cast[name].pk), INBOX.ids(cast[name].pk)) for name in NAMES] == kept


def test_a_members_post_reaches_owner_and_members_who_do_not_follow(cast):
    follow_user(cast["dora"], cast["carol"])  # a follower of the author, but not in the circle
    post = say(cast, "circle", author="carol")
    shown = {name for name in NAMES if ids(home_timeline(cast[name], Cursor())) == [post.pk]}
    assert shown == {"alice", "carol"}


class TestLedger:
    def chunks(self, post):
        rows = FanoutChunk.objects.filter(job=post.pk)
        return list(rows.values_list("first_edge", "last_edge", "expected", "delivered", "dormant"))

    @pytest.mark.parametrize(("visibility", "number"), [("mentioned", 1), ("circle", 1)])
    def test_addressed_posts_are_one_chunk_however_many_follow(
        self, cast, settings, visibility, number
    ):
        settings.FANOUT_CHUNK_SIZE = 1
        assert self.chunks(say(cast, visibility)) == [(0, 0, number, number, 0)]
        assert len(self.chunks(say(cast, "followers"))) == 2  # bob's and dora's

    def test_members_are_those_at_the_time_of_delivery(self, cast):
        circle, bob = cast["circle"], cast["bob"]
        post = publish(cast["alice"], visibility="circle", circle_id=circle.pk)
        remove_members(Circle, cast["alice"], circle.pk, [cast["carol"].pk])
        add_members(Circle, cast["alice"], circle.pk, [bob.pk])
        start_job(post.pk)
        assert (INBOX.ids(bob.pk), INBOX.ids(cast["carol"].pk)) == ([post.pk], [])

    def test_a_circle_deleted_before_the_delivery_owes_nobody(self, cast):
        post = publish(cast["alice"], visibility="circle", circle_id=cast["circle"].pk)
        start_job(post.pk)
        delete_group(Circle, cast["alice"], cast["circle"].pk)
        FanoutChunk.objects.update(state="pending", due_at=timezone.now())
        deliver()
        assert self.chunks(post) == [(0, 0, 0, 0, 0)]

    def test_an_empty_circle_makes_a_job_without_chunks(self, alice):
        online(alice)
        lonely = create_group(Circle, alice, name="Lonely")
        post = delivered(alice, visibility="circle", circle_id=lonely.pk)
        assert self.chunks(post) == []
        assert INBOX.ids(alice.pk) == [post.pk]

    def test_publishing_costs_the_same_for_every_size_of_circle(self, alice):
        """The order of source 003: the post is durable first, then the job is cut, then the inboxes are filled."""
        circle = create_group(Circle, alice, name="Grown")
        counts = []
        for _round in range(2):
            with CaptureQueriesContext(connection) as queries:
                post = publish(alice, visibility="circle", circle_id=circle.pk)
            counts.append(len(queries))
            assert INBOX.ids(alice.pk) == []
            people = [make_user() for _ in range(4)]
            for one in people:
                follow_user(one, alice)
            add_members(Circle, alice, circle.pk, [one.pk for one in people])
        assert counts[0] == counts[1]
        assert not FanoutChunk.objects.filter(job=post.pk).exists()


class TestChanges:
    def test_joining_brings_the_posts_and_leaving_takes_them(self, cast):
        alice, bob, circle = cast["alice"], cast["bob"], cast["circle"]
        old = say(cast, "circle")
        add_members(Circle, alice, circle.pk, [bob.pk])
        deliver()
        assert INBOX.ids(bob.pk) == [old.pk]
        leave_circle(bob, circle.pk)
        assert ids(home_timeline(bob, Cursor())) == []
        deliver()
        assert INBOX.ids(bob.pk) == []

    @pytest.mark.long
    @pytest.mark.parametrize("number", [2, 3, 7])
    def test_a_join_keeps_the_inbox_contiguous(self, cast, monkeypatch, number):
        short = replace(INBOX, length=4)
        shorten(monkeypatch, INBOX=short)
        bob = cast["bob"]
        before = say(cast, "followers")
        online(bob)
        posts = [say(cast, "circle").pk for _ in range(number)]
        add_members(Circle, cast["alice"], cast["circle"].pk, [bob.pk])
        deliver()
        expected = [*posts[::-1], before.pk]
        assert short.ids(bob.pk) == expected[:4]
        assert walk(bob, 2) == walk_up(bob, 2) == expected

    def test_events_in_the_wrong_order_leave_no_hole(self, cast):
        alice, carol, circle = cast["alice"], cast["carol"], cast["circle"]
        post = say(cast, "circle")
        remove_members(Circle, alice, circle.pk, [carol.pk])
        follow_user(carol, alice)
        add_members(Circle, alice, circle.pk, [carol.pk])
        circle_changed(carol.pk, circle.pk)
        circle_changed(carol.pk, circle.pk)
        assert INBOX.ids(carol.pk) == [post.pk]

    def test_a_join_during_a_rebuild_is_not_lost(self, cast):
        alice, bob, circle = cast["alice"], cast["bob"], cast["circle"]
        post = say(cast, "circle")
        INBOX.drop(bob.pk)
        token = INBOX.begin(bob.pk)
        assert token is not None
        add_members(Circle, alice, circle.pk, [bob.pk])
        deliver()
        assert INBOX.swap(bob.pk, token, [], complete=True)
        assert INBOX.ids(bob.pk) == [post.pk]

    def test_an_unfollow_keeps_what_came_by_a_circle(self, cast):
        alice, bob, circle = cast["alice"], cast["bob"], cast["circle"]
        add_members(Circle, alice, circle.pk, [bob.pk])
        to_circle, to_followers = say(cast, "circle"), say(cast, "followers")
        assert INBOX.ids(bob.pk) == [to_followers.pk, to_circle.pk]
        unfollow_user(bob, alice)
        assert ids(home_timeline(bob, Cursor())) == [to_circle.pk]
        deliver()
        assert INBOX.ids(bob.pk) == [to_circle.pk]

    def test_a_follow_brings_restricted_posts_into_the_inbox_and_open_ones_home(self, cast):
        posts = [say(cast, visibility) for visibility in ("public", "followers", "mentioned")]
        carol = cast["carol"]
        follow_user(carol, cast["alice"])
        deliver()
        assert (HOME.ids(carol.pk), INBOX.ids(carol.pk)) == ([posts[0].pk], [posts[1].pk])

    def test_authors_keep_their_posts_when_they_leave(self, cast):
        carol = cast["carol"]
        post = say(cast, "circle", author="carol")
        leave_circle(carol, cast["circle"].pk)
        deliver()
        assert INBOX.ids(carol.pk) == [post.pk]
        INBOX.drop(carol.pk)
        assert ids(home_timeline(carol, Cursor())) == [post.pk]

    def test_an_edit_that_names_more_delivers_to_them(self, cast):
        post = say(cast, "mentioned")
        edit_post(cast["alice"], post.pk, body="hello @bob @dora @carol")
        deliver()
        # carol does not follow: she may open it, and it is not in her home
        found = [INBOX.ids(cast[name].pk) for name in NAMES]
        assert found == [[post.pk], [post.pk], [], [post.pk]]

    def test_an_edit_of_a_circle_post_goes_to_nobody_new(self, cast):
        post = say(cast, "circle")
        edit_post(cast["alice"], post.pk, body="hello @dora")
        deliver()
        assert INBOX.ids(cast["dora"].pk) == []

    def test_late_deliveries_of_a_deleted_post_come_to_nothing(self, cast):
        post = publish(cast["alice"], visibility="circle", circle_id=cast["circle"].pk)
        delete_post(post.pk, by=cast["alice"])
        deliver()
        INBOX.push([cast["carol"].pk], [post.pk])
        assert INBOX.ids(cast["carol"].pk) == []

    def test_an_offline_reader_is_left_alone(self, cast):
        INBOX.drop(cast["carol"].pk)
        say(cast, "circle")
        circle_changed(cast["carol"].pk, cast["circle"].pk)
        assert not INBOX.exists(cast["carol"].pk)


class TestReading:
    def test_both_windows_are_one_round_trip_and_no_query(
        self, cast, django_assert_num_queries, monkeypatch
    ):
        posts = [say(cast, visibility).pk for visibility in ("public", "followers", "public")]
        trips = []

        def counted(client, commands):
            trips.append(commands)
            return redis_clients.execute(client, commands)

        monkeypatch.setattr(home_window, "execute", counted)
        with django_assert_num_queries(0):
            assert home.candidates(cast["bob"])(Cursor(), 21).ids == posts[::-1]
        assert len(trips) == 1

    @pytest.mark.parametrize("number", [1, 5])
    def test_a_warm_page_of_circle_posts_costs_the_same_for_one_and_five(
        self, alice, bob, number, django_assert_num_queries
    ):
        for n in range(number):
            circle = create_group(Circle, alice, name=f"circle {n}")
            add_members(Circle, alice, circle.pk, [bob.pk])
            publish(alice, visibility="circle", circle_id=circle.pk)
        deliver()
        viewer = user_by_id(bob.pk)
        home_timeline(viewer, Cursor())
        # what they are, who belongs, how they stand; contents; likes
        with django_assert_num_queries(5):
            assert len(home_timeline(viewer, Cursor()).items) == number

    @pytest.mark.parametrize("missing", ["home", "inbox", "both"])
    def test_a_missing_window_is_rebuilt_and_the_other_left(self, cast, missing, monkeypatch):
        posts = [say(cast, visibility).pk for visibility in ("public", "followers")][::-1]
        bob, made = cast["bob"], []
        for name in ("rebuild_home", "rebuild_inbox"):
            rebuild = getattr(home, name)

            def noted(pk, name=name, rebuild=rebuild):
                made.append(name)
                return rebuild(pk)

            monkeypatch.setattr(home, name, noted)
        for windows, name in ((HOME, "home"), (INBOX, "inbox")):
            if missing in {name, "both"}:
                windows.drop(bob.pk)
        assert ids(home_timeline(bob, Cursor())) == posts
        both = ["rebuild_home", "rebuild_inbox"]
        assert made == (both if missing == "both" else [f"rebuild_{missing}"])
        assert HOME.exists(bob.pk)
        assert INBOX.exists(bob.pk)

    @pytest.mark.parametrize("windows", [HOME, INBOX])
    def test_without_one_window_the_page_comes_from_sql(self, cast, windows, monkeypatch):
        posts = [say(cast, visibility).pk for visibility in ("public", "followers", "public")]
        monkeypatch.setattr("apps.timeline.sources.home_cache.WAIT_SECONDS", 0.05)
        windows.drop(cast["bob"].pk)
        windows.begin(cast["bob"].pk)  # by a builder that has died
        assert ids(home_timeline(cast["bob"], Cursor())) == posts[::-1]
        up = home_timeline(cast["bob"], Cursor(min_id=0, limit=2))
        assert ids(up) == posts[:2][::-1]
        assert not windows.exists(cast["bob"].pk)

    def test_without_redis_the_page_comes_from_sql(self, cast, monkeypatch):
        posts = [say(cast, visibility) for visibility in ("public", "followers", "mentioned")]

        def broken(*_args, **_kwargs):
            raise RedisError

        monkeypatch.setattr("redis.connection.ConnectionPool.get_connection", broken)
        monkeypatch.setattr("redis.connection.BlockingConnectionPool.get_connection", broken)
        assert ids(home_timeline(cast["bob"], Cursor())) == [post.pk for post in posts[::-1]]
        show_to_author(posts[0])  # no error

    @pytest.mark.long
    @pytest.mark.parametrize(("home_length", "inbox_length"), [(3, 9), (9, 3), (3, 3), (4, 1)])
    def test_walks_are_exact_below_both_ends(self, cast, monkeypatch, home_length, inbox_length):
        shorten(
            monkeypatch,
            HOME=replace(HOME, length=home_length),
            INBOX=replace(INBOX, length=inbox_length),
        )
        timelines().flushdb()
        online(cast["bob"])
        pattern = "public followers followers public public public mentioned followers public"
        expected = [say(cast, visibility).pk for visibility in pattern.split()][::-1]
        for limit in (1, 2, 5):
            assert walk(cast["bob"], limit) == expected
            assert walk_up(cast["bob"], limit) == expected
        assert ids(home_timeline(cast["bob"], Cursor(since_id=expected[4]))) == expected[:4]

    def test_news_of_both_kinds_are_counted(self, cast):
        first = say(cast, "public")
        say(cast, "followers")
        say(cast, "public")
        assert newer_candidate_count(cast["bob"], first.pk) == 2
        assert newer_candidate_count(cast["bob"], first.pk, maximum=1) == 1

    def test_authors_see_their_restricted_post_before_any_worker_ran(self, cast):
        post = publish(cast["alice"], visibility="circle", circle_id=cast["circle"].pk)
        show_to_author(post)
        assert ids(home_timeline(cast["alice"], Cursor())) == [post.pk]
        assert HOME.ids(cast["alice"].pk) == []

    def test_a_snapshot_that_fails_gives_the_inboxs_lock_back(self, cast, monkeypatch):
        def broken(*_args):
            raise DatabaseError("no")

        INBOX.drop(cast["bob"].pk)
        with monkeypatch.context() as patch:
            patch.setattr("apps.timeline.sources.home_cache.sql.restricted_home_ids", broken)
            with pytest.raises(DatabaseError):
                home_timeline(cast["bob"], Cursor())
        assert rebuild_inbox(cast["bob"].pk)

    @pytest.mark.slow
    def test_both_windows_are_the_whole_pull(self, cast):
        for visibility in ("public", "circle", "followers", "mentioned", "unlisted"):
            say(cast, visibility)
        for name in NAMES:
            reader = cast[name].pk
            opened = outbox.newest_ids_of_followees(reader, 50)
            restricted = sql.restricted_home_ids(reader, Cursor(), 50)
            assert set(opened).isdisjoint(restricted)
            assert sql.home_ids(reader, Cursor(), 50) == sorted([*opened, *restricted])[::-1]


def walk(viewer, limit):
    return pages.walk(partial(home_timeline, viewer), limit)


def walk_up(viewer, limit):
    return pages.walk_up(partial(home_timeline, viewer), limit)


def test_a_bulk_load_drops_both_windows(cast):
    bob = cast["bob"].pk
    drop_home_caches({"user_ids": [bob]})
    assert not HOME.exists(bob)
    assert not INBOX.exists(bob)
