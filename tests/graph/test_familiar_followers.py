"""Who of those I follow follows them: the same from Redis and from PostgreSQL, and nobody who must stay hidden."""

import random
from dataclasses import replace

import pytest
from django.utils import timezone

from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_by_id
from apps.graph import familiar_followers
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.graph.cache import FOLLOWERS, RELATIONS
from apps.graph.familiar_followers import common_followers
from feedcache.connections import graph
from tests.graph.warm import measured
from tests.support.factories import make_user
from tests.support.faults import dead_redis

LIMIT = 40


pytestmark = pytest.mark.django_db(transaction=True)  # caches are written after commits


@pytest.fixture
def circle(alice, carol):
    """Four whom alice follows; three of them follow carol, the last one is the best known."""
    circle = [make_user() for _ in range(4)]
    for one in circle:
        follow_user(alice, one)
    for one in circle[1:]:
        follow_user(one, carol)
    follow_user(circle[0], circle[3])
    return circle


def shown(viewer, other, *, limit=LIMIT):
    """Handles, as of now."""
    answer = common_followers(user_by_id(viewer.pk), [user_by_id(other.pk)], limit=limit)
    return [user.pk for user in answer[other.pk].people]


def test_the_best_known_come_first(alice, carol, circle):
    first, second, third = circle[1:]
    assert shown(alice, carol) == [third.pk, first.pk, second.pk]


def test_it_is_asked_from_my_side(alice, carol, circle):
    stranger = make_user()
    follow_user(stranger, carol)  # follows carol, but alice does not follow them
    follow_user(alice, carol)
    follow_user(carol, alice)
    assert stranger.pk not in shown(alice, carol)
    assert len(shown(alice, carol)) == 3
    assert shown(carol, alice) == []
    assert shown(alice, alice) == []


@pytest.mark.parametrize("where", ["redis", "postgresql", "too many followers", "follows too many"])
def test_every_way_of_computing_gives_the_same(alice, carol, circle, where, monkeypatch):
    expected = shown(alice, carol)
    if where == "too many followers":
        monkeypatch.setattr(familiar_followers, "FOLLOWERS", replace(FOLLOWERS, maximum=2))
    if where == "follows too many":
        monkeypatch.setattr(familiar_followers, "RELATIONS", replace(RELATIONS, maximum=2))
    if where == "postgresql":
        with dead_redis():
            assert shown(alice, carol) == expected
    assert shown(alice, carol) == expected


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_after_random_follows_it_equals_python(seed, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    dice, people = random.Random(seed), [make_user() for _ in range(6)]
    follows: set[tuple[int, int]] = set()
    for _step in range(60):
        one, other = dice.sample(people, 2)
        if dice.random() < 0.7:
            follow_user(one, other)
            follows.add((one.pk, other.pk))
        else:
            unfollow_user(one, other)
            follows.discard((one.pk, other.pk))
        if dice.random() < 0.1:
            graph().flushall()
        viewer, profile = dice.sample(people, 2)
        expected = {
            person.pk
            for person in people
            if (viewer.pk, person.pk) in follows and (person.pk, profile.pk) in follows
        }
        assert set(shown(viewer, profile)) == expected


def test_a_warm_answer_is_three_round_trips_and_one_statement(alice, carol, circle, monkeypatch):
    viewer, other = user_by_id(alice.pk), user_by_id(carol.pk)
    common_followers(viewer, [other], limit=LIMIT)
    with measured(monkeypatch) as cost:
        assert len(common_followers(viewer, [other], limit=LIMIT)[other.pk].people) == 3
    # the people; how many are in common, which ones, who of them is hidden
    assert (len(cost.statements), cost.trips) == (1, 3)
    assert (cost.commands["sintercard"], cost.commands["sinter"]) == (1, 1)


def test_nothing_in_common_asks_postgresql_nothing(alice, carol, circle, monkeypatch):
    viewer, other = user_by_id(carol.pk), user_by_id(alice.pk)
    common_followers(viewer, [other], limit=LIMIT)
    with measured(monkeypatch) as cost:
        assert common_followers(viewer, [other], limit=LIMIT)[other.pk].people == []
    assert (cost.statements, cost.trips) == ([], 1)


def test_several_accounts_cost_the_same_round_trips(alice, carol, circle, monkeypatch):
    viewer = user_by_id(alice.pk)
    others = [user_by_id(one.pk) for one in (carol, *circle)]
    common_followers(viewer, others, limit=LIMIT)
    with measured(monkeypatch) as cost:
        found = common_followers(viewer, others, limit=LIMIT)
    assert (len(cost.statements), cost.trips) == (1, 3)
    assert [user.pk for user in found[circle[3].pk].people] == [circle[0].pk]
    assert found.keys() == {other.pk for other in others}


def test_changes_count_at_once(alice, carol, circle):
    assert len(shown(alice, carol)) == 3
    unfollow_user(circle[1], carol)
    unfollow_user(alice, circle[2])
    assert shown(alice, carol) == [circle[3].pk]
    follow_user(circle[0], carol)
    assert set(shown(alice, carol)) == {circle[0].pk, circle[3].pk}


@pytest.mark.parametrize("dead", [False, True])
def test_nobody_is_named_who_must_not_be(alice, carol, circle, dead):
    suspended, blocked, other = circle[1:]
    shown(alice, carol)
    User.objects.filter(pk=suspended.pk).update(suspended_at=timezone.now())
    block_user(blocked, alice)
    mute_user(alice, other)
    if dead:
        with dead_redis():
            assert shown(alice, carol) == [other.pk]
    assert shown(alice, carol) == [other.pk]


@pytest.mark.parametrize("side", ["alice", "carol"])
def test_across_a_block_there_is_nobody(alice, carol, circle, side):
    assert shown(alice, carol)
    block_user(*((alice, carol) if side == "alice" else (carol, alice)))
    assert shown(alice, carol) == []


def test_a_planted_friend_who_is_blocked_is_not_named(alice, carol, circle):
    enemy = make_user()
    follow_user(enemy, carol)
    block_user(alice, enemy)
    ids = [one.pk for one in circle] + [enemy.pk]
    RELATIONS.store(
        alice.pk,
        UserCounts.objects.get(pk=alice.pk).graph_revision,
        {
            "following": ids,
            "blocking": [enemy.pk],
            "blocked_by": [],
            "muting": [],
            "hiding_reposts": [],
        },
    )
    assert enemy.pk not in shown(alice, carol)


def test_only_so_many_are_looked_at(alice, carol, circle):
    viewer, other = user_by_id(alice.pk), user_by_id(carol.pk)
    for limit, number, more in ((1, 1, True), (2, 2, True), (3, 3, False), (4, 3, False)):
        found = common_followers(viewer, [other], limit=limit)[other.pk]
        assert (len(found.people), found.more) == (number, more)


def test_of_many_in_common_postgresql_names_some(alice, carol, circle, monkeypatch):
    viewer, other = user_by_id(alice.pk), user_by_id(carol.pk)
    common_followers(viewer, [other], limit=LIMIT)
    monkeypatch.setattr(familiar_followers, "PROBES", 2)
    found = common_followers(viewer, [other], limit=2)[other.pk]
    assert found == familiar_followers.FamiliarFollowers(
        [circle[1]], more=True
    )  # Redis knows that there are more
    with measured(monkeypatch) as cost:
        common_followers(viewer, [other], limit=2)
    assert "sinter" not in cost.commands


def test_postgresql_looks_up_a_bounded_number(alice, carol, circle, monkeypatch):
    monkeypatch.setattr(familiar_followers, "PROBES", 2)
    with dead_redis():
        assert shown(alice, carol) == [circle[1].pk]  # less, never more


def test_who_has_changed_meanwhile_is_answered_from_postgresql(alice, carol, circle):
    viewer, other = user_by_id(alice.pk), user_by_id(carol.pk)
    follow_user(circle[0], carol)  # after the rows were read
    found = common_followers(viewer, [other], limit=LIMIT)[other.pk]
    assert {user.pk for user in found.people} == {one.pk for one in circle}
