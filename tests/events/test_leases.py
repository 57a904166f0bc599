from functools import partial

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.events import leases
from apps.events.leases import MAX_ATTEMPTS, State
from apps.events.models import Event
from tests.support.threads import together

pytestmark = pytest.mark.django_db


def make_events(number=1, **fields):
    return [
        Event.objects.create(name="blocked", subscriber="tests.handler", payload={}, **fields)
        for _ in range(number)
    ]


def lease_runs_out():
    Event.objects.filter(state=State.PENDING).update(due_at=timezone.now())


def test_a_claimed_row_is_claimed_by_nobody_else_until_its_lease_runs_out():
    (event,) = make_events()
    assert leases.claim(Event, limit=5) == [event]
    assert leases.claim(Event, limit=5) == []
    lease_runs_out()
    assert leases.claim(Event, limit=5) == [event]


def test_rows_are_claimed_longest_due_first_up_to_the_limit():
    events = make_events(3)
    assert leases.claim(Event, limit=2) == events[:2]
    assert leases.claim(Event, limit=2) == events[2:]


@pytest.mark.long
def test_what_is_done_is_not_looked_at_while_a_backlog_is_worked_off():
    """The planner's own choice: once it took the primary key,
    past every row that was done, and got slower by the day.
    """
    make = [Event(name="blocked", subscriber="tests.handler", payload={}, state=State.DONE)]
    Event.objects.bulk_create(make * 20_000)
    make_events(2_000)
    with connection.cursor() as sql:
        sql.execute("ANALYZE events_event")
    with CaptureQueriesContext(connection) as captured:
        assert len(leases.claim(Event, limit=20)) == 20
    (query,) = captured.captured_queries
    with connection.cursor() as sql:
        sql.execute("EXPLAIN " + query["sql"])
        plan = "\n".join(row[0] for row in sql.fetchall())
    assert "using event_due" in plan
    assert "Sort" not in plan


@pytest.mark.long
def test_a_row_is_found_by_its_key_though_statistics_are_older_than_the_backlog():
    """The planner took an index of unhandled rows, which had been empty when it was analysed, and so read the whole
    backlog for each row that was done.
    """
    event = {"name": "blocked", "subscriber": "tests.handler", "payload": {}}
    Event.objects.bulk_create([Event(**event, state=State.DONE)] * 20_000)
    with connection.cursor() as sql:
        sql.execute("ANALYZE events_event")
    Event.objects.bulk_create([Event(**event)] * 2_000)
    claimed = leases.claim(Event, limit=20)
    with CaptureQueriesContext(connection) as captured:
        leases.run(claimed, lambda _event: None)
    (query,) = captured.captured_queries
    with connection.cursor() as sql:
        sql.execute("EXPLAIN " + query["sql"])
        plan = "\n".join(row[0] for row in sql.fetchall())
    assert "using events_event_pkey" in plan
    assert not Event.objects.filter(pk__in=[event.pk for event in claimed]).exclude(
        state=State.DONE
    )


def test_only_the_named_rows_are_claimed():
    events = make_events(3)
    assert leases.claim(Event, limit=3, only=[events[1].pk]) == [events[1]]
    assert leases.claim(Event, limit=3, only=[]) == []


def test_rows_that_are_done_dead_or_not_yet_due_are_left_alone():
    make_events(state=State.DONE)
    make_events(state=State.DEAD)
    make_events(due_at=timezone.now() + leases.RETRY_AFTER)
    assert leases.claim(Event, limit=5) == []


def test_a_row_that_kills_its_worker_every_time_becomes_a_dead_letter():
    """Nobody reports the failure: the lease runs out each time."""
    (poison,) = make_events()
    for _ in range(MAX_ATTEMPTS):
        assert leases.claim(Event, limit=1) == [poison]
        lease_runs_out()
    assert leases.claim(Event, limit=1) == []
    poison.refresh_from_db()
    assert (poison.state, poison.attempts) == (State.DEAD, MAX_ATTEMPTS)
    assert poison.finished_at is not None


def test_a_late_failure_does_not_undo_what_another_worker_finished():
    (event,) = make_events()
    (slow,) = leases.claim(Event, limit=1)
    lease_runs_out()
    (quick,) = leases.claim(Event, limit=1)
    leases.finish(quick)
    leases.fail(slow, RuntimeError("too late"))
    leases.postpone(slow)
    event.refresh_from_db()
    assert (event.state, event.last_error) == (State.DONE, "")


@pytest.mark.parametrize(
    "end", [leases.postpone, partial(leases.fail, error=RuntimeError("too late"))]
)
def test_a_late_worker_leaves_the_lease_of_another(end):
    make_events()
    (slow,) = leases.claim(Event, limit=1)
    lease_runs_out()
    (quick,) = leases.claim(Event, limit=1)
    before = Event.objects.get()
    end(slow)
    after = Event.objects.get()
    assert (after.attempts, after.due_at) == (before.attempts, before.due_at) == (2, quick.due_at)


def test_pauses_grow_with_the_tries():
    (event,) = make_events()
    pauses = []
    for _ in range(MAX_ATTEMPTS - 1):
        (row,) = leases.claim(Event, limit=1)
        leases.fail(row, RuntimeError())
        event.refresh_from_db()
        pauses.append(event.due_at - timezone.now())
        lease_runs_out()
    assert pauses == sorted(pauses)


def test_an_endless_error_text_is_cut():
    make_events()
    (row,) = leases.claim(Event, limit=1)
    leases.fail(row, RuntimeError("x" * 100_000))
    row.refresh_from_db()
    assert len(row.last_error) == leases.ERROR_MAX_CHARACTERS


@pytest.mark.django_db(transaction=True)
def test_a_claimer_does_not_wait_for_the_rows_of_another():
    events = make_events(3)

    def claim_without_waiting(_index):
        with transaction.atomic(), connection.cursor() as sql:
            sql.execute("SET LOCAL lock_timeout = '1ms'")
            return leases.claim(Event, limit=3)

    with transaction.atomic():
        assert leases.claim(Event, limit=1) == events[:1]
        assert together(1, claim_without_waiting) == [events[1:]]


@pytest.mark.django_db(transaction=True)
def test_rows_are_shared_out_among_claimers():
    make_events(40)
    claimed = together(8, lambda _index: [row.pk for row in leases.claim(Event, limit=5)])
    pks = [pk for share in claimed for pk in share]
    assert len(pks) == len(set(pks))
    assert set(pks) | {row.pk for row in leases.claim(Event, limit=40)} == set(
        Event.objects.values_list("pk", flat=True)
    )
