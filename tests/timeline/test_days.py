"""Jumping to a day, on pages and in the API, is ordinary paging from there."""

from datetime import UTC, datetime

import pytest

from apps.posts import store
from tests.support.factories import deliver, publish
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db

NOON = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp())
DAY = 86_400


@pytest.fixture
def days(alice, monkeypatch):
    """Three posts of alice, the oldest first, on days that follow each other; with their deliveries."""
    posts = []
    for number, body in enumerate(["Thursday's pear", "Friday's pear", "Saturday's pear"]):
        at = float(NOON + number * DAY)
        monkeypatch.setattr(store, "clock", lambda _counts, at=at: at)
        posts.append(publish(alice, body))
    monkeypatch.undo()
    deliver()
    return posts


def ids(answer):
    assert answer.status_code == 200, answer.content
    found = answer.json()
    return [status["id"] for status in (found["statuses"] if isinstance(found, dict) else found)]


@pytest.mark.slow
def test_a_timeline_begins_at_the_end_of_a_day(days, alice, bob, api_of, subtests):
    client = api_of(bob)
    texts = [str(post.pk) for post in reversed(days)]
    for path in (
        "/api/v1/timelines/home?",
        "/api/v1/timelines/public?",
        f"/api/v1/accounts/{alice.pk}/statuses?",
        "/api/v2/search?type=statuses&q=pear&",
    ):
        with subtests.test(path=path):
            assert ids(client.get(f"{path}date=2026-11-21")) == texts[1:]
            assert ids(client.get(f"{path}until=2026-11-21T12:00:00Z")) == texts[1:]
            assert ids(client.get(f"{path}until=2026-11-21T11:59:59Z")) == texts[2:]
            assert ids(client.get(f"{path}date=2026-11-19")) == []
            assert ids(client.get(f"{path}date=2026-11-21&max_id={texts[1]}")) == texts[2:]
            assert client.get(f"{path}date=soon").status_code == 400


def test_paging_goes_on_from_a_day(days, bob, api_of):
    client = api_of(bob)
    first = client.get("/api/v1/timelines/home?date=2026-11-21&limit=1")
    assert ids(first) == [str(days[1].pk)]
    older = first["Link"].split(">")[0].removeprefix("<http://testserver")
    assert ids(client.get(older)) == [str(days[0].pk)]


def test_other_lists_refuse_a_day(bob, api_of):
    client = api_of(bob)
    for path in ("v1/bookmarks", "v1/notifications", "x/ranked", "x/aggregate"):
        for name in ("date", "until", "as_of"):
            answer = client.get(f"/api/{path}?{name}=2026-11-21")
            assert answer.status_code == 400, (path, name)


@pytest.mark.parametrize("path", ["/", "/@alice"])
def test_a_page_jumps_to_a_day(path, days, bob, page_of):
    client = page_of(bob)
    text = client.get(f"{path}?date=2026-11-21").content.decode()
    assert "Friday" in text
    assert "Saturday" not in text
    assert f"?min_id={days[1].pk}" in text  # up again
    assert 'value="2026-11-21"' in text
    empty = client.get(f"{path}?date=2026-11-19").content.decode()
    assert EMPTY in empty


def test_a_search_looks_below_a_day(days, bob, page_of):
    text = page_of(bob).get("/search?q=pear&date=2026-11-21").content.decode()
    assert "Friday" in text
    assert "Saturday" not in text


def test_a_day_that_is_none_is_a_plain_error(bob, page_of):
    answer = page_of(bob).get("/?date=gestern")
    assert answer.status_code == 400
