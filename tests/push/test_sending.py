"""What arrives at a push service of the tests' own, when, and what becomes of a device that is gone."""

from datetime import timedelta
from http import HTTPStatus
from threading import Event as Flag

import pytest
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from apps.accounts.actions import issue_token, revoke_token
from apps.accounts.authentication.sessions import end_sessions
from apps.accounts.models import AccessToken, Login
from apps.engagement.actions import like_post
from apps.events.leases import MAX_ATTEMPTS, State
from apps.events.models import Event
from apps.graph.actions import follow_user
from apps.notifications.actions import change_policy, mark_read
from apps.notifications.models import Notification
from apps.notifications.queries import latest_notification_id
from apps.oauth.queries import bearer_of
from apps.push import sending, tasks
from apps.push.actions import Address, change_preferences, subscribe_program
from apps.push.encryption import public_key
from apps.push.models import Delivery, Policy, Subscription, Texts
from tests.support.factories import deliver, make_user, publish, suspend
from tests.support.push_service import Device, claims_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def dora(db):
    return make_user("dora", display_name="Dora")


def test_a_mention_arrives_encrypted_and_signed(alice, dora, subscribed, pushed, service):
    subscribed(alice)
    post = publish(dora, "@alice look   at\nthis")
    [told] = pushed()
    assert told == {
        "preferred_locale": "en",
        "notification_id": Notification.objects.get().pk,
        "notification_type": "mention",
        "icon": told["icon"],
        "title": "Dora mentioned you",
        "body": "@alice look at this",
        "url": f"/@dora/{post.pk}",
        "tag": f"ungrouped-{told['notification_id']}",
        "unread": 1,
    }
    assert told["icon"].startswith("http://testserver/")
    [message] = service.received
    claims, site = claims_of(message)
    assert (message.path, site) == ("/alice", public_key())
    assert claims["aud"] == service.address
    now = timezone.now().timestamp()
    assert now < claims["exp"] <= now + 24 * 3600
    assert claims["sub"].startswith(("mailto:", "http"))
    said = {name: message.headers[name] for name in ("ttl", "urgency", "content-encoding")}
    assert said == {"ttl": "86400", "urgency": "normal", "content-encoding": "aes128gcm"}
    assert Delivery.objects.get().state == State.DONE


def test_what_can_wait_is_not_urgent_and_replaces_the_one_before(
    alice, bob, dora, subscribed, pushed, service
):
    subscribed(alice)
    post = publish(alice, "Mine.")
    for reader in (bob, dora):
        like_post(reader, post.pk)
    assert [told["title"] for told in pushed()] == [
        f"{bob.name} liked your post",
        "Dora liked your post",
    ]
    topics = {message.headers["topic"] for message in service.received}
    assert len(topics) == 1
    assert {message.headers["urgency"] for message in service.received} == {"low"}


def test_words_are_those_of_the_member(alice, dora, subscribed, pushed):
    alice.interface_language = "zh-hans"
    alice.save()
    subscribed(alice)
    follow_user(dora, alice)
    [told] = pushed()
    assert (told["preferred_locale"], told["title"]) == ("zh-hans", "Dora 关注了你")
    assert (told["body"], told["url"]) == ("", "/@dora")


def test_a_request_leads_to_the_requests(alice, dora, subscribed, pushed):
    alice.is_locked = True
    alice.save()
    subscribed(alice)
    follow_user(dora, alice)
    [told] = pushed()
    assert (told["title"], told["url"]) == ("Dora asks to follow you", "/follow_requests")


def test_texts_are_bounded(alice, dora, subscribed, pushed, service):
    dora.display_name = "名" * 50
    dora.save()
    subscribed(alice)
    publish(dora, "@alice " + "字" * 480)
    [told] = pushed()
    assert len(told["body"]) == 240
    assert told["body"].endswith("字…")
    assert len(service.received[0].body) < 4096


@pytest.mark.parametrize(("texts", "of_open", "of_direct"), [
    (Texts.ALL, "@alice open", "@alice secret"), (Texts.OPEN, "@alice open", ""), (Texts.NONE, "", ""),
])  # fmt: skip
def test_words_of_posts_are_told_as_far_as_they_are_wanted(
    alice, dora, subscribed, pushed, texts, of_open, of_direct
):
    subscribed(alice)
    change_preferences(alice, texts=texts)
    publish(dora, "@alice open")
    publish(dora, "@alice secret", visibility="mentioned")
    assert [told["body"] for told in pushed()] == [of_open, of_direct]


def test_a_content_warning_stands_for_the_text(alice, dora, subscribed, pushed):
    subscribed(alice)
    publish(dora, "@alice it was the butler", content_warning="Spoilers")
    assert [told["body"] for told in pushed()] == ["Spoilers"]


@pytest.mark.slow
def test_kinds_that_are_silent_are_not_sent(alice, dora, subscribed, pushed):
    subscribed(alice)
    change_preferences(alice, silent_kinds=["follow"])
    follow_user(dora, alice)
    publish(dora, "@alice hello")
    assert [told["notification_type"] for told in pushed()] == ["mention"]


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize(("policy", "told_of"), [
    (Policy.ALL, ["bob", "carol", "dora"]), (Policy.FOLLOWER, ["bob"]), (Policy.FOLLOWED, ["carol"]),
    (Policy.NONE, []),
])  # fmt: skip
def test_whose_doings_are_told(alice, bob, carol, dora, subscribed, pushed, policy, told_of):
    follow_user(alice, carol)  # and bob follows her
    deliver()
    subscribed(alice)
    change_preferences(alice, policy=policy)
    for author in (bob, carol, dora):
        publish(author, "@alice hello")
    assert [told["url"].split("/")[1] for told in pushed()] == [f"@{name}" for name in told_of]


@pytest.mark.parametrize(("zone", "begin", "end", "is_told"), [
    ("Asia/Shanghai", "22:00", "07:00", False), ("UTC", "22:00", "07:00", True), ("", "15:00", "17:00", False),
    ("UTC", "16:00", "16:00", True), ("UTC", "16:01", "15:59", True), ("gone/zone", "15:00", "17:00", False),
])  # fmt: skip
def test_quiet_hours_are_by_the_clock_of_the_member(
    alice, dora, subscribed, pushed, monkeypatch, zone, begin, end, is_told
):
    subscribed(alice)
    change_preferences(alice, quiet_from=begin, quiet_until=end, time_zone=zone)
    publish(dora, "@alice hello")
    deliver()
    moment = timezone.now().replace(hour=16, minute=0)  # midnight in Shanghai
    monkeypatch.setattr("apps.push.sending.timezone.now", lambda: moment)
    assert bool(pushed()) is is_told


def test_nothing_is_sent_of_what_was_read_hidden_or_taken_back(
    alice, bob, dora, carol, subscribed, pushed
):
    subscribed(alice)
    publish(dora, "@alice one")
    deliver()
    mark_read(alice, latest_notification_id(alice))
    publish(carol, "@alice two")
    deliver()
    suspend(carol)
    follow_user(dora, alice)
    deliver()
    Notification.objects.filter(kind="follow").delete()
    assert pushed() == []
    assert set(Delivery.objects.values_list("state", flat=True)) == {State.DONE}


def test_nothing_is_sent_of_what_is_held_back(alice, dora, subscribed, pushed):
    subscribed(alice)
    change_policy(alice, for_not_following="filter")
    publish(dora, "@alice hello")
    assert pushed() == []
    assert not Delivery.objects.exists()


def test_the_row_is_there_with_the_notification_or_neither(alice, dora, subscribed, monkeypatch):
    subscribed(alice)
    publish(dora, "@alice hello")
    monkeypatch.setattr("apps.push.sending.sql.rows_of", _fails)
    deliver()
    assert not Notification.objects.exists()
    assert Event.objects.filter(state=State.PENDING).exists()
    monkeypatch.undo()
    Event.objects.filter(state=State.PENDING).update(due_at=timezone.now())
    deliver()
    assert (Notification.objects.count(), Delivery.objects.count()) == (1, 1)


def _fails(*_arguments, **_more):
    raise RuntimeError("a test")


def test_an_event_that_runs_twice_tells_once(alice, dora, subscribed, pushed):
    subscribed(alice)
    publish(dora, "@alice hello")
    deliver()
    Event.objects.update(state=State.PENDING, due_at=timezone.now(), attempts=0)
    assert len(pushed()) == 1


def test_many_are_told_at_once(alice, bob, dora, subscribed, pushed):
    """As the followers of who asked to be told of posts."""
    follow_user(alice, dora, notify=True)
    follow_user(bob, dora, notify=True)
    deliver()
    subscribed(alice)
    publish(dora, "News.")
    assert [(told["notification_type"], told["body"]) for told in pushed()] == [("status", "News.")]


@pytest.mark.parametrize("status", [HTTPStatus.NOT_FOUND, HTTPStatus.GONE, HTTPStatus.FORBIDDEN])
def test_a_device_that_the_service_has_forgotten_is_forgotten(
    alice, dora, subscribed, pushed, service, status
):
    subscribed(alice)
    service.statuses = [status]
    publish(dora, "@alice hello")
    pushed()
    assert not Subscription.objects.exists()
    assert not Delivery.objects.exists()


def test_a_message_that_is_too_long_is_let_go(alice, dora, subscribed, pushed, service):
    subscribed(alice)
    service.statuses = [HTTPStatus.REQUEST_ENTITY_TOO_LARGE]
    publish(dora, "@alice hello")
    pushed()
    assert Subscription.objects.exists()
    assert Delivery.objects.get().state == State.DONE


@pytest.mark.parametrize("status", [HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE])
def test_a_service_that_is_busy_is_asked_again_later_and_later(
    alice, dora, subscribed, pushed, service, status
):
    subscribed(alice)
    service.statuses = [status] * MAX_ATTEMPTS
    publish(dora, "@alice hello")
    pauses = []
    for attempt in range(1, MAX_ATTEMPTS):
        assert len(pushed()) == attempt
        row = Delivery.objects.get()
        assert (row.state, row.attempts) == (State.PENDING, attempt)
        pauses.append(row.due_at - timezone.now())
        pushed()
        assert len(service.received) == attempt, "not before its time"
        Delivery.objects.update(due_at=timezone.now())
    assert pauses == sorted(pauses)
    assert pauses[0] > timedelta(seconds=30)
    pushed()
    assert Delivery.objects.get().state == State.DONE, "no dead letter that staff had to look at"
    assert len(service.received) == MAX_ATTEMPTS
    assert Subscription.objects.exists()


def test_a_service_that_is_away_is_asked_again(alice, dora, subscribed, pushed):
    subscription = subscribed(alice)
    Subscription.objects.update(endpoint="https://localhost:1/alice")
    publish(dora, "@alice hello")
    pushed()
    assert "localhost" in Delivery.objects.get(subscription=subscription).last_error


def test_a_service_that_answers_byte_by_byte_is_cut_off(
    alice, dora, subscribed, pushed, service, settings
):
    settings.PUSH_TIMEOUT_SECONDS = 0.5

    def drip(connection):
        connection.sendall(b"HTTP/1.1 201 Created\r\nX-Slow: ")
        pause = Flag()
        for _byte in range(300):
            connection.sendall(b"x")
            pause.wait(0.01)
        connection.sendall(b"\r\n\r\n")

    service.before = drip
    subscribed(alice)
    publish(dora, "@alice hello")
    pushed()
    row = Delivery.objects.get()
    assert (row.state, "TimeoutError" in row.last_error) == (State.PENDING, True)


def test_a_name_that_leads_into_our_own_network_is_not_asked(
    alice, dora, subscribed, pushed, service, monkeypatch
):
    """As it may later than when it was subscribed."""
    subscribed(alice)
    publish(dora, "@alice hello")
    deliver()
    monkeypatch.undo()  # localhost is what it is
    sending.run_due(limit=100)
    assert service.received == []
    assert not Subscription.objects.exists()


def test_a_device_with_a_malformed_name_is_forgotten(alice, dora, subscribed, pushed):
    subscription = subscribed(alice)
    Subscription.objects.update(endpoint=f"https://{'a' * 64}.example/push")
    publish(dora, "@alice hello")
    deliver()
    pushed()
    assert not Subscription.objects.filter(pk=subscription.pk).exists()


def test_as_many_workers_as_are_allowed(alice, dora, subscribed, pushed, settings):
    settings.PUSH_CONCURRENCY = 1
    subscribed(alice)
    for number in range(3):
        publish(dora, f"@alice {number}")
    deliver()
    busy = Delivery.objects.earliest("pk")
    Delivery.objects.filter(pk=busy.pk).update(
        started_at=timezone.now(), attempts=1, due_at=timezone.now() + timedelta(seconds=30)
    )
    assert pushed() == []
    Delivery.objects.filter(pk=busy.pk).update(started_at=None)
    assert len(pushed()) == 1


@pytest.mark.parametrize("end", ["log out everywhere", "session gone", "suspended"])
def test_who_is_logged_out_is_told_no_more(alice, dora, subscribed, pushed, end):
    subscribed(alice)
    publish(dora, "@alice hello")
    deliver()
    if end == "log out everywhere":
        with transaction.atomic():
            end_sessions(alice.pk)
        assert not Subscription.objects.exists()
    elif end == "session gone":
        Session.objects.all().delete()
    else:
        suspend(alice)
    assert pushed() == []
    assert not Subscription.objects.exists()


def test_a_program_gets_what_mastodons_get(alice, dora, service, pushed, monkeypatch):
    token, device = _program(alice, service, monkeypatch, kinds=["mention"], is_standard=False)
    follow_user(dora, alice)
    publish(dora, "@alice hello")
    [told] = pushed(by=device)
    assert told == {
        "access_token": token,
        "preferred_locale": "en",
        "notification_id": told["notification_id"],
        "notification_type": "mention",
        "icon": told["icon"],
        "title": "Dora mentioned you",
        "body": "@alice hello",
    }
    [message] = service.received
    assert message.headers["content-encoding"] == "aesgcm"
    assert claims_of(message)[1] == public_key()


def test_who_may_read_the_tables_cannot_use_the_token(alice, service, monkeypatch):
    token, _device = _program(alice, service, monkeypatch)
    row = Subscription.objects.get()
    assert row.sealed_token
    assert token not in {str(getattr(row, field.attname)) for field in row._meta.concrete_fields}


def test_a_program_whose_token_has_ended_is_told_no_more(alice, dora, service, pushed, monkeypatch):
    _token, device = _program(alice, service, monkeypatch, kinds=["mention"])
    publish(dora, "@alice hello")
    deliver()
    revoke_token(alice, AccessToken.objects.get().pk)
    assert pushed(by=device) == []
    assert not Subscription.objects.exists()


def test_without_a_key_nothing_is_queued(alice, dora, subscribed, pushed, settings):
    subscribed(alice)
    settings.VAPID_PRIVATE_KEY = ""
    publish(dora, "@alice hello")
    assert pushed() == []
    assert Notification.objects.exists()
    assert not Delivery.objects.exists()


def test_the_sweep_finds_what_was_lost_and_the_purge_what_is_done(
    alice, dora, subscribed, pushed, service, monkeypatch
):
    subscribed(alice)
    publish(dora, "@alice hello")
    deliver()
    sent = []
    monkeypatch.setattr(tasks, "enqueue", lambda name, pk: sent.append((name, pk)))
    tasks.sweep()
    row = Delivery.objects.get()
    assert sent == [(sending.TASK, row.pk)]
    tasks.send(row.pk)
    tasks.send(row.pk)
    assert len(service.received) == 1
    tasks.purge()
    assert Delivery.objects.exists()
    Delivery.objects.update(finished_at=timezone.now() - timedelta(days=1))
    tasks.purge()
    assert not Delivery.objects.exists()
    assert Subscription.objects.exists()
    Login.objects.all()._raw_delete(using="default")  # as while the app was left out
    tasks.purge()
    assert not Subscription.objects.exists()


def _program(user, service, monkeypatch, *, kinds=(), is_standard=True):
    """A subscription by a personal token; the token and the device."""
    device, token = Device(), issue_token(user, name="a program")
    monkeypatch.setattr("apps.push.actions.may_be_public", lambda _host: True)
    bearer = bearer_of(token)
    assert bearer is not None
    address = Address(f"{service.address}/program", **device.keys, is_standard=is_standard)
    subscribe_program(user, bearer, token, address, kinds=kinds)
    return token, device
