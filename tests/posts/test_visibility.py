"""One table of visibilities: in Python, in SQL and for deliveries it says what the oracle says of every reader."""

import runpy
from enum import StrEnum

import pytest

from apps.audit.oracle import Oracle
from apps.graph.actions import follow_user
from apps.graph.groups.actions import add_members, delete_group
from apps.graph.models import Circle
from apps.posts import models as posts_models
from apps.posts import visibility
from apps.posts.models import OPEN, Post, Visibility
from apps.posts.queries import visible_posts
from apps.posts.visibility import (
    ADDRESSED,
    FOLLOWED_BACK,
    FOLLOWS,
    IN_CIRCLE,
    MENTIONED,
    RESTRICTED_BY_FOLLOW,
    addressees,
    depending_on,
    facts_about,
    is_open,
    may_see,
    narrowest,
    readers_among,
    visible_to,
    where_visible,
)
from apps.sql import rows_of
from tests.support.factories import publish
from tests.support.standings import every_standing

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(alice):
    return every_standing(alice)


@pytest.fixture
def oracle(world):
    return Oracle()


def allowed(oracle, world, reader):
    return world.seen({one.pk for one in world.posts.values() if oracle.may_see(reader.pk, one.pk)})


def selected(world, reader, condition):
    found = rows_of(f"SELECT id FROM posts_post WHERE {condition}", {"reader": reader.pk})
    return world.seen({pk for (pk,) in found})


@pytest.mark.slow
def test_what_a_reader_may_see_is_what_the_oracle_says(world, oracle):
    posts = list(world.posts.values())
    for reader in [*world.readers, world.author]:
        facts = facts_about(reader.pk, posts)
        seen = {post.visibility for post in posts if may_see(post, facts)}
        # blocks hide open posts, too: by relations, before anything restricted is asked about
        if facts.relations.severed:
            seen -= set(OPEN)
        assert seen == allowed(oracle, world, reader), reader.handle


@pytest.mark.slow
def test_the_gate_lets_through_what_the_oracle_says(world, oracle):
    ids = [post.pk for post in world.posts.values()]
    for reader in [*world.readers, world.author]:
        seen = world.seen(visible_posts(reader.pk, ids).posts)
        assert seen == allowed(oracle, world, reader), reader.handle


def test_sql_finds_what_the_oracle_says(world, oracle):
    """It does not ask about blocks."""
    for reader in [*world.unblocked(), world.author]:
        expected = allowed(oracle, world, reader)
        assert selected(world, reader, where_visible()) == expected, reader.handle
        visible = Post.objects.filter(
            visible_to(reader.pk, follows=follows(world, reader), author_id=world.author.pk)
        )
        if reader != world.author:  # whose profile asks for nothing
            assert world.seen(visible.values_list("pk", flat=True)) == expected, reader.handle


def follows(world, reader):
    return "follows" in world.ways.get(reader.pk, ())


def test_sql_takes_the_word_of_who_knows_who_follows(world, oracle):
    for reader in world.unblocked():
        known = where_visible(follows="true" if follows(world, reader) else "false")
        assert "graph_follower" not in known
        assert selected(world, reader, known) == allowed(oracle, world, reader), world.of(reader)


def test_sql_of_some_visibilities_finds_these_and_all_of_ones_own(world, oracle):
    some = {*RESTRICTED_BY_FOLLOW}
    assert some == {"followers", "friends", "mentioned"}
    for reader in world.unblocked():
        seen = selected(world, reader, where_visible(among=RESTRICTED_BY_FOLLOW))
        assert seen == allowed(oracle, world, reader) & some, world.of(reader)
    own = selected(world, world.author, where_visible(among=RESTRICTED_BY_FOLLOW))
    assert own == set(Visibility.values)


def test_another_name_of_the_table_is_taken(world):
    reader = world.unblocked()[0]
    found = rows_of(
        f"SELECT visibility FROM posts_post p WHERE {where_visible('p')}", {"reader": reader.pk}
    )
    assert {name for (name,) in found} == selected(world, reader, where_visible())
    assert selected(world, reader, is_open()) == set(OPEN)


def test_an_audience_is_who_has_the_post_at_home(world, oracle):
    people = [*(one.pk for one in world.readers), world.author.pk]
    for name, post in world.posts.items():
        at_home = {pk for pk in people if oracle.is_home(pk, post.pk)}
        assert readers_among(post, people) == at_home, name
        assert readers_among(post, people[:7]) == at_home & set(people[:7])
        if name in ADDRESSED:
            unblocked = {one.pk for one in world.unblocked()}
            assert addressees(post) & unblocked == at_home & unblocked, name
            assert world.author.pk not in addressees(post)


@pytest.mark.parametrize("name", ["public", "unlisted", "followers"])
def test_what_goes_to_all_followers_has_no_list_of_addressees(alice, name):
    with pytest.raises(ValueError, match="goes to all followers"):
        addressees(publish(alice, visibility=name))


def test_visitors_see_what_is_open(world):
    facts = facts_about(None, world.posts.values())
    seen = {name for name, post in world.posts.items() if may_see(post, facts)}
    assert seen == set(OPEN)
    visible = Post.objects.filter(visible_to(None, follows=False, author_id=0)).values_list(
        "pk", flat=True
    )
    assert world.seen(visible) == set(OPEN)


def test_nothing_is_asked_about_open_posts(world, django_assert_num_queries):
    posts = [world.posts[name] for name in OPEN]
    with django_assert_num_queries(0):
        facts_about(world.readers[0].pk, posts)


def test_a_circle_that_is_deleted_admits_only_the_author(world):
    post = world.posts["circle"]
    delete_group(Circle, world.author, post.circle_id)
    for reader in world.unblocked():
        assert not may_see(post, facts_about(reader.pk, [post]))
        assert "circle" not in selected(world, reader, where_visible())
    assert readers_among(post, [one.pk for one in world.readers]) == set()
    assert may_see(post, facts_about(world.author.pk, [post]))


def test_an_owner_sees_what_members_post_to_the_circle(bob, carol, world):
    """A circle is of its owner, not of who posts there."""
    circle_id = world.posts["circle"].circle_id
    follow_user(carol, world.author)
    add_members(Circle, world.author, circle_id, [carol.pk])
    follow_user(bob, carol)
    post = publish(carol, visibility="circle", circle_id=circle_id)
    assert may_see(post, facts_about(world.author.pk, [post]))
    assert readers_among(post, [world.author.pk, bob.pk]) == {world.author.pk}
    assert not may_see(post, facts_about(bob.pk, [post]))


def test_what_depends_on_a_fact():
    assert depending_on(FOLLOWS) == ("followers", "friends")
    assert depending_on(FOLLOWED_BACK) == ("friends",)
    assert depending_on(MENTIONED) == ("followers", "mentioned")
    assert depending_on(IN_CIRCLE) == ("circle",)


def test_the_narrowest_is_whom_the_fewest_see():
    assert narrowest("public", "followers") == narrowest("followers", "unlisted") == "followers"
    assert narrowest("mentioned", "friends") == "mentioned"
    assert narrowest("circle", "circle") == "circle"


def test_nothing_starts_with_a_visibility_that_has_no_rule(monkeypatch):
    class More(StrEnum):
        PUBLIC, UNLISTED, FOLLOWERS = "public", "unlisted", "followers"
        FRIENDS, MENTIONED, CIRCLE = "friends", "mentioned", "circle"
        SECRET = "secret"

    monkeypatch.setattr(posts_models, "Visibility", More)
    with pytest.raises(TypeError, match="secret"):
        runpy.run_path(visibility.__file__)
