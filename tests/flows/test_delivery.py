"""Publish, fan out, read: through the real API, a real broker and a real worker."""

import signal
from typing import Any

import pytest

from apps.events.leases import LEASE, MAX_ATTEMPTS, State
from apps.events.models import Event
from apps.graph.models import Followee, Follower
from apps.timeline.models import FanoutChunk, FanoutJob
from apps.timeline.sources.home_cache import HOME
from feedsite.celery import app
from tests.support.factories import make_user
from tests.support.processes import start_worker, stop
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows


def texts(api):
    return [status["content"] for status in api.get("/api/v1/timelines/home").json()]


@pytest.mark.gate
def test_a_post_reaches_a_followers_home_through_the_worker(worker, alice, bob, api_of):
    bobs, alices = api_of(bob), api_of(alice)
    assert texts(bobs) == []
    assert alices.post("/api/v1/statuses", {"status": "Good morning."}).status_code == 200
    wait_until(lambda: texts(bobs) == ["<p>Good morning.</p>"], "the post is delivered")
    wait_until(lambda: not Event.objects.exclude(state=State.DONE).exists(), "all events are done")


def test_what_happened_while_no_worker_ran_is_delivered_later(
    transactional_db, alice, bob, api_of, tmp_path
):
    bobs = api_of(bob)
    texts(bobs)
    api_of(alice).post("/api/v1/statuses", {"status": "Nobody is listening."})
    flush_broker()  # and the doorbell is lost
    process = start_worker(tmp_path)
    try:
        wait_until(lambda: len(texts(bobs)) == 1, "the post is delivered")
    finally:
        stop(process)


def test_a_killed_worker_loses_no_delivery(transactional_db, alice, api_of, tmp_path, monkeypatch):
    monkeypatch.setenv("FANOUT_CHUNK_SIZE", "5")
    readers = followers_online(alice, 30, api_of)
    first = start_worker(tmp_path)
    api = api_of(alice)
    ids = [
        int(api.post("/api/v1/statuses", {"status": f"post {n}"}).json()["id"]) for n in range(10)
    ]
    stop(first, signal.SIGKILL)
    Event.objects.filter(state=State.PENDING).update(
        due_at="2020-01-01T00:00Z"
    )  # the leases run out
    for rows in (FanoutJob, FanoutChunk):
        rows.objects.filter(state=State.PENDING).update(due_at="2020-01-01T00:00Z")
    second = start_worker(tmp_path)
    try:
        expected = sorted(ids, reverse=True)
        wait_until(
            lambda: all(HOME.ids(reader.pk) == expected for reader in readers),
            "the second worker delivers the rest",
        )
    finally:
        stop(second)


def test_a_chunk_that_kills_every_worker_is_parked_and_the_others_go_out(
    transactional_db, alice, api_of, tmp_path, monkeypatch
):
    monkeypatch.setenv("FANOUT_CHUNK_SIZE", "2")
    readers = followers_online(alice, 8, api_of)
    edges = list(Follower.objects.order_by("pk").values_list("pk", flat=True))
    monkeypatch.setenv("POISONED_EDGE", str(edges[2]))  # the first of the second chunk
    process = start_worker(tmp_path, app="tests.flows.poison")
    try:
        api_of(alice).post("/api/v1/statuses", {"status": "Poison for some."})
        poisoned = FanoutChunk.objects.filter(first_edge=edges[2])
        for tries in range(1, MAX_ATTEMPTS + 1):
            tried = poisoned.filter(attempts=tries)
            wait_until(tried.exists, "a worker tries the poisoned chunk again")
            poisoned.update(due_at="2020-01-01T00:00Z")  # the lease runs out
        wait_until(
            lambda: poisoned.filter(state=State.DEAD).exists(), "the poisoned chunk is parked"
        )
        others = FanoutChunk.objects.exclude(first_edge=edges[2])
        # a worker that dies may hold one of them, until its lease runs out
        longest = 2 * LEASE.total_seconds()
        wait_until(
            lambda: not others.exclude(state=State.DONE).exists(),
            "the other chunks go out",
            seconds=longest,
        )
        assert others.count() == 3
        assert [len(HOME.ids(reader.pk)) for reader in readers] == [1, 1, 0, 0, 1, 1, 1, 1]
    finally:
        stop(process)


def followers_online(author, number, api_of):
    readers = [make_user() for _ in range(number)]
    Followee.objects.bulk_create(Followee(owner=reader, followee=author) for reader in readers)
    Follower.objects.bulk_create(Follower(owner=author, follower=reader) for reader in readers)
    for reader in readers:
        assert texts(api_of(reader)) == []
    return readers


def flush_broker():
    channel: Any = app.connection_for_write().default_channel
    channel.client.flushdb()
