import json
from functools import partial

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.models import User, UserCounts
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.models import Followee, Follower
from apps.graph.queries import (
    MAX_OTHERS,
    exact_relations,
    follower_chunks,
    follower_ids_between,
    followers_page,
    following_page,
    relations,
)
from apps.pagination import Cursor
from apps.search.suggestions import suggested_people
from tests.support import pages
from tests.support.factories import make_user, publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def crowd(alice):
    """Ten accounts that follow alice, the last one newest."""
    crowd = [make_user() for _ in range(10)]
    for one in crowd:
        follow_user(one, alice)
    return crowd


def walk(query, owner, viewer_id=None, limit=3):
    return pages.walk(partial(query, owner, viewer_id), limit)


def test_relations_name_every_direction(alice, carol):
    others = [make_user() for _ in range(6)]
    followed, follower, blocked, blocker, muted, _stranger = others
    follow_user(alice, followed)
    follow_user(follower, alice)
    block_user(alice, blocked)
    block_user(blocker, alice)
    mute_user(alice, muted)
    found = relations(alice.pk, [other.pk for other in others])
    exact = exact_relations(alice.pk, [other.pk for other in others])
    assert found.following == exact.following == {followed.pk}
    assert exact.followed_by == {follower.pk}
    assert found.blocking == {blocked.pk}
    assert found.blocked_by == {blocker.pk}
    assert found.muting == {muted.pk}
    assert found.severed == {blocked.pk, blocker.pk}


@pytest.mark.parametrize("number", [1, 50])
def test_relations_cost_one_query_however_many_are_asked(alice, number, django_assert_num_queries):
    with django_assert_num_queries(1):
        relations(alice.pk, range(10_000, 10_000 + number), revision=0)
    with django_assert_num_queries(1):
        exact_relations(alice.pk, range(10_000, 10_000 + number))


def test_nobody_and_oneself_have_no_relations(alice, bob, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert exact_relations(None, [alice.pk]).followed_by == set()
        assert relations(None, [alice.pk]).following == set()
        assert relations(alice.pk, [alice.pk]).following == set()
        assert relations(alice.pk, []).following == set()


def test_relations_are_bounded(alice):
    with pytest.raises(ValueError, match="at most"):
        relations(alice.pk, range(10_000, 10_001 + MAX_OTHERS))


def test_exact_relations_ask_about_a_thousand_at_a_time(alice, bob, django_assert_num_queries):
    follow_user(bob, alice)
    others = [*range(10_000, 10_000 + MAX_OTHERS), bob.pk]
    with django_assert_num_queries(2):
        assert exact_relations(alice.pk, others).followed_by == {bob.pk}


@pytest.mark.slow
def test_the_lists_of_people_are_walked_newest_first_without_loss(alice, crowd):
    newest_first = [user.pk for user in reversed(crowd)]
    reader = crowd[0]
    for one in crowd[1:]:
        follow_user(reader, one)
    for limit in (1, 3, 9, 10, 11):
        assert walk(followers_page, alice, limit=limit) == newest_first, limit
        assert walk(following_page, reader, limit=limit) == [*newest_first[:-1], alice.pk], limit


@pytest.mark.slow
def test_the_lists_can_be_walked_upwards(alice, crowd):
    seen: list[int] = []
    cursor = Cursor(min_id=0, limit=4)
    while (page := followers_page(alice, None, cursor)).items:
        seen = [user.pk for user in page.items] + seen
        cursor = Cursor(min_id=page.newer, limit=4)
    assert seen == [user.pk for user in reversed(crowd)]


@pytest.mark.slow
def test_a_cursor_whose_edge_is_gone_still_works(alice, crowd):
    page = followers_page(alice, None, Cursor(limit=5))
    Follower.objects.filter(pk=page.older or 0).delete()
    rest = followers_page(alice, None, Cursor(max_id=page.older, limit=9))
    assert [user.pk for user in rest.items] == [user.pk for user in reversed(crowd[:5])]


@pytest.mark.slow
def test_lists_leave_out_the_suspended_and_those_who_block_the_viewer(alice, crowd, carol):
    User.objects.filter(pk=crowd[0].pk).update(suspended_at=timezone.now())
    block_user(crowd[1], carol)
    block_user(carol, crowd[2])
    assert walk(followers_page, alice, carol.pk) == [user.pk for user in reversed(crowd[3:])]
    assert walk(followers_page, alice) == [user.pk for user in reversed(crowd[1:])]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 10])
def test_a_page_of_people_costs_the_same_queries_for_one_and_ten(
    alice, crowd, carol, limit, django_assert_num_queries
):
    with django_assert_num_queries(3):  # edges, accounts, relations
        assert len(followers_page(alice, carol.pk, Cursor(limit=limit)).items) == limit


def test_chunks_hold_every_follower_once(alice, crowd):
    for size in (1, 3, 9, 10, 11):
        chunks = follower_chunks(alice.pk, size=size)
        readers = [
            reader
            for first, last, _n in chunks
            for reader in follower_ids_between(alice.pk, first_edge=first, last_edge=last)
        ]
        assert sorted(map(int, readers)) == sorted(user.pk for user in crowd), size
        assert sum(number for _first, _last, number in chunks) == 10
        assert all(number <= size for _first, _last, number in chunks)


@pytest.mark.slow
def test_a_list_is_cut_a_bounded_part_at_a_time(alice, crowd):
    parts, after = [], 0
    while part := follower_chunks(alice.pk, size=3, after=after, maximum=2):
        parts, after = [*parts, part], part[-1][1]
    assert [[number for _first, _last, number in part] for part in parts] == [[3, 3], [3, 1]]
    assert [piece for part in parts for piece in part] == follower_chunks(alice.pk, size=3)


def test_nobody_is_no_chunk(carol):
    assert follower_chunks(carol.pk, size=3) == []


def test_suggestions_are_those_who_post_and_are_not_known_yet(alice, carol):
    followed, blocked, blocker, muted, silent, good, better = (make_user() for _ in range(7))
    for author in (alice, followed, blocked, blocker, muted, good, better):
        publish(author)
    follow_user(carol, followed)
    block_user(carol, blocked)
    block_user(blocker, carol)
    mute_user(carol, muted)
    follow_user(silent, better)
    User.objects.filter(pk=alice.pk).update(suspended_at=timezone.now())
    assert suggested_people(carol, limit=10) == [better, good]
    assert suggested_people(carol, limit=1) == [better]


def test_check_mirrors_finds_every_fault(alice, bob, carol, capsys):
    call_command("check_mirrors")
    assert capsys.readouterr().out.split()[0] == "0"
    Followee.objects.create(owner=carol, followee=alice)
    Follower.objects.create(owner=carol, follower=bob)
    UserCounts.objects.filter(pk=alice.pk).update(followers=7)
    with pytest.raises(SystemExit, match="1"):
        call_command("check_mirrors", "--json")
    assert json.loads(capsys.readouterr().out) == {
        "followees without mirror": 1,
        "followers without mirror": 1,
        "wrong following counts": 1,
        "wrong follower counts": 2,
    }
