import re
from functools import partial
from itertools import product

import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from apps.audit.oracle import Oracle
from apps.graph.actions import follow_user
from apps.graph.groups.actions import create_group
from apps.graph.models import ListMember, RepliesPolicy, UserList
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.models import OPEN
from apps.sql import rows_of
from apps.timeline.sources import sql
from feedcache.ids import MAX_ID
from tests.support.factories import make_user, publish, repost
from tests.support.standings import every_standing

pytestmark = pytest.mark.django_db

BOUNDS = [
    {},
    {"max_id": 3},
    {"since_id": 2},
    {"min_id": 1},
    {"min_id": 1, "max_id": 4},
    {"since_id": 1, "max_id": 4},
]


def expected(stored, cursor, count):
    inside = [one for one in stored if cursor.admits(one)]
    return sorted(inside, reverse=not cursor.ascending)[:count]


def cursor_at(stored, bounds):
    """A cursor whose bounds are positions in a list of ids."""
    return Cursor(**{name: stored[position] for name, position in bounds.items()})


def test_every_source_keeps_to_bounds_order_and_count(alice, bob, subtests):
    root = publish(alice)
    stored = [publish(alice, reply_to_id=root.pk).pk for _ in range(6)]
    everything = [root.pk, *stored]
    for bounds, count in product(BOUNDS, (1, 2, 20)):
        with subtests.test(bounds=bounds, count=count):
            cursor = cursor_at(stored, bounds)
            wanted = expected(everything, cursor, count)
            own = {"follows": False, "cursor": cursor, "count": count}
            assert sql.home_ids(bob.pk, cursor, count) == wanted
            assert sql.public_ids(cursor, count) == wanted
            assert sql.author_ids(alice.pk, None, **own) == wanted


@pytest.mark.parametrize("bound", [0, MAX_ID])
def test_the_outermost_bounds_are_no_error(alice, bound):
    post = publish(alice).pk
    for cursor in (Cursor(max_id=bound), Cursor(since_id=bound), Cursor(min_id=bound)):
        inside = [post] if cursor.admits(post) else []
        assert sql.home_ids(alice.pk, cursor, 5) == sql.public_ids(cursor, 5) == inside


def test_home_is_followees_and_oneself_without_what_is_for_others(alice, bob, carol):
    own, stranger = publish(bob), publish(carol)
    posts = {name: publish(alice, "hello @bob" if name == "named" else "hello",
                           visibility="mentioned" if name in {"named", "private"} else name).pk
             for name in ("public", "unlisted", "followers", "named", "private")}  # fmt: skip
    deleted = publish(alice)
    delete_post(deleted.pk, by=alice)
    found = set(sql.home_ids(bob.pk, Cursor(), 50))
    assert found == {own.pk, *posts.values()} - {posts["private"]}
    assert stranger.pk not in found


def test_an_author_shows_each_reader_what_is_for_them(alice, bob, carol):
    posts = {
        "public": publish(alice).pk,
        "unlisted": publish(alice, visibility="unlisted").pk,
        "followers": publish(alice, visibility="followers").pk,
        "for carol": publish(alice, "hello @carol", visibility="mentioned").pk,
    }

    def seen_by(reader_id, follows):
        ids = sql.author_ids(alice.pk, reader_id, follows=follows, cursor=Cursor(), count=9)
        return {name for name, post_id in posts.items() if post_id in ids}

    assert seen_by(None, follows=False) == {"public", "unlisted"}
    assert seen_by(bob.pk, follows=True) == {"public", "unlisted", "followers"}
    assert seen_by(carol.pk, follows=False) == {"public", "unlisted", "for carol"}
    assert seen_by(alice.pk, follows=False) == set(posts)


@pytest.mark.slow
def test_every_source_finds_for_every_reader_what_the_oracle_says(alice):
    world = every_standing(alice)
    oracle, page = Oracle(), (Cursor(), 20)
    for reader in [*world.unblocked(), alice]:
        may_see = {one.pk for one in world.posts.values() if oracle.may_see(reader.pk, one.pk)}
        home = {pk for pk in may_see if oracle.is_home(reader.pk, pk)}
        opened = {post.pk for name, post in world.posts.items() if name in OPEN}
        where = world.of(reader) if reader != alice else "alice"
        assert set(sql.home_ids(reader.pk, *page)) == home, where
        assert set(sql.home_ids_nearby(reader.pk, *page)) == home, where
        assert set(sql.open_home_ids(reader.pk, *page)) == home & opened, where
        assert set(sql.restricted_home_ids(reader.pk, *page)) == home - opened, where
        restricted = sql.restricted_ids(alice.pk, reader.pk, cursor=Cursor(), count=20)
        assert set(restricted) == may_see - opened, where
        follows = "follows" in world.ways.get(reader.pk, ())
        profile = sql.author_ids(alice.pk, reader.pk, follows=follows, cursor=Cursor(), count=20)
        assert set(profile) == may_see, where
        if follows:
            assert set(sql.ids_of(reader.pk, [alice.pk], [], *page)) == home, where
            members = create_group(UserList, reader, name="All")
            ListMember.objects.create(group=members, member=alice)
            listed = sql.list_ids(reader.pk, members.pk, RepliesPolicy.NONE, *page)
            assert set(listed) == may_see, where


QUERIES = {
    "home": sql.home,
    "open": sql.open_home,
    "restricted": sql.restricted_home,
    "nearby": sql.home_nearby,
    "these": sql.of_these,
    "tags": sql.of_followed_tags,
    "authors": sql.open_of_authors,
    "author": sql.restricted_of_author,
} | {f"list, {policy}": partial(sql.of_list, policy) for policy in RepliesPolicy}


@pytest.mark.parametrize("cursor", [Cursor(), Cursor(min_id=1)])
@pytest.mark.parametrize("name", QUERIES)
def test_what_is_sent_can_be_read_and_explained(db, name, cursor):
    """Nothing is left to be put in but the values, and PostgreSQL takes it."""
    text = sql.statement(QUERIES[name], cursor, 20)
    named = {"reader": 1, "author": 1, "list": 1, "authors": [1], "tags": [1], "replies": False}
    assert "{" not in text
    assert set(re.findall(r"%\((\w+)\)s", text)) <= {*named, "newest", "oldest"}
    assert rows_of(f"EXPLAIN {text}", {**named, "newest": 9, "oldest": 0})


def test_what_is_printed_is_what_is_sent(alice):
    with CaptureQueriesContext(connection) as captured:
        sql.home_ids(alice.pk, Cursor(max_id=9), 21)
    text = sql.statement(sql.home, Cursor(max_id=9), 21)
    values = {"reader": alice.pk, "newest": 9, "oldest": 0}
    assert captured.captured_queries[0]["sql"] == text % values


def test_replies_can_be_left_out(alice):
    root = publish(alice).pk
    answer = publish(alice, reply_to_id=root).pk
    assert sql.author_ids(alice.pk, None, follows=False, cursor=Cursor(), count=9) == [
        answer,
        root,
    ]
    assert sql.author_ids(
        alice.pk, None, follows=False, cursor=Cursor(), count=9, only=Q(reply_to=None)
    ) == [root]


def test_reposts_are_not_in_public(alice, bob):
    post = publish(alice).pk
    wrapper = repost(bob, post).pk
    assert sql.public_ids(Cursor(), 9) == [post]
    assert sql.home_ids(bob.pk, Cursor(), 9) == [wrapper, post]


@pytest.mark.parametrize("number", [1, 5])
def test_home_is_one_query_however_many_are_followed(alice, number, django_assert_num_queries):
    reader = make_user()
    for _ in range(number):
        follow_user(reader, author := make_user())
        publish(author)
    with django_assert_num_queries(1):
        assert len(sql.home_ids(reader.pk, Cursor(), 50)) == number
