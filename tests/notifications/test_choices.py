"""How somebody reads, and of what they want to be told."""

import pytest

from apps.accounts.models import User
from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from apps.graph.models import Follower
from apps.notifications.actions import choose_notification_kinds, chosen_notification_kinds
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification
from tests.support.factories import deliver, delivered, publish, repost

pytestmark = pytest.mark.django_db
READING, KINDS = "/settings/reading", "/settings/notifications"


def told(user):
    return sorted(set(Notification.objects.filter(user=user).values_list("kind", flat=True)))


@pytest.mark.slow
def test_reading_is_chosen_by_a_form_and_shows_on_every_page(page_of, alice, bob):
    publish(alice)
    for number in range(22):
        publish(alice, f"post {number}")
    deliver()
    browser = page_of(bob)
    page = browser.get("/").content.decode()
    assert "data-density" not in page
    assert 'hx-trigger="intersect once, click"' in page
    answer = browser.post(READING, {"density": "compact", "loads_by_button": "on"})
    assert (answer.status_code, answer.headers["Location"]) == (303, READING)
    page = browser.get("/").content.decode()
    assert 'data-density="compact"' in page
    assert 'hx-trigger="click"' in page
    page = browser.get(READING).content.decode()
    assert 'value="compact" id="id_density_1" checked' in page.replace(" required", "")


def test_a_room_there_is_not_is_refused(page_of, bob):
    assert page_of(bob).post(READING, {"density": "huge"}).status_code == 422
    assert User.objects.get(pk=bob.pk).density == "comfortable"


@pytest.mark.parametrize("address", [READING, KINDS])
def test_settings_are_for_members(page_of, address):
    assert page_of(None).get(address).headers["Location"].startswith("/login")


def test_everything_is_wanted_until_somebody_says_otherwise(alice):
    assert chosen_notification_kinds(alice) == NotificationKind.values


def test_what_is_not_wanted_is_not_told(alice, bob, carol):
    choose_notification_kinds(alice, ["follow"])
    post = publish(alice)
    like_post(bob, post.pk)
    repost(bob, post.pk)
    publish(bob, "hello @alice", reply_to_id=post.pk)
    follow_user(carol, alice)
    deliver()
    assert told(alice) == ["follow"]
    choose_notification_kinds(alice, [*chosen_notification_kinds(alice), "like"])
    like_post(carol, post.pk)
    deliver()
    assert told(alice) == ["follow", "like"]


def test_watchers_who_do_not_want_it_are_passed_over(alice, bob, carol):
    follow_user(carol, alice)
    Follower.objects.filter(owner=alice).update(notifies=True)
    choose_notification_kinds(bob, [kind for kind in NotificationKind.values if kind != "post"])
    delivered(alice, "news")
    assert (told(bob), told(carol)) == ([], ["post"])


def test_the_page_of_kinds(page_of, alice):
    browser = page_of(alice)
    assert browser.get(KINDS).content.decode().count("checked") == len(NotificationKind)
    assert browser.post(KINDS, {"kinds": ["follow", "like"]}).status_code == 303
    assert chosen_notification_kinds(alice) == ["follow", "like"]
    assert browser.post(KINDS, {}).status_code == 303  # nothing at all is an answer
    assert chosen_notification_kinds(alice) == []
    assert browser.post(KINDS, {"kinds": ["gossip"]}).status_code == 422
