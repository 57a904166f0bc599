"""Notifications in the admin."""

import pytest

from apps.engagement.actions import like_post
from apps.notifications.models import Notification
from tests.support.factories import deliver, make_user, publish
from tests.support.staff import MAX_QUERIES, browser_of, make_staff

pytestmark = pytest.mark.django_db
NOTIFICATIONS = "/admin/notifications/notification/"


@pytest.mark.parametrize("number", [1, 3])
def test_list_search_and_no_writing(alice, carol, number, django_assert_max_num_queries):
    chief = browser_of(make_staff(superuser=True))
    post = publish(alice)
    for _ in range(number):
        like_post(make_user(), post.pk)
    deliver()
    with django_assert_max_num_queries(MAX_QUERIES):
        text = chief.get(NOTIFICATIONS).content.decode()
    assert text.count(f">{post.pk}</a>") == number
    assert ">@alice</a>" in chief.get(NOTIFICATIONS, {"q": "@Alice"}).content.decode()
    assert ">@alice</a>" not in chief.get(NOTIFICATIONS, {"q": "carol"}).content.decode()
    row = Notification.objects.latest("pk")
    assert chief.post(f"{NOTIFICATIONS}{row.pk}/change/", {"kind": "follow"}).status_code == 403
    assert chief.post(f"{NOTIFICATIONS}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert chief.get(f"{NOTIFICATIONS}add/").status_code == 403
