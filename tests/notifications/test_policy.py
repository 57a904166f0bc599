"""What a policy of notifications keeps back, and how it comes out again."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from apps.notifications.actions import change_policy
from apps.notifications.queries import (
    latest_notification_id,
    notifications_page,
    policy_of,
    unread_count,
)
from apps.pagination import Cursor
from apps.streaming.queries import events_of_notifications
from tests.support.cases import each
from tests.support.factories import delivered, make_user, publish

pytestmark = pytest.mark.django_db
POLICY, REQUESTS = "/api/v2/notifications/policy", "/api/v1/notifications/requests"


@pytest.fixture
def life(alice, bob, carol):
    """Alice hears of bob, who follows her, of carol, who does not, and of dora, whom she follows;
    all but dora are old.
    """
    dora = make_user("dora")
    follow_user(alice, dora)
    User.objects.exclude(pk=dora.pk).update(created_at=timezone.now() - timedelta(days=400))
    post = publish(alice)
    for user in (bob, carol, dora):
        like_post(user, post.pk)
    delivered(carol, "@alice between us", visibility="mentioned")


def told(user):
    """By whom a user is told of what."""
    page = notifications_page(user_by_id(user.pk), Cursor())
    return [f"{item.kind} {item.actor.handle}" for item in page.items]


EVERYTHING = ["mention carol", "like dora", "like carol", "like bob", "follow bob"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("for_not_following", ["like dora"]),
        ("for_not_followers", ["like bob", "follow bob"]),
        ("for_new_accounts", ["mention carol", "like carol", "like bob", "follow bob"]),
        ("for_private_mentions", ["like dora", "like carol", "like bob", "follow bob"]),
    ],
)
@pytest.mark.parametrize("verdict", ["filter", "drop"])
def test_each_condition_keeps_back_what_it_says_and_gives_it_back(
    life, alice, api_of, name, left, verdict
):
    assert told(alice) == EVERYTHING
    change_policy(alice, **{name: verdict})
    assert told(alice) == left
    assert unread_count(alice) == len(left)
    groups = api_of(alice).get("/api/v2/notifications", {"grouped_types[]": "none"}).json()
    assert len(groups["notification_groups"]) == len(left)
    listed = api_of(alice).get("/api/v1/notifications", {"include_filtered": "true"}).json()
    assert len(listed) == len(EVERYTHING)
    held = sum(int(one["notifications_count"]) for one in api_of(alice).get(REQUESTS).json())
    assert held == (len(EVERYTHING) - len(left) if verdict == "filter" else 0)
    change_policy(alice, **{name: "accept"})
    assert told(alice) == EVERYTHING
    assert not User.objects.get(pk=alice.pk).counts.holds_notifications


def test_who_has_no_policy_pays_nothing_for_it(life, alice, django_assert_num_queries):
    assert policy_of(alice).for_not_following == "accept"
    with django_assert_num_queries(1) as captured:
        unread_count(alice)
    assert "policy" not in captured[0]["sql"]


def test_requests_are_looked_at_accepted_and_dismissed(life, alice, bob, carol, api_of):
    client = api_of(alice)
    body = client.patch(POLICY, {"for_not_following": "filter"}, format="json").json()
    assert (body["for_not_following"], body["for_new_accounts"], body["for_limited_accounts"]) == (
        "filter",
        "accept",
        "accept",
    )
    assert body["summary"] == {"pending_requests_count": 2, "pending_notifications_count": 4}
    assert body == client.get(POLICY).json()
    first, second = client.get(REQUESTS).json()
    assert (first["account"]["acct"], first["notifications_count"]) == ("carol", "2")
    assert "between us" in first["last_status"]["content"]
    assert client.get(f"{REQUESTS}/{first['id']}").json() == first
    assert client.get(REQUESTS, {"limit": 1}).json() == [first]
    assert client.post(f"{REQUESTS}/{carol.pk}/accept").json() == {}
    assert told(alice) == ["mention carol", "like dora", "like carol"]
    assert client.get(f"{REQUESTS}/{carol.pk}").status_code == 404
    assert client.get(f"{REQUESTS}/merged").json() == {"merged": True}
    assert client.post(f"{REQUESTS}/dismiss", {"id": [second["id"]]}, format="json").json() == {}
    assert client.get(REQUESTS).json() == []
    change_policy(alice, for_not_following="accept")
    assert "like bob" not in told(alice)
    assert client.get("/api/v1/notifications").json()[0]["account"]["acct"] == "carol"


def test_dismissing_takes_only_what_is_held_back(life, alice, bob, api_of):
    change_policy(alice, for_new_accounts="filter")
    api_of(alice).post(f"{REQUESTS}/{bob.pk}/dismiss")
    assert told(alice) == ["mention carol", "like carol", "like bob", "follow bob"]


def test_what_is_held_back_is_no_news_on_streams(life, alice, carol):
    change_policy(alice, for_not_following="drop")
    before = latest_notification_id(alice)
    delivered(carol, "@alice again")
    _newest, news = events_of_notifications(alice.pk, before)
    assert news == []


@each("body", [{"for_not_following": "maybe"}, {"for_new_accounts": None},
                                  {"for_not_followers": ["drop"]}])  # fmt: skip
def test_what_is_no_verdict_is_refused(alice, api_of, body):
    assert api_of(alice).patch(POLICY, body, format="json").status_code == 422


def test_a_stranger_may_not_be_asked_for_by_a_bad_id(alice, api_of):
    client = api_of(alice)
    for ids in (["x"], ["0"], "1", [{}], ["1"] * 101):
        answer = client.post(f"{REQUESTS}/accept", {"id": ids}, format="json")
        assert answer.status_code == 422, ids
    assert client.post(f"{REQUESTS}/accept", {"id": ["999999"]}, format="json").json() == {}
    assert client.post(f"{REQUESTS}/999999/accept").status_code == 404
