import random

import pytest
from django.apps import apps
from django.db import transaction

from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.errors import Invalid, NotAllowed
from apps.events.models import Event
from apps.graph.actions import (
    block_user,
    follow_user,
    mute_user,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.graph.models import Block, Followee, Follower, Mute
from apps.graph.queries import exact_relations, mirror_faults
from tests.support.factories import deliver, make_follow, make_user
from tests.support.threads import together

pytestmark = pytest.mark.django_db

SOUND = {
    "followees without mirror": 0,
    "followers without mirror": 0,
    "wrong following counts": 0,
    "wrong follower counts": 0,
}


def counts(user):
    """(followers, following)"""
    row = UserCounts.objects.get(pk=user.pk)
    return row.followers, row.following


def events(name):
    """Payloads, each once however many subscribe."""
    found = Event.objects.filter(name=name).order_by("pk").values_list("payload", flat=True)
    return list({str(payload): payload for payload in found}.values())


def test_a_follow_is_two_rows_two_counts_and_news(alice, carol):
    follow_user(carol, alice)
    assert Followee.objects.filter(owner=carol, followee=alice).count() == 1
    assert Follower.objects.filter(owner=alice, follower=carol).count() == 1
    assert (counts(alice), counts(carol)) == ((1, 0), (0, 1))
    assert events("followed") == [{"follower_id": carol.pk, "followee_id": alice.pk}]
    unfollow_user(carol, alice)
    assert not Followee.objects.filter(owner=carol, followee=alice).exists()
    assert not Follower.objects.filter(owner=alice, follower=carol).exists()
    assert (counts(alice), counts(carol)) == ((0, 0), (0, 0))


def everything():
    """All rows of all tables, without ids of their own and times."""
    return {
        model._meta.label: [
            {
                field.attname: getattr(row, field.attname)
                for field in model._meta.concrete_fields
                if field.attname != "id" and field.get_internal_type() != "DateTimeField"
            }
            for row in model._base_manager.order_by("pk")
        ]
        for model in apps.get_models()
    }


@pytest.mark.slow
def test_the_factorys_follow_is_the_same(alice, carol):
    def follow_and_deliver(follower, followee):
        follow_user(follower, followee)
        deliver()

    found = []
    for follow in (follow_and_deliver, make_follow):
        before = transaction.savepoint()
        follow(carol, alice)
        found.append(everything())
        transaction.savepoint_rollback(before)
    assert found[0] == found[1]
    assert len(found[0]["events.Event"]) > 1


@pytest.mark.parametrize("times", [1, 2, 3])
def test_following_and_unfollowing_any_number_of_times_is_once(alice, carol, times):
    for _ in range(times):
        follow_user(carol, alice)
    assert (counts(alice), counts(carol)) == ((1, 0), (0, 1))
    number = Event.objects.filter(name="followed").count()
    follow_user(carol, alice)
    assert Event.objects.filter(name="followed").count() == number
    for _ in range(times):
        unfollow_user(carol, alice)
    assert (counts(alice), counts(carol)) == ((0, 0), (0, 0))
    assert not Followee.objects.exists()
    assert not Follower.objects.exists()
    assert mirror_faults() == SOUND


def test_unfollowing_somebody_who_is_not_followed_is_nothing(alice, carol):
    unfollow_user(carol, alice)
    assert (counts(alice), counts(carol)) == ((0, 0), (0, 0))
    assert events("unfollowed") == []


def test_following_is_one_way(alice, carol):
    follow_user(carol, alice)
    unfollow_user(alice, carol)
    assert (counts(alice), counts(carol)) == ((1, 0), (0, 1))


@pytest.mark.parametrize("change", [follow_user, unfollow_user, block_user, mute_user])
def test_nobody_does_this_to_themselves(alice, change):
    with pytest.raises(Invalid) as refusal:
        change(alice, user_by_id(alice.pk))
    assert refusal.value.code == "self"
    assert mirror_faults() == SOUND


def test_a_block_ends_both_follows_and_forbids_new_ones(alice, carol):
    follow_user(alice, carol)
    follow_user(carol, alice)
    block_user(alice, carol)
    block_user(alice, carol)
    assert (counts(alice), counts(carol)) == ((0, 0), (0, 0))
    assert len(events("unfollowed")) == 2
    for follower, followee in ((alice, carol), (carol, alice)):
        with pytest.raises(NotAllowed):
            follow_user(follower, followee)
    assert Block.objects.count() == 1
    assert mirror_faults() == SOUND


def test_the_refusal_does_not_say_who_blocks_whom(alice, carol):
    block_user(alice, carol)
    answers = set()
    for follower, followee in ((alice, carol), (carol, alice)):
        with pytest.raises(NotAllowed) as refusal:
            follow_user(follower, followee)
        answers.add((refusal.value.message, refusal.value.code))
    assert len(answers) == 1


def test_the_end_of_a_block_brings_no_follow_back(alice, carol):
    follow_user(carol, alice)
    block_user(alice, carol)
    unblock_user(alice, carol)
    unblock_user(alice, carol)
    assert counts(alice) == (0, 0)
    follow_user(carol, alice)
    assert counts(alice) == (1, 0)


def test_a_block_by_the_other_one_stays(alice, carol):
    block_user(alice, carol)
    block_user(carol, alice)
    unblock_user(alice, carol)
    with pytest.raises(NotAllowed):
        follow_user(alice, carol)


def test_mutes_are_idempotent_and_change_no_follow(alice, bob):
    mute_user(bob, alice)
    mute_user(bob, alice)
    assert Mute.objects.count() == 1
    assert counts(alice) == (1, 0)
    unmute_user(bob, alice)
    unmute_user(bob, alice)
    assert not Mute.objects.exists()


@pytest.mark.long
@pytest.mark.gate
def test_a_pair_that_everybody_changes_at_once_stays_exact(transactional_db):
    """Follows, unfollows and blocks of the same two, in both directions, from 16 threads."""
    alice, carol = make_user(), make_user()
    changes = [follow_user, follow_user, unfollow_user, block_user, unblock_user]

    def change(index):
        dice = random.Random(index)
        for _ in range(12):
            pair = dice.sample([alice, carol], 2)
            try:
                dice.choice(changes)(*pair)
            except NotAllowed:
                continue

    together(16, change)
    assert mirror_faults() == SOUND
    edges = Followee.objects.count()
    assert sum(counts(alice)) + sum(counts(carol)) == 2 * edges
    related = exact_relations(alice.pk, [carol.pk])
    assert not (related.severed and related.following | related.followed_by)


def test_sixteen_equal_follows_are_one(transactional_db):
    alice, carol = make_user(), make_user()
    together(16, lambda _index: follow_user(carol, alice))
    assert (counts(alice), counts(carol)) == ((1, 0), (0, 1))
    assert len(Event.objects.filter(name="followed").values_list("subscriber", flat=True)) == len(
        set(Event.objects.filter(name="followed").values_list("subscriber", flat=True))
    )
    together(16, lambda _index: unfollow_user(carol, alice))
    assert (counts(alice), counts(carol)) == ((0, 0), (0, 0))


def test_a_fault_between_the_two_rows_leaves_neither(alice, carol, monkeypatch):
    with monkeypatch.context() as between:
        between.setattr(Follower.objects, "create", lambda **_given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            follow_user(alice, carol)
    assert not Followee.objects.filter(owner=alice, followee=carol).exists()
    assert not Follower.objects.filter(owner=carol, follower=alice).exists()
    assert mirror_faults() == SOUND


@pytest.mark.slow
def test_a_crowd_that_follows_in_circles_does_not_deadlock(transactional_db):
    crowd = [make_user() for _ in range(6)]

    def mingle(index):
        dice = random.Random(index)
        for _ in range(10):
            one, other = dice.sample(crowd, 2)
            dice.choice([follow_user, follow_user, unfollow_user])(one, other)

    together(12, mingle)
    assert mirror_faults() == SOUND


def test_following_in_bulk_is_refused_on_every_way_in(alice, bob, carol, api_of, page_of, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "follow": (1, 3600)}
    assert api_of(carol).post(f"/api/v1/accounts/{alice.pk}/follow").status_code == 200
    answer = api_of(carol).post(f"/api/v1/accounts/{bob.pk}/follow")
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
    assert int(answer.headers["Retry-After"]) > 0
    assert page_of(carol).post("/@bob/follow").status_code == 429
