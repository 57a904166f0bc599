"""Web servers and workers whose clocks are wrong: what counts is PostgreSQL's."""

from datetime import datetime, timedelta

import pytest
import time_machine
from django.db.models.functions import Now
from django.utils import timezone

from apps.audit.explain import explain
from apps.events import actions as events
from apps.events import leases, tasks
from apps.events.models import Event
from apps.graph.actions import (
    block_user,
    follow_user,
    mute_user,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.graph.models import Block, Followee, Follower, Mute, PastRelation
from apps.posts.actions.drafts import Draft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.schedule import schedule_post
from apps.timeline.fanout import dispatch
from apps.timeline.models import FanoutChunk, FanoutJob
from apps.timeline.pipeline.reasons import Reason
from feedcache.ids import second_of
from feedsite.monitoring.health import _deliveries
from tests.support.factories import deliver, delivered, publish, repost

pytestmark = pytest.mark.django_db

STEPS = [timedelta(hours=-1), timedelta(hours=1), timedelta(days=-1), timedelta(days=1)]
wrong_clock = pytest.mark.parametrize("step", STEPS, ids=str)
MINUTE = timedelta(minutes=1)


def is_now(moment):
    return abs(moment - timezone.now()) < MINUTE


@wrong_clock
def test_a_post_of_a_web_server_with_another_clock_has_an_id_of_now_and_arrives(
    alice, bob, api_of, step
):
    home = api_of(bob)
    before = delivered(alice, "before")
    with time_machine.travel(timezone.now() + step):
        post = publish(alice, "from another time")
        again = repost(bob, post.pk)
        edit_post(alice, post.pk, body="edited in another time")
    deliver()
    post.refresh_from_db()
    assert is_now(datetime.fromtimestamp(second_of(post.pk), tz=post.created_at.tzinfo))
    assert is_now(post.created_at)
    assert is_now(post.edited_at)
    assert is_now(again.created_at)
    after = delivered(alice, "after")
    found = [int(one["id"]) for one in home.get("/api/v1/timelines/home").json()]
    assert set(found[:2]) == {after.pk, again.pk}
    newer = home.get(f"/api/v1/timelines/home?since_id={post.pk}").json()
    assert str(after.pk) in {one["id"] for one in newer}
    assert before.pk in found


@wrong_clock
def test_a_worker_with_another_clock_delivers_and_dates_its_receipts_right(alice, bob, step):
    post = publish(alice, "to be delivered")
    with time_machine.travel(timezone.now() + step):
        deliver_by_another_clock()
    assert not Event.objects.filter(state=leases.State.PENDING).exists()
    job = FanoutJob.objects.get(pk=post.pk)
    chunks = list(FanoutChunk.objects.filter(job=job))
    assert [chunk.state for chunk in chunks] == ["done"] * len(chunks)
    assert all(is_now(chunk.finished_at) for chunk in chunks)
    assert all(is_now(event.finished_at) for event in Event.objects.all())


def deliver_by_another_clock():
    """As workers do; `deliver` looks first for what is due by the clock of the test."""
    while events.run_due(limit=100) or dispatch.run_due(limit=100):
        pass


@wrong_clock
def test_relations_by_a_web_server_with_another_clock_are_of_now(alice, bob, carol, step):
    """`/explain` compares them with posts; as-of pages, too."""
    unfollow_user(bob, alice)
    with time_machine.travel(timezone.now() + step):
        follow_user(bob, alice)
        for begin, end in ((mute_user, unmute_user), (block_user, unblock_user)):
            begin(bob, carol)
            end(bob, carol)
            begin(bob, carol)
    for model in (Followee, Follower, Mute, Block):
        assert is_now(model.objects.get().created_at)
    past = PastRelation.objects.all()
    assert len(past) == 3
    assert all(is_now(one.began_at) and is_now(one.ended_at) for one in past)
    post = delivered(alice, "after the follow")
    assert explain(bob, post.pk).reason in {Reason.PUSH, Reason.REBUILT, Reason.FOLLOWED}


@wrong_clock
def test_a_retry_waits_as_long_as_it_should(step):
    Event.objects.create(name="blocked", subscriber="tests.handler", payload={})
    with time_machine.travel(timezone.now() + step):
        (row,) = leases.claim(Event, limit=1)
        leases.fail(row, RuntimeError())
    row.refresh_from_db()
    assert timedelta() < row.due_at - row.created_at < MINUTE


def test_what_a_clock_ahead_put_off_is_done_when_it_is_right_again(alice, bob):
    """Until then it would wait for a day."""
    post = publish(alice, "published a day ahead")
    ahead = Now() + timedelta(days=1)
    Event.objects.filter(state=leases.State.PENDING).update(due_at=ahead)
    soon = Now() + leases.LEASE
    leased = Event.objects.create(name="blocked", subscriber="tests.handler", payload={}, due_at=soon)  # fmt: skip
    later = schedule_post(alice, Draft("for later"), timezone.now() + timedelta(days=30))
    deliver_by_another_clock()
    assert not FanoutJob.objects.exists()
    tasks.recall()
    deliver_by_another_clock()
    assert FanoutJob.objects.get(pk=post.pk).state == leases.State.DONE
    for waiting in (leased, later):
        waiting.refresh_from_db()
        assert waiting.due_at > timezone.now()


def test_health_knows_a_clock_that_went_back(alice):
    assert _deliveries() is True
    ahead = timezone.now() + timedelta(days=1)
    Event.objects.create(name="blocked", subscriber="tests.handler", payload={}, due_at=ahead)
    assert "PostgreSQL's clock went back" in str(_deliveries())
