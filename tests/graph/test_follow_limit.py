"""How many accounts one account may follow: MAX_FOLLOWEES, which the push model needs (source 003)."""

import pytest

from apps.accounts.actions import set_locked
from apps.accounts.models import UserCounts
from apps.errors import Invalid
from apps.graph.actions import approve_request, approve_waiting, follow_user, unfollow_user
from apps.graph.models import Followee, FollowRequest
from tests.support.factories import make_user
from tests.support.threads import together

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _two(settings):
    settings.MAX_FOLLOWEES = 2


def followed(user):
    return Followee.objects.filter(owner=user).count()


@pytest.mark.slow
def test_nobody_follows_more_and_an_unfollow_makes_room(alice, bob, carol):
    other = make_user()
    follow_user(bob, carol)  # bob follows alice
    for _time in range(2):
        with pytest.raises(Invalid) as refused:
            follow_user(bob, other)
    assert refused.value.code == "too_many_followees"
    follow_user(bob, carol, notify=True)  # a follow that is there may change
    unfollow_user(bob, carol)
    follow_user(bob, other)
    assert followed(bob) == UserCounts.objects.get(pk=bob.pk).following == 2


def test_pages_and_programs_say_why(bob, carol, api_of, page_of):
    other = make_user("other")
    follow_user(bob, carol)
    answer = api_of(bob).post(f"/api/v1/accounts/{other.pk}/follow")
    assert (answer.status_code, answer.json()["code"]) == (422, "too_many_followees")
    page = page_of(bob).post("/@other/follow")
    assert page.status_code == 422
    assert followed(bob) == 2


def test_neither_do_requests_nor_their_approval_go_beyond(bob, carol):
    locked, other = make_user(), make_user()
    set_locked(locked, locked=True)
    follow_user(bob, locked)  # a request
    follow_user(bob, carol)
    with pytest.raises(Invalid, check=lambda error: error.code == "too_many_followees"):
        approve_request(locked, bob)
    set_locked(other, locked=True)
    with pytest.raises(Invalid):
        follow_user(bob, other)
    assert FollowRequest.objects.filter(requester=bob).count() == 1
    unfollow_user(bob, carol)
    approve_request(locked, bob)
    assert followed(bob) == 2


def test_an_account_that_is_unlocked_gets_those_who_still_may(bob, carol):
    locked = make_user()
    set_locked(locked, locked=True)
    follow_user(bob, locked)
    follow_user(carol, locked)
    follow_user(bob, carol)
    type(locked).objects.filter(pk=locked.pk).update(is_locked=False)
    assert approve_waiting(locked, maximum=10) == 2
    assert approve_waiting(locked, maximum=10) == 0
    assert (followed(bob), followed(carol)) == (2, 1)
    assert not FollowRequest.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_at_the_same_moment_as_well(alice, carol):
    others = [make_user() for _number in range(4)]

    def follow(number):
        try:
            follow_user(carol, others[number])
        except Invalid:
            return 0
        return 1

    assert sum(together(4, follow)) == 2
    assert followed(carol) == UserCounts.objects.get(pk=carol.pk).following == 2
