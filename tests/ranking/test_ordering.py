"""Orders stay while somebody reads: nothing twice, nothing left out, nothing that may not be seen."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.engagement.actions import like_post
from apps.errors import Invalid, NotFound
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.ranking import algorithms, ordering
from apps.ranking.models import RankSession
from apps.ranking.ordering import (
    algorithm_of,
    choose_algorithm,
    newest_scores,
    ranked_page,
)
from apps.ranking.scoring import discussed, light, reactions_of
from apps.timeline.home import home_timeline
from tests.support.factories import deliver, delivered, make_user, publish, repost

pytestmark = pytest.mark.django_db
ALGORITHMS = ["light", "discussed", "heavy", "chronological"]


def walk(viewer, *, limit=2, between=lambda: None):
    """The ids of all pages of one order."""
    page = ranked_page(viewer, limit=limit)
    ids = [item.id for item in page.items]
    while page.after is not None:
        between()
        page = ranked_page(viewer, session_id=page.session, after=page.after, limit=limit)
        ids += [item.id for item in page.items]
    return ids


@pytest.fixture
def posts(alice, bob, carol):
    """Seven posts on Bob's home page."""
    follow_user(bob, carol)
    made = [publish(author, f"post {number}") for number in range(3) for author in (alice, carol)]
    made.append(publish(bob, "mine"))
    deliver()
    return made


def test_an_order_has_what_the_home_page_has(bob, posts):
    home = {item.id for item in home_timeline(bob, Cursor()).items}
    ids = walk(bob)
    assert set(ids) == home == {post.pk for post in posts}
    assert len(ids) == len(home)


@pytest.mark.long
@pytest.mark.parametrize("name", ALGORITHMS)
def test_pages_neither_repeat_nor_omit_while_everything_changes(alice, bob, carol, posts, name):
    choose_algorithm(bob, name)
    before = {post.pk for post in posts}

    reader = make_user()

    def happens():
        like_post(reader, posts[0].pk)
        delivered(alice, "news")

    ids = walk(bob, between=happens)
    assert (set(ids), len(ids)) == (before, len(before))


def test_what_may_not_be_seen_any_more_is_left_out_at_the_next_page(alice, bob, carol, posts):
    choose_algorithm(bob, "discussed")
    page = ranked_page(bob, limit=1)
    shown = page.items[0].id
    rest = {post.pk for post in posts} - {shown}
    gone = next(post for post in posts if post.author == carol and post.pk != shown)
    delete_post(gone.pk, by=carol)
    mute_user(bob, alice)
    ids = set()
    while page.after is not None:
        page = ranked_page(bob, session_id=page.session, after=page.after, limit=2)
        ids |= {item.id for item in page.items}
    of_alice = {post.pk for post in posts if post.author == alice}
    assert ids == rest - of_alice - {gone.pk}


@pytest.mark.slow
@pytest.mark.parametrize("act", [unfollow_user, block_user])
def test_whoever_is_not_followed_any_more_is_gone(alice, bob, posts, act):
    page = ranked_page(bob, limit=1)
    act(bob, alice)
    later = ranked_page(bob, session_id=page.session, after=page.after, limit=40)
    assert alice.pk not in {item.author.pk for item in later.items}


def test_a_page_is_filled_up_behind_what_is_gone(alice, bob, carol, posts):
    page = ranked_page(bob, limit=1)
    mute_user(bob, alice)
    mine = [post for post in posts if post.author != alice and post.pk != page.items[0].id]
    later = ranked_page(bob, session_id=page.session, after=page.after, limit=len(mine))
    assert {item.id for item in later.items} == {post.pk for post in mine}


def test_a_page_behind_many_that_are_gone_takes_few_hydrations(alice, bob, monkeypatch):
    choose_algorithm(bob, "chronological")
    posts = [publish(alice, f"post {number}").pk for number in range(17)]
    deliver()
    page = ranked_page(bob, limit=1)
    assert [item.id for item in page.items] == posts[-1:]
    for post_id in posts[4:-1]:
        delete_post(post_id, by=alice)
    rounds = []
    monkeypatch.setattr(
        ordering, "items_of", lambda *asked: rounds.append(asked) or algorithms.items_of(*asked)
    )
    found = []
    while page.after is not None:
        page = ranked_page(bob, session_id=page.session, after=page.after, limit=1)
        found.append([item.id for item in page.items])
    assert found == [[post_id] for post_id in reversed(posts[:4])]
    assert len(rounds) < 10


@pytest.mark.parametrize("name", ["discussed", "chronological"])
def test_the_end_says_where_the_home_page_goes_on(bob, posts, settings, name):
    settings.RANK_CANDIDATES = 4
    choose_algorithm(bob, name)
    page = ranked_page(bob, limit=40)
    assert page.after is None
    assert (
        page.older is not None
    )  # or the home page would be read from its beginning, and lack nothing either
    below = home_timeline(bob, Cursor(max_id=page.older)).items
    assert sorted(item.id for item in [*page.items, *below]) == sorted(post.pk for post in posts)


def test_several_reposts_of_one_post_are_one(alice, bob, carol):
    follow_user(bob, carol)
    post = publish(alice, "shared")
    repost(carol, post.pk)
    deliver()
    assert len(walk(bob)) == 1


@pytest.mark.slow
def test_an_order_is_its_readers_own_and_not_for_ever(alice, bob, posts):
    page = ranked_page(bob, limit=2)
    with pytest.raises(NotFound):
        ranked_page(alice, session_id=page.session, limit=2)
    with pytest.raises(NotFound):
        ranked_page(bob, session_id=page.session, after=1234567890123456789, limit=2)
    RankSession.objects.update(made_at=timezone.now() - timedelta(days=2))
    assert ordering.purge() == 1
    with pytest.raises(NotFound):
        ranked_page(bob, session_id=page.session, after=page.after, limit=2)


def test_only_the_newest_orders_of_a_reader_are_kept(bob, alice):
    for _ in range(8):
        ordering.begin(bob)
    ordering.begin(alice)
    assert RankSession.objects.filter(viewer=bob).count() == 5
    assert RankSession.objects.filter(viewer=alice).count() == 1


@pytest.mark.slow
def test_the_choice_and_what_the_site_has_no_more(bob, posts, settings):
    assert algorithm_of(bob) is light
    choose_algorithm(bob, "chronological")
    assert choose_algorithm(bob, "discussed") is algorithm_of(bob) is discussed
    with pytest.raises(Invalid):
        choose_algorithm(bob, "best")
    page = ranked_page(bob, limit=1)
    settings.FEED_ALGORITHMS = ["apps.ranking.scoring.light"]
    assert algorithm_of(bob) is light
    with pytest.raises(NotFound):
        ranked_page(bob, session_id=page.session, limit=1)
    assert newest_scores(bob) == {}


@pytest.mark.slow
def test_more_than_one_hydration_of_posts_is_ranked(alice, bob, monkeypatch):
    """The oldest of nine posts is talked about; with hydrations of two it still comes first."""
    monkeypatch.setattr(algorithms, "MAX_IDS", 2)
    made = [publish(alice, f"post {number}") for number in range(9)]
    for _ in range(3):
        like_post(make_user(), made[0].pk)
    deliver()
    choose_algorithm(bob, "discussed")
    page = ranked_page(bob, limit=20)
    assert page.items[0].id == made[0].pk
    assert {item.id for item in page.items} == {post.pk for post in made}


def test_reactions_are_counted_by_author(alice, bob, carol):
    post = publish(alice)
    like_post(bob, post.pk)
    publish(bob, "an answer", reply_to_id=post.pk)
    repost(bob, publish(carol).pk)
    publish(bob, "to myself", reply_to_id=publish(bob).pk)
    assert reactions_of(bob.pk) == {alice.pk: 2, carol.pk: 1}


def test_the_newest_order_says_how_a_post_stands(bob, posts):
    page = ranked_page(bob, limit=1)
    scores = newest_scores(bob)
    assert scores[page.items[0].id] == page.entries[0].scored
    assert set(scores) == {post.pk for post in posts}


@pytest.mark.parametrize("number", [1, 6])
def test_a_page_costs_the_same_queries_whatever_its_length(
    bob, posts, number, django_assert_max_num_queries
):
    session, _read = ordering.begin(bob)
    ranked_page(bob, session_id=session.pk, limit=number)
    with django_assert_max_num_queries(4):
        ranked_page(bob, session_id=session.pk, limit=number)
