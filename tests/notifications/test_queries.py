import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.engagement.actions import like_post
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.notifications.actions import mark_read
from apps.notifications.models import Notification
from apps.notifications.queries import MAX_UNREAD, notifications_page, unread_count
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from tests.support.cases import each
from tests.support.factories import deliver, make_user, publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def fans(alice):
    """Nine accounts that follow alice, in this order."""
    fans = [make_user() for _ in range(9)]
    for fan in fans:
        follow_user(fan, alice)
    deliver()
    return fans


def actors(page):
    return [item.actor.pk for item in page.items]


@pytest.mark.long
@each("limit", [1, 4, 9, 10])
def test_notifications_are_walked_newest_first_without_loss(alice, fans, limit):
    seen, cursor = [], Cursor(limit=limit)
    while True:
        page = notifications_page(alice, cursor)
        seen += actors(page)
        if page.older is None:
            break
        cursor = Cursor(max_id=page.older, limit=limit)
    assert seen == [fan.pk for fan in reversed(fans)]


@pytest.mark.slow
def test_only_ones_own_are_shown(alice, fans, carol):
    assert notifications_page(carol, Cursor()).items == []
    assert unread_count(carol) == 0


@pytest.mark.slow
def test_kinds_can_be_chosen(alice, fans):
    post = publish(alice)
    like_post(fans[0], post.pk)
    deliver()
    assert [item.kind for item in notifications_page(alice, Cursor(), kinds=["like"]).items] == [
        "like"
    ]
    assert len(notifications_page(alice, Cursor(limit=20), kinds=["follow"]).items) == 9
    assert notifications_page(alice, Cursor(), kinds=[]).items == []


@pytest.mark.slow
def test_those_who_are_blocked_muted_or_suspended_are_left_out_at_once(alice, fans):
    block_user(alice, fans[0])
    block_user(fans[1], alice)
    mute_user(alice, fans[2])
    User.objects.filter(pk=fans[3].pk).update(suspended_at=timezone.now())
    assert actors(notifications_page(alice, Cursor())) == [fan.pk for fan in reversed(fans[4:])]


def test_a_post_that_cannot_be_opened_any_more_is_left_out_at_once(alice, bob):
    deleted = publish(alice, "hello @bob")
    restricted = publish(alice, "@nobody", visibility="followers")
    Notification.objects.create(user=bob, kind="mention", actor=alice, post=restricted)
    deliver()
    assert {item.item and item.item.id for item in notifications_page(bob, Cursor()).items} == {
        deleted.pk,
        restricted.pk,
    }
    delete_post(deleted.pk, by=alice)
    unfollow_user(bob, alice)
    assert notifications_page(bob, Cursor()).items == []


@pytest.mark.slow
def test_unread_is_what_lies_above_the_marker(alice, fans):
    page = notifications_page(alice, Cursor())
    assert all(item.is_unread for item in page.items)
    assert unread_count(alice) == 9
    mark_read(alice, page.items[3].id)
    assert [item.is_unread for item in notifications_page(alice, Cursor()).items] == [True] * 3 + [
        False
    ] * 6
    assert unread_count(alice) == 3


def test_unread_is_counted_to_a_hundred_in_one_query(alice, carol, django_assert_num_queries):
    crowd = User.objects.bulk_create(
        User(handle=f"crowd{n}", password="!") for n in range(MAX_UNREAD + 5)
    )
    Notification.objects.bulk_create(
        Notification(user=alice, kind="follow", actor=one) for one in crowd
    )
    with django_assert_num_queries(1):
        assert unread_count(alice) == MAX_UNREAD


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 9])
def test_a_page_costs_the_same_queries_for_one_and_nine(
    alice, fans, number, django_assert_num_queries
):
    post = publish(alice)
    for fan in fans:
        like_post(fan, post.pk)
    deliver()
    notifications_page(alice, Cursor(limit=number))
    # rows, actors, likes of the posts, the marker
    with django_assert_num_queries(4):
        assert len(notifications_page(alice, Cursor(limit=number)).items) == number


def test_the_badge_does_not_count_those_who_are_not_shown(alice, bob, carol):
    post = publish(alice)
    like_post(bob, post.pk)
    like_post(carol, post.pk)
    deliver()
    mark_read(alice, Notification.objects.filter(user=alice, kind="follow").latest("pk").pk)
    assert unread_count(alice) == 2
    mute_user(alice, bob)
    assert unread_count(alice) == 1
    User.objects.filter(pk=carol.pk).update(suspended_at=timezone.now())
    assert unread_count(alice) == 0
