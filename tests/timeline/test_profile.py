import random
from dataclasses import replace

import pytest
from django.utils import timezone
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.errors import NotFound
from apps.graph.actions import block_user, follow_user, mute_user
from apps.notifications.queries import unread_expression
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.cache import CACHED_POSTS
from apps.posts.models import Post
from apps.posts.recent import NO_RECENT
from apps.timeline import profile
from apps.timeline.profile import ProfileFilter, profile_head, profile_ids, profile_timeline
from apps.timeline.sources import outbox
from apps.web.hooks import PROFILE_LINKS
from tests.support import pages
from tests.support.factories import make_user, publish, repost
from tests.timeline.outboxes import fresh, inside, truth, write

pytestmark = pytest.mark.django_db


def ids(author, viewer, *, replies=True, **cursor):
    page = profile_timeline(author, viewer, Cursor(**cursor), ProfileFilter(replies=replies))
    return [item.id for item in page.items]


def walk(author, viewer, limit):
    everything = ProfileFilter(replies=True)
    return pages.walk(lambda cursor: profile_timeline(author, viewer, cursor, everything), limit)


def test_each_viewer_sees_of_an_author_what_is_for_them(alice, bob, carol):
    public = publish(alice).pk
    unlisted = publish(alice, visibility="unlisted").pk
    followers = publish(alice, visibility="followers").pk
    named = publish(alice, "hello @carol", visibility="mentioned").pk
    assert ids(alice, None) == [unlisted, public]
    assert ids(alice, bob) == [followers, unlisted, public]
    assert ids(alice, carol) == [named, unlisted, public]
    assert ids(alice, alice) == [named, followers, unlisted, public]


def test_replies_and_reposts(alice, bob):
    own, theirs = publish(alice).pk, publish(bob).pk
    answer = publish(alice, reply_to_id=theirs).pk
    shared = repost(alice, theirs).pk
    assert ids(alice, None) == [shared, answer, own]
    assert ids(alice, None, replies=False) == [shared, own]


def test_a_mute_does_not_empty_the_profile_but_a_block_does(alice, bob):
    post = publish(alice).pk
    mute_user(bob, alice)
    assert ids(alice, bob) == [post]
    block_user(alice, bob)
    assert ids(alice, bob) == ids(bob, alice) == []


def test_a_repost_goes_with_what_it_shares(alice, bob):
    source = publish(bob)
    repost(alice, source.pk)
    delete_post(source.pk, by=bob)
    assert ids(alice, None) == []


@pytest.mark.parametrize("limit", [3, 7, 8])
def test_a_profile_is_walked_without_loss_past_what_is_hidden(alice, carol, limit):
    posts = [
        publish(alice, f"post {n}", visibility=("public", "followers")[n % 2]).pk for n in range(14)
    ]
    assert walk(alice, carol, limit) == posts[::2][::-1]
    assert walk(alice, alice, limit) == posts[::-1]


@pytest.mark.parametrize("number", [1, 5])
def test_a_page_costs_the_same_queries_for_one_post_and_five(
    alice, bob, number, django_assert_num_queries
):
    for _ in range(number):
        publish(alice)
    author, viewer = fresh(alice), fresh(bob)
    ids(author, viewer)
    # the outbox, since nothing is cached before the commit; likes and bookmarks
    with django_assert_num_queries(2):
        assert len(ids(author, viewer)) == number


@pytest.mark.parametrize("number", [1, 5])
def test_the_ids_of_a_warm_page_cost_a_query_only_where_restricted_posts_may_be(
    transactional_db, django_assert_num_queries, number
):
    alice, bob = make_user("alice"), make_user("bob")
    follow_user(bob, alice)
    write(alice, number)

    def cost(viewer, queries):
        author = fresh(alice)
        with django_assert_num_queries(queries):
            return profile_ids(author, viewer, Cursor(), 21, replies=True)

    profile_ids(fresh(alice), None, Cursor(), 21, replies=True)
    everything = truth([alice.pk])
    assert cost(None, 0) == cost(bob.pk, 0) == cost(alice.pk, 0) == everything
    hidden = publish(alice, visibility="followers").pk
    assert cost(None, 0) == everything
    assert cost(bob.pk, 1) == [hidden, *everything]
    assert cost(alice.pk, 1) == [hidden, *everything]


@pytest.mark.slow
def test_restricted_posts_stand_in_their_places(alice, bob, carol):
    """Among many public ones, above, between and below, in pages of every length and both directions."""
    posts = []
    for number in range(24):
        visibility = "followers" if number in {0, 1, 7, 12, 13, 14, 22, 23} else "public"
        posts.append(publish(alice, f"post {number}", visibility=visibility))
    mine = [post.pk for post in posts][::-1]
    public = [post.pk for post in posts if post.visibility == "public"][::-1]
    author = fresh(alice)
    for viewer, wanted in ((bob, mine), (alice, mine), (carol, public), (None, public)):
        viewer_id = viewer and viewer.pk
        for count in (1, 3, 21, 100):
            for cursor in (Cursor(), Cursor(min_id=0)):
                assert whole(author, viewer_id, cursor, count) == inside(wanted, cursor, 100)


def whole(author, viewer_id, cursor, count):
    found = []
    while page := profile_ids(author, viewer_id, cursor, count, replies=True):
        found += page
        cursor = cursor.beyond(page[-1])
    return found


@pytest.mark.long
@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("replies", [True, False])
def test_a_long_profile_is_walked_over_both_borders_while_posts_are_deleted(
    transactional_db, ascending, replies
):
    """2,500 posts: 200 in the short vector, 2,000 in the long one, the rest in PostgreSQL (source 002)."""
    alice, bob = make_user("alice"), make_user("bob")
    follow_user(bob, alice)
    write(alice, 1_250, reply_to=publish(bob))
    for number in range(3):
        write(alice, 1, start=1_250 + number, visibility="followers")
    write(alice, 1_250, start=1_300)
    chance = random.Random(1)
    posts = Post.objects.filter(author=alice).order_by("pk" if ascending else "-pk")
    left = [post.pk for post in posts if replies or post.reply_to_id is None]
    seen, cursor = [], Cursor(limit=90, min_id=0 if ascending else None)
    while True:
        page = profile_timeline(fresh(alice), bob, cursor, ProfileFilter(replies=replies))
        new = [item.id for item in page.items]
        assert new == inside(left, cursor, 90)[:: -1 if ascending else 1]
        if not new:
            break
        seen += new
        cursor = replace(cursor, min_id=new[0]) if ascending else replace(cursor, max_id=new[-1])
        victims = {chance.choice(left), chance.choice(left[:250]), chance.choice(left[-100:])}
        for victim in victims:  # of what was read and of what was not
            outbox.remove(delete_post(victim, by=alice))
            left.remove(victim)
    assert len(seen) > 1_500


def test_a_visitor_reads_the_last_two_weeks_with_their_contents_and_the_outbox_below(
    alice, monkeypatch
):
    """Contents that come with the ids are not asked for again, unless they are of another version."""
    posts = [publish(alice, f"Number {number}") for number in range(6)]
    edit_post(alice, posts[5].pk, body="Edited.")
    delete_post(posts[4].pk, by=alice)
    asked = []
    names = type(CACHED_POSTS).names

    def counted(self, keys, cache):
        if self is CACHED_POSTS:
            asked.extend(keys)
        return names(self, keys, cache)

    author = user_by_id(alice.pk)
    profile_timeline(author, None, Cursor(), ProfileFilter(replies=True))  # the weeks are built
    monkeypatch.setattr(type(CACHED_POSTS), "names", counted)
    page = profile_timeline(author, None, Cursor(limit=3), ProfileFilter(replies=True))
    assert [item.post.body for item in page.items] == ["Edited.", "Number 3", "Number 2"]
    assert asked == []
    monkeypatch.setattr("apps.timeline.profile.recent_posts", lambda *_args, **_options: NO_RECENT)
    below = profile_timeline(author, None, Cursor(limit=3), ProfileFilter(replies=True))
    assert [item.post.body for item in below.items] == ["Edited.", "Number 3", "Number 2"]
    assert len(asked) > 0


def test_an_account_that_was_read_before_its_author_published_hides_nothing(transactional_db):
    alice = make_user("alice")
    hidden = [publish(alice, visibility="followers").pk for _ in range(2)]
    write(alice, 8)
    author = fresh(alice)  # ten posts
    for _ in range(2):
        publish(alice)  # now ten public ones
    profile_ids(fresh(alice), None, Cursor(), 21, replies=True)
    assert set(hidden) < set(profile_ids(author, alice.pk, Cursor(), 21, replies=True))


def test_a_known_handle_costs_no_query_of_its_own(alice, bob, django_assert_num_queries):
    profile_head(alice.handle, bob.pk)
    with django_assert_num_queries(1):
        assert profile_head(alice.handle.upper(), bob.pk).owner == alice


def test_a_handle_that_another_account_has_by_now_leads_to_that_one(alice, bob, carol):
    profile_head(alice.handle, bob.pk)
    User.objects.filter(pk=alice.pk).update(handle="alicia")
    with pytest.raises(NotFound):
        profile_head("alice", bob.pk)
    User.objects.filter(pk=carol.pk).update(handle="alice")
    assert profile_head("alice", bob.pk).owner == carol
    User.objects.filter(pk=carol.pk).update(suspended_at=timezone.now())
    with pytest.raises(NotFound):
        profile_head("alice", bob.pk)


def test_psycopg_remembers_the_statement_of_a_profile(alice, bob, monkeypatch):
    """It divides a longer one into its parts at every page, which takes a twentieth of the page."""
    seen = []

    def read(sql, _values):
        seen.append(sql)
        return (), (), [((), None, [])]

    monkeypatch.setattr(profile, "rows_of_each", read)
    with pytest.raises(NotFound):
        profile_head(
            alice.handle,
            bob.pk,
            badge=unread_expression(bob),
            facts=[link.shown for link in PROFILE_LINKS],
        )
    assert len(seen[0]) <= MAX_CACHED_STATEMENT_LENGTH
