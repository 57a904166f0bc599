"""Mutes with terms; follows with options; notes."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.errors import Invalid
from apps.graph.actions import (
    end_due_mutes,
    follow_user,
    mute_user,
    note_about,
    remove_follower,
    unfollow_user,
)
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import AccountNote, Followee, Follower, Mute, UserList
from apps.graph.queries import mirror_faults, relationships
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.list import list_timeline
from tests.support.factories import deliver, make_user, publish, repost

pytestmark = pytest.mark.django_db


def home(user):
    deliver()
    return [item.id for item in home_timeline(user_by_id(user.pk), Cursor()).items]


def expire(mute):
    Mute.objects.filter(pk=mute.pk).update(expires_at=timezone.now() - timedelta(minutes=5))


def test_a_mute_ends_at_its_time_and_not_before(alice, bob):
    post = publish(alice)
    mute_user(bob, alice, seconds=3600)
    assert end_due_mutes(limit=10) == 0
    assert home(bob) == []
    expire(Mute.objects.get())
    assert end_due_mutes(limit=10) == 1
    assert home(bob) == [post.pk]
    assert not Mute.objects.exists()


def test_muting_again_changes_the_terms(alice, bob):
    mute_user(bob, alice, seconds=60, notifications=False)
    mute = Mute.objects.get()
    assert mute.expires_at is not None
    assert not mute.hides_notifications
    mute_user(bob, alice)
    again = Mute.objects.get()
    assert (again.expires_at, again.hides_notifications) == (None, True)
    assert end_due_mutes(limit=10) == 0


def test_as_many_mutes_end_at_once_as_were_asked_for(alice):
    for _ in range(3):
        mute_user(alice, make_user(), seconds=60)
    Mute.objects.update(expires_at=timezone.now())
    assert [end_due_mutes(limit=2) for _ in range(3)] == [2, 1, 0]


@pytest.mark.parametrize("seconds", [-1, 10**9, 2**63])
def test_a_mute_of_an_impossible_length_is_refused(alice, bob, seconds):
    with pytest.raises(Invalid):
        mute_user(bob, alice, seconds=seconds)
    assert not Mute.objects.exists()


@pytest.mark.slow
def test_reposts_of_a_followed_account_can_be_left_out_and_come_back(alice, bob, carol):
    own, shared = publish(alice), publish(carol)
    made = repost(alice, shared.pk)
    assert home(bob) == [made.pk, own.pk]
    follow_user(bob, alice, reposts=False)
    assert home(bob) == [own.pk]
    follow_user(bob, alice, notify=True)  # what is not said stays
    assert home(bob) == [own.pk]
    follow_user(bob, alice, reposts=True)
    assert home(bob) == [made.pk, own.pk]


def test_hidden_reposts_are_on_no_list_either(alice, bob, carol):
    own, made = publish(alice), repost(alice, publish(carol).pk)
    mine = create_group(UserList, bob, name="Tea")
    add_members(UserList, bob, mine.pk, [alice.pk])

    def listed():
        return [item.id for item in list_timeline(bob, mine, Cursor()).items]

    assert listed() == [made.pk, own.pk]
    follow_user(bob, alice, reposts=False)
    assert listed() == [own.pk]


@pytest.mark.slow
def test_a_new_follow_begins_with_reposts_whatever_the_last_one_said(alice, bob, carol):
    made = repost(alice, publish(carol).pk)
    follow_user(bob, alice, reposts=False)
    unfollow_user(bob, alice)
    follow_user(bob, alice)
    assert home(bob) == [made.pk]


def test_both_sides_know_who_wants_to_be_told(alice, bob):
    for notify in (True, False):
        follow_user(bob, alice, notify=notify)
        assert Followee.objects.get(owner=bob).notifies is notify
        assert Follower.objects.get(owner=alice).notifies is notify


def test_a_removed_follower_follows_no_more_and_may_again(alice, bob):
    remove_follower(alice, bob)
    remove_follower(alice, bob)
    assert not any(mirror_faults().values())
    assert not relationships(bob.pk, [alice.pk])[0].following
    follow_user(bob, alice)
    assert relationships(bob.pk, [alice.pk])[0].following


def test_a_note_is_for_its_writer_and_goes_when_it_is_empty(alice, bob):
    note_about(alice, bob, "  met at the harbour ")
    note_about(alice, bob, "met at the harbour, 港口")
    assert relationships(alice.pk, [bob.pk])[0].note == "met at the harbour, 港口"
    assert relationships(bob.pk, [alice.pk])[0].note == ""
    note_about(alice, bob, " ")
    assert not AccountNote.objects.exists()
    with pytest.raises(Invalid):
        note_about(alice, bob, "x" * 2001)


def test_relationships_cost_one_query_for_one_and_for_many(alice, django_assert_num_queries):
    others = [make_user().pk for _ in range(8)]
    for asked in (others[:1], others):
        with django_assert_num_queries(1):
            assert [one.id for one in relationships(alice.pk, asked)] == asked
