"""What a policy of notifications keeps back, and how it comes out again."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from apps.notifications.actions import change_policy, dismiss_group
from apps.notifications.grouping import get_group, groups_page
from apps.notifications.models import Notification, NotificationPolicy
from apps.notifications.queries import (
    held_back_notifications,
    notifications_page,
    unread_count,
)
from apps.pagination import Cursor
from apps.streaming.known import known_now
from apps.streaming.queries import events_of_notifications
from tests.support.cases import each
from tests.support.factories import deliver, delivered, make_user, publish

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


def more_happens(alice, bob, carol):
    """The same once more, after alice has chosen."""
    post = publish(alice)
    for user in (bob, carol, User.objects.get(handle="dora")):
        like_post(user, post.pk)
    delivered(carol, "@alice between us again", visibility="mentioned")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("for_not_following", ["mention carol", "like carol", "like bob"]),
        ("for_not_followers", ["mention carol", "like dora", "like carol"]),
        ("for_new_accounts", ["like dora"]),
        ("for_private_mentions", ["mention carol"]),
    ],
)
@pytest.mark.parametrize("verdict", ["filter", "drop"])
def test_each_condition_holds_back_what_comes_after_it(
    life, alice, bob, carol, api_of, name, held, verdict
):
    change_policy(alice, **{name: verdict})
    assert told(alice) == EVERYTHING
    more_happens(alice, bob, carol)
    came = [
        one for one in ["mention carol", "like dora", "like carol", "like bob"] if one not in held
    ]
    assert told(alice) == came + EVERYTHING
    assert unread_count(alice) == len(came + EVERYTHING)
    groups = api_of(alice).get("/api/v2/notifications", {"grouped_types[]": "none"}).json()
    assert len(groups["notification_groups"]) == len(came + EVERYTHING)
    kept = held if verdict == "filter" else []
    listed = api_of(alice).get("/api/v1/notifications", {"include_filtered": "true"}).json()
    assert len(listed) == len(came + kept + EVERYTHING)
    requests = api_of(alice).get(REQUESTS).json()
    assert sum(int(one["notifications_count"]) for one in requests) == len(kept)
    change_policy(alice, **{name: "accept"})
    assert told(alice) == came + EVERYTHING
    assert User.objects.get(pk=alice.pk).counts.holds_notifications is bool(kept)


@pytest.mark.long
@pytest.mark.gate
@each(
    "is_followed, verdict, number",
    [(False, "filter", 0), (False, "accept", 1), (True, "filter", 1)],
)
def test_programs_are_held_back_unless_one_follows_them(alice, carol, is_followed, verdict, number):
    User.objects.filter(pk=carol.pk).update(is_bot=True)
    if is_followed:
        follow_user(alice, carol)
    change_policy(alice, for_bots=verdict)
    delivered(carol, "@alice an answer by a program")
    assert told(alice).count("mention carol") == number
    person = make_user()
    delivered(person, "@alice an answer by a person")
    assert f"mention {person.handle}" in told(alice)


@pytest.mark.slow
def test_a_policy_and_dismissing_take_nothing_of_what_was_told(life, alice, bob, carol, api_of):
    client = api_of(alice)
    client.patch(POLICY, {"for_not_following": "filter"}, format="json")
    assert client.get(REQUESTS).json() == []
    everybody = {"id": [str(bob.pk), str(carol.pk)]}
    client.post(f"{REQUESTS}/dismiss", everybody, format="json")
    client.patch(POLICY, {"for_not_following": "accept"}, format="json")
    assert told(alice) == EVERYTHING


@pytest.mark.slow
def test_the_strictest_verdict_holds(life, alice, bob, carol, api_of):
    change_policy(alice, for_not_following="filter", for_not_followers="drop")
    more_happens(alice, bob, carol)
    assert [one["account"]["acct"] for one in api_of(alice).get(REQUESTS).json()] == ["bob"]


@pytest.mark.slow
def test_who_follows_later_is_told_of_from_then_on(life, alice, bob, carol):
    change_policy(alice, for_not_following="filter")
    more_happens(alice, bob, carol)
    follow_user(alice, carol)
    delivered(carol, "@alice hello")
    assert told(alice) == ["mention carol", "like dora", *EVERYTHING]


@pytest.mark.slow
def test_a_group_is_shown_and_dismissed_without_what_is_held_back(life, alice, bob, carol):
    change_policy(alice, for_not_following="filter")
    post = publish(alice)
    dora = User.objects.get(handle="dora")
    for user in (carol, dora):
        like_post(user, post.pk)
    deliver()
    key = groups_page(alice, Cursor()).items[0].key
    assert [item.actor.handle for item in get_group(alice, key).items] == ["dora"]
    dismiss_group(alice, key)
    assert [held.actor for held in held_back_notifications(alice)] == [carol]


@pytest.mark.slow
def test_the_badge_asks_for_no_policy(life, alice, django_assert_num_queries):
    change_policy(alice, for_not_following="filter")
    with django_assert_num_queries(1) as captured:
        unread_count(alice)
    assert "policy" not in captured[0]["sql"]


@pytest.mark.slow
def test_requests_are_looked_at_accepted_and_dismissed(life, alice, bob, carol, api_of):
    client = api_of(alice)
    body = client.patch(POLICY, {"for_not_following": "filter"}, format="json").json()
    assert (body["for_not_following"], body["for_new_accounts"], body["for_limited_accounts"]) == (
        "filter",
        "accept",
        "drop",
    )
    more_happens(alice, bob, carol)
    body = client.get(POLICY).json()
    assert body["summary"] == {"pending_requests_count": 2, "pending_notifications_count": 3}
    first, second = client.get(REQUESTS).json()
    assert (first["account"]["acct"], first["notifications_count"]) == ("carol", "2")
    assert "between us again" in first["last_status"]["content"]
    assert client.get(f"{REQUESTS}/{first['id']}").json() == first
    assert client.get(REQUESTS, {"limit": 1}).json() == [first]
    assert client.post(f"{REQUESTS}/{carol.pk}/accept").json() == {}
    assert told(alice) == ["mention carol", "like dora", "like carol", *EVERYTHING]
    assert client.get(f"{REQUESTS}/{carol.pk}").status_code == 404
    assert client.get(f"{REQUESTS}/merged").json() == {"merged": True}
    assert client.post(f"{REQUESTS}/dismiss", {"id": [second["id"]]}, format="json").json() == {}
    assert client.get(REQUESTS).json() == []
    change_policy(alice, for_not_following="accept")
    assert told(alice) == ["mention carol", "like dora", "like carol", *EVERYTHING]
    delivered(carol, "@alice once more")
    assert client.get("/api/v1/notifications").json()[0]["account"]["acct"] == "carol"


@pytest.mark.slow
def test_what_is_held_back_is_no_news_on_streams(life, alice, carol):
    for verdict in ("filter", "drop"):
        change_policy(alice, for_not_following=verdict)
        before = known_now(alice.pk)
        delivered(carol, "@alice again")
        _newest, news = events_of_notifications(alice.pk, before)
        assert news == []


@pytest.mark.slow
def test_what_a_policy_hid_before_verdicts_were_stored_can_be_looked_at(life, alice, bob, carol):
    """The update of 0.1: by each condition, as it was asked at every read until then."""
    update = import_module("apps.notifications.migrations.0002_held_back")
    for name, held in {
        "for_not_following": {"mention carol", "like carol", "like bob", "follow bob"},
        "for_not_followers": {"mention carol", "like dora", "like carol"},
        "for_new_accounts": {"like dora"},
        "for_private_mentions": {"mention carol"},
    }.items():
        Notification.objects.update(is_held_back=False)
        NotificationPolicy.objects.all().delete()
        change_policy(alice, **{name: "drop"})
        with connection.cursor() as sql:
            sql.execute(update.HOLD_BACK_WHAT_WAS_HIDDEN)
        assert set(EVERYTHING) - set(told(alice)) == held, name


@each("body", [{"for_not_following": "maybe"}, {"for_new_accounts": 1},
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
