import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery import current_app
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from apps.accounts.queries import user_by_id
from apps.events import actions
from apps.events.actions import RENAMED, purge_done, record, run_due
from apps.events.leases import MAX_ATTEMPTS, State, revive
from apps.events.models import Event
from apps.graph.actions import follow_user
from apps.graph.models import Followee
from feedcache.breaker import Breaker
from feedcache.connections import RedisError
from feedsite.celery import wait_longer_for_the_broker
from tests.support.factories import make_user, publish
from tests.support.faults import dead_redis, frozen
from tests.support.services import running
from tests.support.threads import together


class TroubleError(Exception):
    """What a handler of these tests raises."""


def refuse(payload):
    raise TroubleError("no")


def make_due():
    """Let the pause after a failed try pass."""
    Event.objects.update(due_at=timezone.now() - timedelta(minutes=5))


@pytest.mark.django_db
def test_an_event_is_one_row_for_each_subscriber(subscribe):
    name = subscribe(lambda payload: None)
    record(name, owner_id=1, blocked_id=2)
    event = Event.objects.get()
    assert (event.name, event.subscriber, event.payload) == (
        name,
        "tests.handler",
        {"owner_id": 1, "blocked_id": 2},
    )
    assert event.state == State.PENDING


@pytest.mark.django_db
def test_delivery_comes_before_what_nobody_waits_for(alice):
    publish(alice)
    told = Event.objects.filter(name="post_published").order_by("pk")
    assert told[0].subscriber == "apps.timeline.handlers.deliver_post"


@pytest.mark.django_db
def test_what_ends_in_a_batch_is_marked_together(subscribe, django_assert_num_queries):
    name = subscribe(lambda payload: None)
    for number in range(5):
        record(name, owner_id=1, blocked_id=number)
    with django_assert_num_queries(2):  # the claim, and the end of all
        assert run_due(limit=100) == 5
    assert set(Event.objects.values_list("state", flat=True)) == {State.DONE}


@pytest.mark.django_db
def test_an_event_nobody_subscribed_to_leaves_nothing(monkeypatch):
    monkeypatch.setitem(actions._handlers, "blocked", {})
    record("blocked", owner_id=1, blocked_id=2)
    assert not Event.objects.exists()


@pytest.mark.django_db
def test_an_unknown_name_is_a_mistake():
    with pytest.raises(ValueError, match="no event"):
        record("blokced", owner_id=1)
    with pytest.raises(ValueError, match="no event"):
        actions.handles("blokced")


@pytest.mark.django_db(transaction=True)
def test_an_event_outside_of_a_transaction_is_a_mistake(subscribe):
    with pytest.raises(RuntimeError, match="transaction"):
        record(subscribe(print))


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_rolled_back_leaves_no_event():
    follower, followee = make_user(), make_user()

    def follow_and_fail():
        with transaction.atomic():
            follow_user(follower, followee)
            assert Event.objects.exists()
            raise TroubleError

    with pytest.raises(TroubleError):
        follow_and_fail()
    assert not Event.objects.exists()
    assert not Followee.objects.exists()
    assert user_by_id(followee.pk).counts.followers == 0


@pytest.mark.django_db
def test_a_handler_runs_once_and_the_event_is_done(subscribe):
    seen: list[object] = []
    record(subscribe(seen.append), owner_id=1, blocked_id=2)
    assert run_due(limit=10) == 1
    assert run_due(limit=10) == 0
    event = Event.objects.get()
    assert (seen, event.state, event.attempts) == (
        [{"owner_id": 1, "blocked_id": 2}],
        State.DONE,
        1,
    )


@pytest.mark.django_db
def test_a_handler_that_fails_is_tried_again_after_a_pause(subscribe):
    answers = iter([TroubleError("busy"), None])

    def moody(payload):
        if error := next(answers):
            raise error

    record(subscribe(moody))
    run_due(limit=1)
    event = Event.objects.get()
    assert (event.state, event.attempts, event.last_error) == (
        State.PENDING,
        1,
        "TroubleError: busy",
    )
    assert event.due_at > timezone.now()
    assert run_due(limit=1) == 0  # the pause
    make_due()
    assert run_due(limit=1) == 1
    event.refresh_from_db()
    assert (event.state, event.attempts, event.last_error) == (State.DONE, 2, "")


@pytest.mark.django_db
def test_an_event_that_fails_five_times_is_a_dead_letter_and_others_flow(subscribe):
    name = subscribe(refuse)
    record(name)
    for _ in range(MAX_ATTEMPTS):
        make_due()
        assert run_due(limit=1) == 1
    dead = Event.objects.get()
    assert (dead.state, dead.attempts, dead.last_error) == (
        State.DEAD,
        MAX_ATTEMPTS,
        "TroubleError: no",
    )
    make_due()
    assert run_due(limit=1) == 0
    seen: list[object] = []
    record(subscribe(seen.append), owner_id=3)
    assert run_due(limit=1) == 1
    assert seen == [{"owner_id": 3}]


@pytest.mark.django_db
def test_a_dead_letter_can_be_revived(subscribe):
    seen: list[object] = []
    record(subscribe(seen.append))
    event = Event.objects.get()
    Event.objects.update(state=State.DEAD, attempts=MAX_ATTEMPTS)
    revive(event)
    assert run_due(limit=1) == 1
    assert len(seen) == 1


@pytest.mark.django_db
def test_an_event_whose_handler_is_gone_from_the_code_does_not_stop_the_others(subscribe):
    seen: list[object] = []
    name = subscribe(refuse)
    Event.objects.create(name=name, subscriber="apps.gone.handlers.old", payload={})
    record(subscribe(seen.append))
    run_due(limit=2)
    assert len(seen) == 1
    assert "KeyError" in Event.objects.get(subscriber="apps.gone.handlers.old").last_error


@pytest.mark.django_db
def test_an_event_of_an_app_that_was_left_out_meanwhile_is_done_without_it(settings):
    settings.LEFT_OUT_APPS = {"apps.gone"}
    event = Event.objects.create(
        name="post_deleted", subscriber="apps.gone.handlers.old", payload={"post_id": 1}
    )
    assert run_due(limit=1) == 1
    event.refresh_from_db()
    assert (event.state, event.last_error) == (State.DONE, "")


@pytest.mark.django_db
@pytest.mark.parametrize(("before", "now"), RENAMED.items())
def test_an_event_of_the_release_before_finds_its_handler(monkeypatch, before, now):
    """Also one that a process of that release records after the migrations."""
    name = next(name for name, handlers in actions._handlers.items() if now in handlers)
    seen = []
    monkeypatch.setitem(actions._handlers[name], now, seen.append)
    Event.objects.create(name=name, subscriber=before, payload={"post_id": 1})
    assert run_due(limit=1) == 1
    assert seen == [{"post_id": 1}]


@pytest.mark.django_db
def test_an_event_that_needs_redis_is_postponed_without_counting_the_try(subscribe):
    def needs_redis(payload):
        raise RedisError

    record(subscribe(needs_redis))
    for _ in range(MAX_ATTEMPTS + 2):
        make_due()
        run_due(limit=1)
    event = Event.objects.get()
    assert (event.state, event.attempts) == (State.PENDING, 0)


@pytest.mark.django_db
def test_with_redis_really_dead_a_post_is_kept_and_delivered_later(alice, bob):
    publish(alice)
    due = Event.objects.filter(state=State.PENDING).count()
    assert due
    with dead_redis():
        run_due(limit=10)
        waiting = Event.objects.filter(state=State.PENDING)
        assert [event.attempts for event in waiting] == [
            0
        ]  # the fan-out; notifications need no Redis
    make_due()
    while run_due(limit=10):
        pass
    assert not Event.objects.exclude(state=State.DONE).exists()


@pytest.mark.django_db(transaction=True)
def test_publishing_works_quickly_while_the_broker_is_dead(alice, monkeypatch, caplog):
    monkeypatch.setattr(actions, "broker", Breaker(lambda: 0.0))
    with dead_redis():
        publish(alice, "the first may look for the broker")
        publish(alice)
    assert caplog.text.count("a sweep will find its rows") == 1, "the second did not ask it"
    assert Event.objects.filter(name="post_published", state=State.PENDING).count() >= 2
    assert alice.counts.__class__.objects.get(pk=alice.pk).posts == 2


@pytest.mark.django_db(transaction=True)
def test_sweepers_that_run_at_once_never_run_one_event_twice(subscribe):
    seen: list[int] = []

    def slow(payload):
        time.sleep(0.002)
        seen.append(payload["owner_id"])

    name = subscribe(slow)
    with transaction.atomic():
        for number in range(60):
            record(name, owner_id=number)

    def sweep(_index):
        claimed = 0
        while number := run_due(limit=5):
            claimed += number
        return claimed

    assert sum(together(6, sweep)) == 60
    assert sorted(seen) == list(range(60))
    assert set(Event.objects.values_list("state", "attempts")) == {(State.DONE, 1)}


@pytest.mark.django_db
def test_old_news_is_purged_and_nothing_else(subscribe):
    name = subscribe(print)
    for _ in range(4):
        record(name)
    old, new, dead, waiting = Event.objects.order_by("pk")
    long_ago = timezone.now() - timedelta(days=settings.EVENT_DAYS, seconds=1)
    Event.objects.filter(pk=old.pk).update(state=State.DONE, finished_at=long_ago)
    Event.objects.filter(pk=new.pk).update(state=State.DONE, finished_at=timezone.now())
    Event.objects.filter(pk=dead.pk).update(state=State.DEAD, finished_at=long_ago)
    assert purge_done() == 1
    assert set(Event.objects.values_list("pk", flat=True)) == {new.pk, dead.pk, waiting.pk}


@pytest.mark.django_db
def test_every_event_that_is_recorded_has_a_payload_its_handlers_understand(alice, bob):
    """All events of a small life, run: nothing fails."""
    publish(alice, "hello @bob")
    while run_due(limit=100):
        pass
    assert set(Event.objects.values_list("state", flat=True)) == {State.DONE}


@pytest.mark.slow
def test_a_frozen_broker_is_asked_once(monkeypatch, caplog):
    """A request that writes waits for it a second, not ten, and the next ones not at all."""
    monkeypatch.setattr(actions, "broker", Breaker(lambda: 0.0))
    with frozen(running().redis):
        for _message in range(5):
            actions.enqueue("apps.events.tasks.dispatch", [1])
    assert caplog.text.count("a sweep will find its rows") == 1
    options = current_app.conf.broker_transport_options
    assert {options[name] for name in ("socket_timeout", "socket_connect_timeout")} == {1}


def test_messages_go_on_when_the_broker_is_back(monkeypatch, caplog):
    clock = iter([0.0, 0.1, 1.0, 1.0]).__next__
    monkeypatch.setattr(actions, "broker", Breaker(clock, max_pause_seconds=1))
    sent = []

    def send(*_task, **_more):
        sent.append(len(sent))
        if len(sent) == 1:
            raise OperationalError("gone")

    monkeypatch.setattr(current_app, "send_task", send)
    actions.enqueue("a.task")  # fails
    actions.enqueue("a.task")  # too early
    actions.enqueue("a.task")
    actions.enqueue("a.task")
    assert len(sent) == 3
    assert actions.broker.is_closed


def test_workers_wait_longer_for_the_broker():
    conf = SimpleNamespace(broker_transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS)
    wait_longer_for_the_broker(conf)
    waits = conf.broker_transport_options["socket_timeout"]
    assert settings.CELERY_BROKER_TRANSPORT_OPTIONS["socket_timeout"] < waits
    # twice, because it connects once more: the results of its tasks must be read before these count as too late
    assert 2 * waits < settings.CELERY_TASK_SOFT_TIME_LIMIT


def test_workers_connect_again_to_a_broker_without_memory():
    """They would end otherwise, and what they hold would wait until its leases end."""
    redis = current_app.connection_for_read()
    try:
        channel: Any = redis.default_channel  # of Redis
        client = channel.client
        client.config_set("maxmemory", 1)
        with pytest.raises(redis.channel_errors, match="maxmemory"):
            client.set("test:memory", 1)
    finally:
        client.config_set("maxmemory", 0)
        redis.release()
    assert current_app.conf.broker_channel_error_retry
