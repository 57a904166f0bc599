"""The event outbox in the admin."""

from typing import Any

import pytest

from apps.events.leases import State
from apps.events.models import Event
from tests.support.staff import MAX_QUERIES, browser_of, choose, confirm, make_staff

pytestmark = pytest.mark.django_db
EVENTS = "/admin/events/event/"


@pytest.fixture
def dead():
    return _event(state=State.DEAD, attempts=5, last_error="ValueError: no")


def _event(**fields: Any) -> Event:
    subscriber = "apps.timeline.handlers.drop_home_caches"
    return Event.objects.create(
        name="graph_loaded", subscriber=subscriber, payload={"user_ids": []}, **fields
    )


def test_list_in_few_queries(chief, django_assert_max_num_queries):
    for _ in range(3):
        _event()
    with django_assert_max_num_queries(MAX_QUERIES):
        assert chief.get(EVENTS).content.decode().count("drop_home_caches</td>") == 3


def test_search_by_number(chief, dead):
    for query, there in {str(dead.pk): True, "99999": False, "abc": False, "9" * 40: False}.items():
        found = f"{EVENTS}{dead.pk}/change/" in chief.get(EVENTS, {"q": query}).content.decode()
        assert found == there, query


def test_retry_takes_dead_letters_only(chief, dead):
    pending = _event(attempts=3)
    text = choose(chief, EVENTS, "retry", [dead, pending]).content.decode()
    assert "1 event will be retried." in text
    rows = Event.objects.order_by("pk").values_list("state", "attempts")
    assert list(rows) == [(State.PENDING, 0), (State.PENDING, 3)]


def test_discard_asks_and_takes_dead_letters_only(chief, dead):
    pending = _event()
    assert (
        "Discard 1 dead letter?"
        in choose(chief, EVENTS, "discard", [dead, pending]).content.decode()
    )
    assert Event.objects.count() == 2
    text = confirm(chief, EVENTS, "discard", [dead, pending]).content.decode()
    assert "1 event discarded." in text
    assert Event.objects.get() == pending


def test_events_are_not_written_by_hand(chief, dead):
    page = f"{EVENTS}{dead.pk}/change/"
    assert "ValueError: no" in chief.get(page).content.decode()
    assert chief.post(page, {"state": "done"}).status_code == 403
    assert chief.get(f"{EVENTS}add/").status_code == 403
    assert chief.post(f"{EVENTS}{dead.pk}/delete/", {"post": "yes"}).status_code == 403


def test_actions_need_their_rights(dead):
    viewer = browser_of(make_staff("events.view_event"))
    choose(viewer, EVENTS, "retry", [dead])
    confirm(viewer, EVENTS, "discard", [dead])
    assert Event.objects.get().state == State.DEAD
