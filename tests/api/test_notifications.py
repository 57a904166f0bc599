import re
from itertools import product

import pytest
from django.utils import timezone

from apps.accounts.actions import set_locked
from apps.api.entities.notification import (
    TYPES,
    NotificationGroupJson,
    NotificationJson,
    PartialAccountJson,
)
from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from apps.notifications.actions import change_policy, mark_read
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification
from tests.support.cases import each
from tests.support.factories import deliver, make_user, publish, repost

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


@pytest.mark.slow
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
        fields = NotificationJson.__required_keys__ | {"status"}
        assert set(body) == (fields - {"status"} if body["type"] == "follow" else fields)


@pytest.mark.long
@each(
    ("query", "expected"),
    [({"types[]": ["follow"]}, ["follow"]), ({"types[]": ["mention"]}, ["mention", "mention"]),
     ({"types[]": ["favourite", "reblog"]}, ["reblog", "favourite"]), ({"types[]": ["poll"]}, []),
     ({"exclude_types[]": ["mention", "follow", "quote"]}, ["reblog", "favourite"]),
     ({"types[]": ["follow"], "exclude_types[]": ["follow"]}, [])],
)  # fmt: skip
def test_types_can_be_chosen_and_left_out(api, query, expected):
    assert types(api.get(NOTIFICATIONS, query)) == expected


@pytest.mark.slow
def test_the_unread_are_counted_and_reading_here_marks_nothing(api, alice):
    assert api.get(f"{NOTIFICATIONS}/unread_count").json() == {"count": 6}
    api.get(NOTIFICATIONS)
    assert api.get(f"{NOTIFICATIONS}/unread_count").json() == {"count": 6}
    mark_read(alice, Notification.objects.latest("pk").pk)
    assert api.get(f"{NOTIFICATIONS}/unread_count").json() == {"count": 0}


# --- one, dismissed, cleared; by account ------------------------------------------------------------


def test_one_is_shown_as_in_the_list_and_dismissed(api, api_of, carol):
    first = api.get(NOTIFICATIONS).json()[0]
    assert api.get(f"{NOTIFICATIONS}/{first['id']}").json() == first
    assert api_of(carol).get(f"{NOTIFICATIONS}/{first['id']}").status_code == 404
    assert api.post(f"{NOTIFICATIONS}/{first['id']}/dismiss").json() == {}
    assert api.get(f"{NOTIFICATIONS}/{first['id']}").status_code == 404
    assert len(api.get(NOTIFICATIONS).json()) == 5


@pytest.mark.slow
def test_all_are_cleared(api):
    assert api.post(f"{NOTIFICATIONS}/clear").json() == {}
    assert api.get(NOTIFICATIONS).json() == []
    assert api.get(f"{NOTIFICATIONS}/unread_count").json() == {"count": 0}


@pytest.mark.slow
def test_one_accounts_doings_can_be_chosen(api, carol, alice):
    assert len(api.get(NOTIFICATIONS, {"account_id": carol.pk}).json()) == 6
    assert api.get(NOTIFICATIONS, {"account_id": alice.pk}).json() == []
    assert api.get(NOTIFICATIONS, {"account_id": "x"}).status_code == 400
    count = api.get(f"{NOTIFICATIONS}/unread_count", {"account_id": carol.pk, "limit": 4})
    assert count.json() == {"count": 4}


def test_a_request_to_follow_has_an_account_and_no_status(alice, carol, api_of):
    set_locked(alice, locked=True)
    follow_user(carol, alice)
    deliver()
    (told,) = api_of(alice).get(NOTIFICATIONS, {"types[]": "follow_request"}).json()
    assert (told["type"], told["account"]["acct"]) == ("follow_request", "carol")
    assert "status" not in told


# --- groups -----------------------------------------------------------------------------------------

GROUPS = "/api/v2/notifications"


@pytest.mark.slow
def test_groups_name_accounts_and_statuses_once(api, alice):
    body = api.get(GROUPS).json()
    assert set(body) == {"accounts", "statuses", "notification_groups"}
    assert [one["acct"] for one in body["accounts"]] == ["carol"]
    ids = {one["id"] for one in body["statuses"]}
    assert len(ids) == len(body["statuses"])
    for group in body["notification_groups"]:
        fields = NotificationGroupJson.__required_keys__ | {"status_id"}
        assert set(group) == (fields - {"status_id"} if group["type"] == "follow" else fields)
        assert group.get("status_id") in {None, *ids}
        assert group["sample_account_ids"] == [body["accounts"][0]["id"]]
        assert isinstance(group["most_recent_notification_id"], int)


@pytest.mark.slow
def test_a_group_is_walked_to_and_dismissed_by_its_key(api):
    body = api.get(GROUPS, {"limit": 2})
    assert len(body.json()["notification_groups"]) == 2
    assert 'rel="next"' in body.headers["Link"]
    key = body.json()["notification_groups"][0]["group_key"]
    assert api.get(f"{GROUPS}/{key}").json()["notification_groups"][0]["group_key"] == key
    assert [one["acct"] for one in api.get(f"{GROUPS}/{key}/accounts").json()] == ["carol"]
    assert api.get(f"{GROUPS}/unread_count").json() == {"count": 6}
    assert api.post(f"{GROUPS}/{key}/dismiss").json() == {}
    assert api.get(f"{GROUPS}/{key}").status_code == 404
    assert api.get(f"{GROUPS}/unread_count").json() == {"count": 5}


@pytest.mark.slow
def test_accounts_can_come_in_part(api, alice, bob):
    like_post(bob, Notification.objects.filter(kind="like").latest("pk").post_id or 0)
    deliver()
    Notification.objects.update(created_at=timezone.now())
    body = api.get(GROUPS, {"expand_accounts": "partial_avatars", "types[]": "favourite"}).json()
    assert [one["acct"] for one in body["accounts"]] == ["bob"]
    (partial,) = body["partial_accounts"]
    assert partial["acct"] == "carol"
    assert set(partial) == PartialAccountJson.__required_keys__


@pytest.mark.slow
def test_who_is_in_a_group_is_walked_by_pages(api, alice):
    post = Notification.objects.filter(kind="like").latest("pk").post_id or 0
    fans = [make_user() for _fan in range(4)]
    for fan in fans:
        like_post(fan, post)
    deliver()
    Notification.objects.update(created_at=timezone.now())
    key = api.get(GROUPS, {"types[]": "favourite"}).json()["notification_groups"][0]["group_key"]
    found, address = [], f"{GROUPS}/{key}/accounts?limit=2"
    while address:
        answer = api.get(address)
        assert len(answer.json()) <= 2
        found += [one["acct"] for one in answer.json()]
        following = re.search(r'<([^>]+)>; rel="next"', answer.headers.get("Link", ""))
        address = following[1] if following else ""
    assert found == [*(fan.handle for fan in reversed(fans)), "carol"]
    told = api.get(NOTIFICATIONS, {"types[]": "favourite"}).json()
    assert {one["group_key"] for one in told} == {key}


@pytest.mark.slow
def test_groups_come_with_what_is_held_back_when_asked(api, alice, carol):
    change_policy(alice, for_not_following="filter")
    publish(carol, "hello again @alice")
    deliver()
    usual = api.get(GROUPS).json()["notification_groups"]
    every = api.get(GROUPS, {"include_filtered": "true"}).json()["notification_groups"]
    assert len(every) == len(usual) + 1


@pytest.mark.slow
def test_what_is_no_group_is_refused(api, subtests):
    keys = ["x", "follow-", "ungrouped-0", "favourite-1-1", "%00", "9" * 400]
    for key, what in product(keys, ["", "/accounts", "/dismiss"]):
        send = api.post if what == "/dismiss" else api.get
        with subtests.test(key=key, what=what):
            answer = send(f"{GROUPS}/{key}{what}")
            assert answer.status_code in {400, 404} or (key, what) == ("favourite-1-1", "/dismiss")
