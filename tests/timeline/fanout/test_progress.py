"""The delivery ledger: lists are cut a part at a time, and at any moment every follower is accounted for."""

import tracemalloc
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.models import UserCounts
from apps.events.leases import LEASE, MAX_ATTEMPTS, State
from apps.timeline.fanout import dispatch, receipts, split
from apps.timeline.fanout import progress as progresses
from apps.timeline.fanout.progress import delivery_progress, discard_dead, with_receipts
from apps.timeline.models import FanoutChunk, FanoutJob, Mode
from apps.timeline.sources.home_cache import HOME
from tests.support.factories import deliver, delivered, make_user, publish

pytestmark = pytest.mark.django_db


def crowd(author, number):
    """So many followers, all dormant but the first, who is online."""
    fans = [make_user() for _ in range(number)]
    with connection.cursor() as sql:
        sql.executemany(
            "INSERT INTO graph_follower (owner_id, follower_id, created_at) VALUES (%s, %s, now())",
            [(author.pk, fan.pk) for fan in fans],
        )
    UserCounts.objects.filter(pk=author.pk).update(followers=number)
    HOME.swap(fans[0].pk, HOME.begin(fans[0].pk) or "", [], complete=True)
    return fans


def progress(post):
    return delivery_progress(with_receipts(FanoutJob.objects.filter(pk=post.pk)).get())


def adds_up(post):
    now = progress(post)
    return now.expected == now.delivered + now.dormant + now.pending


@pytest.fixture
def long_list(alice, settings, monkeypatch):
    """Twenty-three followers, chunks of two, three chunks in a batch."""
    settings.FANOUT_CHUNK_SIZE = 2
    monkeypatch.setattr(split, "CHUNKS_PER_BATCH", 3)
    return crowd(alice, 23)


def test_every_follower_is_accounted_for_at_every_step(alice, long_list):
    post = publish(alice)
    dispatch.start_job(post.pk)
    assert (progress(post).expected, progress(post).pending) == (23, 23)
    job = FanoutJob.objects.get(pk=post.pk)
    for batch in split.batches(job, alice.pk):
        assert adds_up(post)
        dispatch.run_due(limit=1, only=batch.chunk_ids)
        assert adds_up(post)
        assert progress(post).expected == 23
    while dispatch.run_due(limit=1):
        assert adds_up(post)
    done = progress(post)
    assert (done.expected, done.delivered, done.dormant, done.pending) == (23, 1, 22, 0)


def test_the_first_chunks_are_rung_while_the_last_are_not_cut(alice, long_list, monkeypatch):
    post = publish(alice)
    dispatch.start_job(post.pk)
    known_at_ring = []
    monkeypatch.setattr(
        dispatch,
        "enqueue",
        lambda *_args, **_queue: known_at_ring.append(FanoutChunk.objects.count()),
    )
    dispatch.run_splits(limit=1)
    assert known_at_ring == [3] * 3 + [6] * 3 + [9] * 3 + [12] * 3


def test_large_deliveries_wait_in_a_queue_of_their_own(alice, long_list, monkeypatch):
    rung = []
    monkeypatch.setattr(
        dispatch, "enqueue", lambda name, *_args, queue=None: rung.append((name, queue))
    )
    dispatch.start_job(publish(alice).pk)
    dispatch.run_splits(limit=1)
    assert rung[0] == ("apps.timeline.tasks.split_job", None)  # by its route
    assert set(rung[1:]) == {("apps.timeline.tasks.deliver_chunk", "fanout_bulk")}


class Killed(BaseException):
    """What no handler catches."""


def test_a_dispatcher_that_dies_midway_is_gone_on_with_where_it_was(alice, long_list, monkeypatch):
    post = publish(alice)
    dispatch.start_job(post.pk)

    def die_after(left, cut=split.next_batch):
        def mortal(*args, **options):
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return cut(*args, **options)

        return mortal

    with monkeypatch.context() as patch:
        patch.setattr(split, "next_batch", die_after(2))
        with pytest.raises(Killed):
            dispatch.run_splits(limit=1)
    before = list(FanoutChunk.objects.order_by("pk").values_list("pk", "first_edge"))
    assert len(before) == 6
    assert dispatch.run_splits(limit=1) == 0  # its lease still runs
    FanoutJob.objects.update(due_at=timezone.now())
    assert dispatch.run_splits(limit=1) == 1
    after = list(FanoutChunk.objects.order_by("pk").values_list("pk", "first_edge"))
    assert after[:6] == before
    assert len(after) == 12
    deliver()
    assert (progress(post).delivered, progress(post).dormant) == (1, 22)


def test_every_batch_renews_the_lease_and_forgives_the_tries(alice, long_list):
    post = publish(alice)
    dispatch.start_job(post.pk)
    job = FanoutJob.objects.get(pk=post.pk)
    FanoutJob.objects.update(attempts=4, due_at=timezone.now())
    split.next_batch(job, alice.pk, max_chunks=1)
    job.refresh_from_db()
    assert job.attempts == 1
    assert job.due_at > timezone.now() + LEASE - timedelta(seconds=15)


@pytest.mark.long
def test_cutting_takes_the_same_memory_for_any_list(alice, settings):
    settings.FANOUT_CHUNK_SIZE = 10
    crowd(alice, 5)
    with connection.cursor() as sql:  # edges of nobody: they are counted, not delivered
        sql.execute(
            "INSERT INTO graph_follower (owner_id, follower_id, created_at)"
            " SELECT %s, 100000000 + n, now() FROM generate_series(1, 40000) n",
            [alice.pk],
        )
    job = FanoutJob.objects.create(post=publish(alice), mode=Mode.ONLINE, followers=40005)
    cut = 0
    tracemalloc.start()
    for batch in split.batches(job, alice.pk):
        cut += len(batch.chunk_ids)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cut == 4001
    assert peak < 1_000_000  # bytes; the edges alone would take more
    with connection.cursor() as sql:
        sql.execute("DELETE FROM graph_follower WHERE follower_id > 100000000")


def test_a_dispatcher_that_always_dies_is_a_dead_letter_and_can_be_tried_again(alice, long_list):
    post = publish(alice)
    dispatch.start_job(post.pk)
    FanoutJob.objects.update(attempts=MAX_ATTEMPTS, due_at=timezone.now())
    assert dispatch.run_splits(limit=1) == 0
    assert FanoutJob.objects.get(pk=post.pk).state == State.DEAD
    assert progress(post).pending == 23
    assert dispatch.retry_dead([post.pk]) == 1
    deliver()
    assert (progress(post).delivered, progress(post).pending) == (1, 0)


def test_chunks_that_are_given_up_stay_in_the_book_as_lost(alice, long_list):
    post = publish(alice)
    dispatch.start_job(post.pk)
    dispatch.run_splits(limit=1)
    FanoutChunk.objects.filter(pk=FanoutChunk.objects.latest("pk").pk).update(state=State.DEAD)
    deliver()
    assert progress(post).pending == 1
    assert discard_dead([post.pk]) == 1
    done = progress(post)
    assert (done.expected, done.pending, done.lost) == (23, 0, 1)
    assert discard_dead([post.pk]) == 0


def test_the_rest_of_a_list_that_is_given_up_is_lost_too(alice, long_list):
    post = publish(alice)
    dispatch.start_job(post.pk)
    split.next_batch(FanoutJob.objects.get(pk=post.pk), alice.pk, max_chunks=3)
    FanoutJob.objects.update(state=State.DEAD)
    assert discard_dead([post.pk]) == 1
    deliver()
    done = progress(post)
    assert (done.expected, done.lost, done.delivered + done.dormant) == (23, 17, 6)


def test_what_is_retried_in_the_meantime_is_not_given_up(alice, long_list, monkeypatch):
    post = publish(alice)
    dispatch.start_job(post.pk)
    split.next_batch(FanoutJob.objects.get(pk=post.pk), alice.pk, max_chunks=3)
    chunk = FanoutChunk.objects.earliest("pk")
    FanoutJob.objects.update(state=State.DEAD)

    def retried(job):
        dispatch.retry_dead([job.pk])
        return delivery_progress(job)

    monkeypatch.setattr(progresses, "delivery_progress", retried)
    assert discard_dead([post.pk]) == 0
    assert not receipts.write(chunk, {"expected": chunk.expected, "lost": chunk.expected})
    deliver()
    done = progress(post)
    assert (done.expected, done.lost, done.delivered + done.dormant) == (23, 0, 23)


def test_a_job_remembers_how_its_post_was_delivered(alice):
    delivered(alice)
    assert FanoutJob.objects.get().mode == Mode.ONLINE
