"""Unread is what came since the reader looked, whatever its id: a slow delivery hides nothing."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from apps.errors import BadRequest
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.posts.actions.publish import delete_post
from apps.timeline.history.unread import ReadPosition, get_activity, may_have_unread
from feedcache.connections import timelines
from tests.support.factories import deliver, delivered, make_user, publish, seconds_ago
from tests.support.pages import ids

pytestmark = pytest.mark.django_db


@pytest.fixture
def dora(bob):
    dora = make_user("dora")
    follow_user(bob, dora)
    deliver()
    return dora


@pytest.fixture
def place(bob, alice):
    """Bob has looked at his home timeline."""
    with seconds_ago(4):
        publish(alice, "seen")
    deliver()
    return get_activity(bob).last_id


def late_post(author, other):
    """A post with an older id than one that is already in the windows when it comes."""
    with seconds_ago(2):
        slow = publish(author, "slow")
    held = list(Event.objects.filter(name="post_published", payload__post_id=slow.pk))
    Event.objects.filter(pk__in=[event.pk for event in held]).update(due_at="2100-01-01T00:00Z")
    quick = delivered(other, "quick")
    return slow, quick, held


def arrive(held):
    Event.objects.filter(pk__in=[event.pk for event in held]).update(due_at="2020-01-01T00:00Z")
    deliver()


def test_a_post_that_comes_late_with_an_older_id_is_unread_once(bob, alice, dora, place):
    slow, quick, held = late_post(dora, alice)
    looked = get_activity(bob, place)
    assert ids(looked) == [quick.pk]
    arrive(held)
    assert slow.pk < quick.pk
    assert may_have_unread(bob, ReadPosition.parse(looked.last_id))
    again = get_activity(bob, looked.last_id)
    assert ids(again) == [slow.pk]
    # the clocks may differ by a second, so for a second it may be told twice; then never again
    with time_machine.travel(timezone.now() + timedelta(seconds=2)):
        later = get_activity(bob, again.last_id)
        assert ids(get_activity(bob, later.last_id)) == []


def test_the_pill_counts_what_came_late(page_of, bob, alice, dora, place):
    _slow, quick, held = late_post(dora, alice)
    browser = page_of(bob)
    home = browser.get("/home").content.decode()
    last_id = home.split("home/new?last_id=")[1].split('"')[0]
    assert last_id.startswith(f"{quick.pk}-")
    htmx = {"HX-Request": "true"}
    assert browser.get(f"/home/new?last_id={last_id}", headers=htmx).status_code == 204
    arrive(held)
    pill = browser.get(f"/home/new?last_id={last_id}", headers=htmx)
    assert "1 new post" in pill.content.decode()


def test_in_its_place_on_the_page_it_stands_by_its_id(bob, alice, dora, place):
    slow, quick, held = late_post(dora, alice)
    arrive(held)
    assert ids(get_activity(bob))[:2] == [quick.pk, slow.pk]


def test_newer_posts_are_unread_in_pieces_that_leave_nothing_out(bob, alice, place):
    posts = [publish(alice, str(number)).pk for number in range(7)]
    deliver()
    seen, last_id, more = [], place, True
    while more:
        activity = get_activity(bob, last_id, limit=3)
        seen += reversed(ids(activity))
        last_id, more = activity.last_id, activity.more
    assert seen == posts


@pytest.mark.parametrize("act", [unfollow_user, mute_user, block_user])
def test_what_does_not_belong_any_more_is_not_unread(bob, alice, dora, place, act):
    _slow, quick, held = late_post(dora, alice)
    arrive(held)
    act(bob, dora)
    assert ids(get_activity(bob, place)) == [quick.pk]


def test_what_was_deleted_is_not_unread(bob, alice, dora, place):
    slow, quick, held = late_post(dora, alice)
    arrive(held)
    delete_post(slow.pk, by=dora)
    assert ids(get_activity(bob, place)) == [quick.pk]


def test_what_a_follow_brings_is_not_unread(bob, place):
    eve = make_user("eve")
    with seconds_ago(2):
        publish(eve, "before")
    mine = publish(bob, "the newest of all")
    deliver()
    place = get_activity(bob).last_id
    follow_user(bob, eve)
    deliver()
    assert ids(get_activity(bob, place)) == []
    assert mine.pk in ids(get_activity(bob))


def test_a_place_from_before_the_caches_were_lost_still_works(bob, alice, place):
    timelines().flushdb()
    new = delivered(alice, "after the loss")
    assert ids(get_activity(bob, place)) == [new.pk]


def test_a_plain_id_is_a_place(bob, alice, place):
    with seconds_ago(2):
        first = publish(alice, "one")
    second = publish(alice, "two")
    deliver()
    assert ids(get_activity(bob, str(first.pk))) == [second.pk]


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "-1",
        "1-",
        "-",
        "1-2-3",
        "٣-1",
        "9" * 20,
        "9999999999999999999-1",
        "1-" + "9" * 16,
        "\0",
    ],
)
def test_what_is_no_place_is_refused(bob, text):
    with pytest.raises(BadRequest):
        get_activity(bob, text)


def test_a_wrong_place_is_400_for_programs_and_people(api_of, page_of, bob):
    assert api_of(bob).get("/api/x/activity?last_id=zzz").status_code == 400
    assert (
        page_of(bob).get("/home/new?last_id=zzz", headers={"HX-Request": "true"}).status_code == 400
    )


def test_programs_read_what_is_unread(api_of, bob, alice, place):
    api = api_of(bob)
    first = api.get("/api/x/activity").json()
    assert len(first["items"]) == 1
    new = delivered(alice, "news")
    answer = api.get("/api/x/activity", {"last_id": first["last_id"]}).json()
    assert [one["id"] for one in answer["items"]] == [str(new.pk)]
    assert answer["more"] is False
    assert api.get("/api/x/activity", {"last_id": answer["last_id"]}).json()["items"] == []
