"""Locked accounts: who asks, who may answer, and that asking shows nothing."""

import random

import pytest

from apps.accounts.actions import set_locked
from apps.accounts.queries import user_by_id
from apps.errors import NotAllowed, NotFound, TooMany
from apps.graph.actions import (
    approve_request,
    block_user,
    follow_user,
    reject_request,
    unfollow_user,
)
from apps.graph.models import Followee, Follower, FollowRequest
from apps.graph.queries import mirror_faults, requests_count, requests_page
from apps.pagination import Cursor
from apps.posts.queries import visible_posts
from apps.timeline.home import home_timeline
from tests.support.factories import deliver, make_user, publish, suspend
from tests.support.threads import together

pytestmark = pytest.mark.django_db

SOUND = {
    "followees without mirror": 0,
    "followers without mirror": 0,
    "wrong following counts": 0,
    "wrong follower counts": 0,
}


@pytest.fixture
def locked(alice):
    """Alice, who is asked."""
    return set_locked(alice, locked=True)


def asks(requester, owner):
    return FollowRequest.objects.filter(requester=requester, owner=owner).exists()


def home(user):
    deliver()
    return [item.id for item in home_timeline(user_by_id(user.pk), Cursor()).items]


def test_a_locked_account_is_asked_and_not_followed(locked, carol):
    for _ in range(3):
        follow_user(carol, locked)
    assert FollowRequest.objects.count() == 1
    assert not Followee.objects.exists()
    assert user_by_id(locked.pk).counts.followers == user_by_id(carol.pk).counts.following == 0
    assert [user.pk for user in requests_page(locked, Cursor()).items] == [carol.pk]


@pytest.mark.slow
def test_asking_shows_nothing_and_being_approved_shows_what_was_said_before(locked, carol):
    early = publish(locked, "for followers", visibility="followers")
    follow_user(carol, locked)
    late = publish(locked, "for followers", visibility="followers")
    said = {early.pk, late.pk}
    assert visible_posts(carol.pk, said).posts == {}
    assert home(carol) == []
    approve_request(locked, carol)
    assert visible_posts(carol.pk, said).posts.keys() == said
    assert home(carol) == [late.pk, early.pk]


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("surface", ["status", "statuses", "home", "page", "profile", "like"])
def test_no_surface_shows_followers_only_posts_to_who_only_asks(
    locked, carol, api_of, page_of, surface
):
    post = publish(locked, "the words for followers", visibility="followers")
    follow_user(carol, locked)
    deliver()
    api, page = api_of(carol), page_of(carol)
    ask = {
        "status": lambda: api.get(f"/api/v1/statuses/{post.pk}"),
        "statuses": lambda: api.get(f"/api/v1/accounts/{locked.pk}/statuses"),
        "home": lambda: api.get("/api/v1/timelines/home"),
        "page": lambda: page.get(f"/@alice/{post.pk}"),
        "profile": lambda: page.get("/@alice"),
        "like": lambda: api.post(f"/api/v1/statuses/{post.pk}/favourite"),
    }[surface]
    assert "the words" not in ask().content.decode()
    approve_request(locked, carol)
    deliver()
    assert "the words" in ask().content.decode()


def test_an_approved_request_is_a_follow_like_any_other_with_its_options(locked, carol):
    follow_user(carol, locked, reposts=False, notify=True)
    approve_request(locked, carol)
    edge = Followee.objects.get(owner=carol, followee=locked)
    assert (edge.shows_reposts, edge.notifies) == (False, True)
    assert Follower.objects.get(owner=locked, follower=carol).notifies
    assert mirror_faults() == SOUND
    assert not FollowRequest.objects.exists()


def test_a_request_is_answered_once(locked, carol):
    follow_user(carol, locked)
    reject_request(locked, carol)
    for answer in (approve_request, reject_request):
        with pytest.raises(NotFound):
            answer(locked, carol)
    assert not Followee.objects.exists()
    follow_user(carol, locked)  # and asks again
    assert asks(carol, locked)


def test_nobody_answers_for_somebody_else(locked, bob, carol):
    follow_user(carol, locked)
    with pytest.raises(NotFound):
        approve_request(bob, carol)
    assert asks(carol, locked)


def test_a_request_is_withdrawn_by_not_wanting_to_follow(locked, carol):
    follow_user(carol, locked)
    unfollow_user(carol, locked)
    assert not FollowRequest.objects.exists()


@pytest.mark.parametrize("turned", [False, True])
def test_a_block_ends_the_request_and_forbids_another(locked, carol, turned):
    follow_user(carol, locked)
    block_user(*((carol, locked) if turned else (locked, carol)))
    assert not FollowRequest.objects.exists()
    with pytest.raises(NotAllowed):
        follow_user(carol, locked)


def test_who_follows_already_goes_on_when_the_account_is_locked(alice, bob):
    set_locked(alice, locked=True)
    follow_user(bob, alice, notify=True)
    assert Follower.objects.get(owner=alice, follower=bob).notifies
    assert not FollowRequest.objects.exists()


@pytest.mark.slow
def test_unlocking_grants_what_was_asked(locked, carol, monkeypatch):
    monkeypatch.setattr("apps.graph.handlers.APPROVAL_BATCH_SIZE", 2)
    crowd = [carol, *(make_user() for _ in range(4))]
    for person in crowd:
        follow_user(person, locked)
    set_locked(locked, locked=False)
    deliver()
    assert not FollowRequest.objects.exists()
    assert user_by_id(locked.pk).counts.followers == len(crowd)
    assert mirror_faults() == SOUND


def test_an_account_that_was_locked_again_grants_nothing_by_itself(locked, carol):
    follow_user(carol, locked)
    set_locked(locked, locked=False)
    set_locked(locked, locked=True)
    deliver()
    assert asks(carol, locked)


def test_suspended_people_do_not_ask_any_more(locked, carol):
    follow_user(carol, locked)
    assert requests_count(locked) == 1
    suspend(carol)
    assert requests_count(locked) == 0
    assert requests_page(locked, Cursor()).items == []


def test_asking_in_bulk_is_refused(locked, carol, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "follow": (1, 3600)}
    follow_user(carol, locked)
    other = set_locked(make_user(), locked=True)
    with pytest.raises(TooMany):
        follow_user(carol, other)
    assert not asks(carol, other)


@pytest.mark.long
@pytest.mark.gate
def test_answers_and_withdrawals_at_once_leave_one_state(transactional_db):
    """S33: approved, rejected, withdrawn and blocked at the same time, from 12 threads."""
    alice, carol = set_locked(make_user(), locked=True), make_user()

    def change(index):
        dice = random.Random(index)
        for _ in range(10):
            try:
                dice.choice(
                    [
                        lambda: follow_user(carol, alice),
                        lambda: approve_request(alice, carol),
                        lambda: reject_request(alice, carol),
                        lambda: unfollow_user(carol, alice),
                    ]
                )()
            except NotFound:
                continue

    together(12, change)
    assert mirror_faults() == SOUND
    assert not (asks(carol, alice) and Followee.objects.filter(owner=carol).exists())
