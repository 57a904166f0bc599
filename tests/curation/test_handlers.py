"""What people are told about collections, and what a block ends."""

import pytest

from apps.curation import handlers
from apps.curation.actions import (
    add_account,
    change_collection,
    create_collection,
    delete_collection,
    leave,
)
from apps.curation.models import CollectionItem
from apps.graph.actions import block_user, mute_user
from apps.notifications.actions import choose_notification_kinds
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification
from tests.support.factories import deliver

pytestmark = pytest.mark.django_db
ADDED, CHANGED = NotificationKind.COLLECTED, NotificationKind.COLLECTION


def told(user):
    deliver()
    return list(
        Notification.objects.filter(user=user, kind__in=[ADDED, CHANGED])
        .order_by("pk")
        .values_list("kind", "actor__handle")
    )


def test_people_are_told_that_they_were_added(alice, bob, collection):
    assert told(bob) == [(ADDED, "alice")]
    add_account(alice, collection.pk, alice.pk)
    assert told(alice) == [], "nobody is told of what they did"


@pytest.mark.django_db(transaction=True)  # PostgreSQL's now() stands still in a transaction
def test_a_second_addition_renews_the_notification(alice, bob, collection):
    deliver()
    [first] = Notification.objects.filter(user=bob, kind=ADDED)
    second = create_collection(alice, [bob.pk], name="More")
    deliver()
    [renewed] = Notification.objects.filter(user=bob, kind=ADDED)
    assert renewed.pk > first.pk
    payload = {"collection_id": second.pk, "owner_id": alice.pk, "user_ids": [bob.pk]}
    handlers.notify_of_collection(payload)
    assert Notification.objects.get(user=bob, kind=ADDED) == renewed, "a second run does nothing"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("fields", "is_news"),
    [
        ({"name": "Others"}, True),
        ({"description": "Worth it."}, True),
        ({"tag": "cats"}, True),
        ({"is_sensitive": True}, True),
        ({"language": "en"}, False),
        ({"is_discoverable": False}, False),
    ],
)
def test_people_are_told_of_changes_that_concern_them(alice, bob, collection, fields, is_news):
    change_collection(alice, collection.pk, **fields)
    assert ((CHANGED, "alice") in told(bob)) == is_news
    before = list(Notification.objects.filter(user=bob))
    handlers.notify_of_change({"collection_id": collection.pk, "owner_id": alice.pk})
    if is_news:
        assert list(Notification.objects.filter(user=bob)) == before


def test_notifications_end_with_the_last_collection(alice, bob, collection):
    second = create_collection(alice, [bob.pk], name="More")
    assert told(bob) == [(ADDED, "alice")]
    delete_collection(alice, second.pk)
    assert told(bob) == [(ADDED, "alice")]
    leave(bob, collection.pk, CollectionItem.objects.get().pk)
    assert told(bob) == []


def test_who_mutes_or_does_not_want_it_is_not_told(alice, bob, carol):
    choose_notification_kinds(bob, set(NotificationKind.values) - {ADDED})
    mute_user(carol, alice)
    create_collection(alice, [bob.pk, carol.pk], name="People")
    assert told(bob) == told(carol) == []


def test_an_event_about_what_is_gone_does_nothing(alice, bob, collection):
    delete_collection(alice, collection.pk)
    payload = {"collection_id": collection.pk, "owner_id": alice.pk, "user_ids": [bob.pk]}
    handlers.notify_of_collection(payload)
    handlers.notify_of_change(payload)
    assert told(bob) == []


def test_a_block_keeps_who_has_left_out(alice, bob, carol, collection):
    other = create_collection(carol, [bob.pk], name="Carol's")
    leave(bob, collection.pk, CollectionItem.objects.get(collection=collection).pk)
    assert told(bob) == [(ADDED, "carol")]
    block_user(alice, bob)
    deliver()
    assert CollectionItem.objects.get(collection=collection).left_at is not None
    assert CollectionItem.objects.get(collection=other).left_at is None
    assert told(bob) == [(ADDED, "carol")]
