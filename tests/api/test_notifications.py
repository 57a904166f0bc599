import pytest

from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from apps.notifications.actions import mark_read
from apps.notifications.models import Notification, NotificationKind
from apps.notifications.schema import TYPES, NotificationSchema
from apps.posts.actions import repost
from tests.factories import deliver, publish

pytestmark = pytest.mark.django_db

NOTIFICATIONS = "/api/v1/notifications"


@pytest.fixture
def api(alice, carol, api_of):
    """Alice's program, after everything has happened to her."""
    post = publish(alice)
    follow_user(carol, alice)
    like_post(carol, post.pk)
    repost(carol, post.pk)
    publish(carol, reply_to_id=post.pk)
    publish(carol, "hello @alice")
    publish(carol, quote_of_id=post.pk)
    deliver()
    return api_of(alice)


def types(answer):
    return [one["type"] for one in answer.json()]


def test_every_kind_has_mastodons_word():
    assert set(TYPES) == set(NotificationKind.values)


def test_notifications_carry_mastodons_words_newest_first(api):
    assert types(api.get(NOTIFICATIONS)) == [
        "quote",
        "mention",
        "mention",
        "reblog",
        "favourite",
        "follow",
    ]


def test_a_notification_has_the_fields_of_its_schema_and_a_follow_no_status(api):
    for body in api.get(NOTIFICATIONS).json():
        fields = set(NotificationSchema().fields)
        assert set(body) == (fields - {"status"} if body["type"] == "follow" else fields)


@pytest.mark.parametrize(
    ("query", "expected"),
    [({"types[]": ["follow"]}, ["follow"]), ({"types[]": ["mention"]}, ["mention", "mention"]),
     ({"types[]": ["favourite", "reblog"]}, ["reblog", "favourite"]), ({"types[]": ["poll"]}, []),
     ({"exclude_types[]": ["mention", "follow", "quote"]}, ["reblog", "favourite"]),
     ({"types[]": ["follow"], "exclude_types[]": ["follow"]}, [])],
)  # fmt: skip
def test_types_can_be_chosen_and_left_out(api, query, expected):
    assert types(api.get(NOTIFICATIONS, query)) == expected


def test_the_unread_are_counted_and_reading_here_marks_nothing(api, alice):
    assert api.get(f"{NOTIFICATIONS}/unread_count").json() == {"count": 6}
    api.get(NOTIFICATIONS)
    assert api.get(f"{NOTIFICATIONS}/unread_count").json() == {"count": 6}
    mark_read(alice, Notification.objects.latest("pk").pk)
    assert api.get(f"{NOTIFICATIONS}/unread_count").json() == {"count": 0}
