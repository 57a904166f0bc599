"""Notifications in groups: every one on exactly one page, however small the pages are."""

from datetime import timedelta
from itertools import product

import pytest
from django.utils import timezone

from apps.engagement.actions import like_post
from apps.errors import NotFound
from apps.graph.actions import mute_user
from apps.notifications.actions import dismiss_group, mark_read
from apps.notifications.grouping import BATCH, get_group, groups_page, unread_group_count
from apps.notifications.models import Notification
from apps.pagination import Cursor
from tests.support.cases import each
from tests.support.factories import deliver, delivered, make_follow, make_user, publish, repost

pytestmark = pytest.mark.django_db


@pytest.fixture
def busy(alice):
    """Five people who like two posts, repost one, follow and mention alice."""
    one, other = publish(alice), publish(alice)
    for _ in range(5):
        person = make_user()
        make_follow(person, alice)
        like_post(person, one.pk)
        like_post(person, other.pk)
        repost(person, one.pk)
        delivered(person, "hello @alice")
    Notification.objects.update(created_at=timezone.now().replace(hour=11))  # one span of hours
    return one, other


def told(user):
    return list(Notification.objects.filter(user=user).order_by("-pk").values_list("pk", flat=True))


def shape(page):
    return [(group.newest.kind, len(group.items)) for group in page.items]


@pytest.mark.long
@pytest.mark.gate
def test_what_many_did_alike_is_one_and_what_was_said_stays_single(alice, busy):
    page = groups_page(alice, Cursor())
    assert sorted(shape(page)) == [
        ("follow", 5),
        ("like", 5),
        ("like", 5),
        *[("mention", 1)] * 5,
        ("repost", 5),
    ]
    assert [group.newest.id for group in page.items] == sorted(
        (group.newest.id for group in page.items), reverse=True
    )


@pytest.mark.long
def test_every_notification_is_on_exactly_one_page(alice, busy, subtests):
    for limit, upwards in product([1, 2, 3, 40], [False, True]):
        with subtests.test(limit=limit, upwards=upwards):
            assert sorted(walked(alice, limit, upwards=upwards), reverse=True) == told(alice)


def walked(alice, limit, *, upwards):
    seen, cursor = [], Cursor(limit=limit, min_id=0 if upwards else None)
    while True:
        page = groups_page(alice, cursor)
        assert len(page.items) <= limit
        ids = [item.id for group in page.items for item in group.items]
        seen += ids
        place = page.newer if upwards else page.older
        if place is None:
            break
        cursor = Cursor(limit=limit, **{"min_id" if upwards else "max_id": place})
    return seen


def test_a_page_looks_at_a_bounded_number(alice, monkeypatch):
    post = publish(alice)
    monkeypatch.setattr("apps.notifications.grouping.BATCH", 4)
    monkeypatch.setattr("apps.notifications.grouping.MAX_READ", 8)
    for _ in range(11):
        like_post(make_user(), post.pk)
    deliver()
    Notification.objects.update(created_at=timezone.now())
    first = groups_page(alice, Cursor())
    assert shape(first) == [("like", 8)]
    rest = groups_page(alice, Cursor(max_id=first.older))
    assert shape(rest) == [("like", 3)]
    assert rest.items[0].key == first.items[0].key
    assert rest.older is None


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 30])
def test_a_page_costs_the_same_queries_for_one_and_for_many(
    alice, number, django_assert_num_queries
):
    post = publish(alice)
    for _ in range(number):
        like_post(make_user(), post.pk)
    deliver()
    groups_page(alice, Cursor())
    assert number < BATCH
    with django_assert_num_queries(4):  # as many as the plain list takes
        assert groups_page(alice, Cursor()).items


@pytest.mark.slow
def test_only_kinds_that_are_wanted_are_grouped(alice, busy):
    page = groups_page(alice, Cursor(limit=80), grouped={"follow"})
    assert sorted(set(shape(page))) == [("follow", 5), ("like", 1), ("mention", 1), ("repost", 1)]


@pytest.mark.slow
def test_what_was_done_hours_apart_is_not_one(alice, busy):
    newest = Notification.objects.filter(kind="like").latest("pk")
    Notification.objects.filter(pk=newest.pk).update(created_at=timezone.now() - timedelta(days=3))
    likes = [one for one in shape(groups_page(alice, Cursor())) if one[0] == "like"]
    assert sorted(likes) == [("like", 1), ("like", 4), ("like", 5)]


@pytest.mark.long
def test_a_group_is_found_by_its_key_and_only_by_its_owner(alice, bob, busy):
    for group in groups_page(alice, Cursor()).items:
        assert [one.id for one in get_group(alice, group.key).items] == [
            one.id for one in group.items
        ]
        with pytest.raises(NotFound):
            get_group(bob, group.key)


@pytest.mark.long
@each("key", ["", "x", "favourite-1", "favourite-0-1", "follow-", "follow-9999999999", "ungrouped-0",
                                 "ungrouped-" + "9" * 19,
                                 "favourite-" + "9" * 19 + "-1", "follow-999999999", "mention-1-1", "follow-1\n",
                                 "follow-٣"])  # fmt: skip
def test_what_is_no_key_is_not_found(alice, busy, key):
    with pytest.raises(NotFound):
        get_group(alice, key)


@pytest.mark.long
def test_a_dismissed_group_is_gone_and_nothing_else(alice, busy):
    before = groups_page(alice, Cursor()).items
    for group in before:
        dismiss_group(alice, group.key)
        dismiss_group(alice, group.key)
        before = [one for one in before if one.key != group.key]
        left = {one.key for one in groups_page(alice, Cursor()).items}
        assert left == {one.key for one in before}


@pytest.mark.long
def test_unread_groups_are_counted_above_the_marker(alice, busy):
    assert unread_group_count(alice, maximum=100) == 9
    assert unread_group_count(alice, maximum=4) == 4
    assert unread_group_count(alice, maximum=100, kinds=["follow"]) == 1
    mark_read(alice, told(alice)[0])
    assert unread_group_count(alice, maximum=100) == 0


@pytest.mark.long
@pytest.mark.gate
def test_the_muted_are_in_no_group(alice, busy):
    person = get_group(alice, groups_page(alice, Cursor()).items[0].key).newest.actor
    mute_user(alice, person)
    items = [one for group in groups_page(alice, Cursor()).items for one in group.items]
    assert {one.actor.pk for one in items} == {
        one.actor_id for one in Notification.objects.filter(user=alice)
    } - {person.pk}
