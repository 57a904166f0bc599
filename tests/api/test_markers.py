"""Read markers: how far somebody has read, the same on all their devices."""

import pytest

from apps.notifications.models import ReadMarker
from tests.support.threads import together

pytestmark = pytest.mark.django_db

MARKERS = "/api/v1/markers"


def test_nothing_is_marked_at_first(api_of, alice):
    assert api_of(alice).get(MARKERS).json() == {}


def test_a_marker_is_kept_and_told(api_of, alice, bob):
    api = api_of(alice)
    answer = api.post(MARKERS, {"home": {"last_read_id": "103"}}, format="json")
    assert answer.status_code == 200
    marker = answer.json()["home"]
    assert (marker["last_read_id"], marker["version"]) == ("103", 1)
    assert api.get(f"{MARKERS}?timeline[]=home").json() == answer.json()
    assert api.get(f"{MARKERS}?timeline[]=notifications").json() == {}
    assert api_of(bob).get(MARKERS).json() == {}


def test_a_marker_never_goes_back_and_marking_twice_is_once(api_of, alice):
    api = api_of(alice)
    for number in ("103", "50", "103"):
        api.post(MARKERS, {"home": {"last_read_id": number}}, format="json")
    marker = api.get(MARKERS).json()["home"]
    assert (marker["last_read_id"], marker["version"]) == ("103", 1)
    api.post(MARKERS, {"home": {"last_read_id": "104"}}, format="json")
    assert api.get(MARKERS).json()["home"]["version"] == 2


def test_reading_notifications_in_the_browser_moves_their_marker(api_of, page_of, alice, bob):
    page_of(alice).get("/notifications")
    assert set(api_of(alice).get(MARKERS).json()) <= {"notifications"}
    api_of(alice).post(
        MARKERS,
        {"notifications": {"last_read_id": "9"}, "home": {"last_read_id": "7"}},
        format="json",
    )
    assert set(api_of(alice).get(MARKERS).json()) == {"home", "notifications"}


@pytest.mark.parametrize(
    "body",
    [
        {"home": {"last_read_id": "x"}},
        {"home": {"last_read_id": "9999999999999999999"}},
        {"home": 3},
        {"home": {}},
        {"home": {"last_read_id": "5"}, "notifications": {"last_read_id": "9999999999999999999"}},
    ],
)
def test_what_is_no_marker_is_422_and_changes_nothing(api_of, alice, body):
    assert api_of(alice).post(MARKERS, body, format="json").status_code == 422
    assert not ReadMarker.objects.exists()


def test_unknown_timelines_are_ignored(api_of, alice):
    answer = api_of(alice).post(MARKERS, {"lists": {"last_read_id": "5"}}, format="json")
    assert (answer.status_code, answer.json()) == (200, {})


@pytest.mark.django_db(transaction=True)
def test_many_devices_at_once_leave_the_highest(api_of, alice):
    def mark(number):
        body = {"home": {"last_read_id": str(number + 1)}}
        return api_of(alice).post(MARKERS, body, format="json").status_code

    assert set(together(8, mark)) == {200}
    assert api_of(alice).get(MARKERS).json()["home"]["last_read_id"] == "8"
