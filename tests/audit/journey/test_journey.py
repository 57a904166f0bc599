"""The journey of a post: its numbers are those of the ledger, and only its author and staff see them."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from apps.audit.journey.post import Stage, journey_of
from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.errors import NotAllowed, NotFound
from apps.events.leases import State
from apps.events.models import Event
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.posts.cache import CACHED_POSTS
from apps.timeline.fanout.author_receipts import MIN_FOLLOWERS, VIEW_RECEIPTS, read_post
from apps.timeline.fanout.lag import DELIVERY
from apps.timeline.fanout.progress import delivery_progress, with_receipts
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob, Policy
from apps.web.audit.picture import MAX_BOXES, MAX_DOTS, picture_of
from tests.support.factories import deliver, delivered, make_follow, make_user, publish
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db


def ledger_of(post):
    """What the ledger says, by the code that staff's lists use."""
    found = delivery_progress(with_receipts(FanoutJob.objects.filter(pk=post.pk)).get())
    return found.expected, found.delivered, found.dormant, found.pending, found.lost


def told(journey):
    receipt = journey.receipt
    return receipt.expected, receipt.reached, receipt.dormant, receipt.pending, receipt.failed


def seen(viewer, post):
    return journey_of(viewer, post.pk)


def job_of(post):
    return FanoutJob.objects.get(pk=post.pk)


def drawn(journey, *, after=None):
    return picture_of(journey, after=after)


@pytest.mark.slow
def test_its_numbers_are_those_of_the_ledger_at_any_moment(alice, settings):
    settings.FANOUT_CHUNK_SIZE = 3
    for number in range(24):
        reader = make_user()
        make_follow(reader, alice)
        if number % 3:
            home_timeline(reader, Cursor())
    post = delivered(alice)
    journey = seen(alice, post)
    assert told(journey) == ledger_of(post) == (24, 16, 8, 0, 0)
    assert sum(chunk.delivered for chunk in journey.chunks) == 16
    assert sum(reached for _second, reached in journey.per_second) == 16
    assert journey.stages == {
        Stage.WAITING: 0, Stage.RUNNING: 0, Stage.DONE: 8, Stage.FAILED: 0
    }  # fmt: skip
    assert journey.receipts == 8
    assert not journey.is_under_way

    # as it was in the middle of it: three chunks wait, one is at a worker, one is dead
    rows = list(FanoutChunk.objects.filter(job=post.pk).order_by("first_edge"))
    undone = {"state": State.PENDING, "finished_at": None, "delivered": 0, "dormant": 0}
    ids = [row.pk for row in rows]
    FanoutChunk.objects.filter(pk__in=ids[:3]).update(**undone, attempts=0, number=0)
    FanoutChunk.objects.filter(pk=ids[3]).update(**undone, attempts=1)
    FanoutChunk.objects.filter(pk=ids[4]).update(**undone | {"state": State.DEAD})
    journey = seen(alice, post)
    expected, delivered_, dormant, pending, lost = ledger_of(post)
    assert told(journey) == (expected, delivered_, dormant, pending - 3, lost + 3)  # the dead one
    assert [chunk.stage for chunk in journey.chunks[:6]] == [
        *[Stage.WAITING] * 3, Stage.RUNNING, Stage.FAILED, Stage.DONE
    ]  # fmt: skip
    assert journey.is_under_way


@pytest.mark.long
def test_its_times_are_those_of_the_rows(alice, readers):
    post = publish(alice)
    assert seen(alice, post).job is None
    assert seen(alice, post).committed is not None  # its event waits
    deliver()
    journey = seen(alice, post)
    event = Event.objects.get(subscriber=DELIVERY, payload__post_id=post.pk)
    job = job_of(post)
    assert journey.accepted_at == post.created_at
    assert journey.committed == (event.created_at - post.created_at).total_seconds()
    assert journey.job == (job.created_at - post.created_at).total_seconds()
    assert journey.committed <= journey.taken <= journey.job
    for chunk in journey.chunks:
        assert chunk.waited >= 0
        assert journey.job < chunk.waited + chunk.took + journey.job
        assert journey.job <= chunk.done_after
    Event.objects.all().delete()  # they are kept for some days, the ledger for ever
    assert (seen(alice, post).committed, seen(alice, post).taken) == (None, None)
    assert seen(alice, post).job == journey.job


@pytest.mark.slow
def test_a_pulled_post_goes_nowhere(alice, readers):
    set_author_policy(alice, Policy.PULL, by="a test")
    journey = seen(alice, delivered(alice))
    assert journey.is_pulled
    assert (journey.chunks, journey.followers, journey.is_under_way) == ([], 10, False)
    assert [box.dots[0].kind for box in drawn(journey).boxes] == ["dormant"]


@pytest.mark.slow
def test_the_first_read_is_that_of_a_follower_and_names_nobody(alice, readers):
    assert len(readers) == MIN_FOLLOWERS
    post = delivered(alice)
    passer = make_user()
    read_post(passer, post.pk)
    read_post(alice, post.pk)
    assert seen(alice, post).first_read is None
    read_post(readers[3], post.pk)
    first = seen(alice, post).first_read
    assert first == (job_of(post).first_read_at - post.created_at).total_seconds()
    read_post(readers[4], post.pk)
    read_post(readers[4], post.pk)
    journey = seen(alice, post)
    assert (journey.first_read, journey.reads) == (first, 3)


@pytest.mark.slow
def test_the_first_read_is_not_told_where_it_would_name_somebody(alice, bob, readers):
    follow_user(alice, readers[0])
    message = delivered(alice, f"@{readers[0].handle} hello", visibility="mentioned")
    read_post(readers[0], message.pk)
    assert seen(alice, message).first_read is None
    seldom = delivered(readers[0])  # whom alice alone follows
    read_post(alice, seldom.pk)
    assert seen(readers[0], seldom).first_read is None


@pytest.mark.usefixtures("memcached")
@pytest.mark.django_db(transaction=True)  # what is not committed is not cached
def test_the_layers_that_serve_it_are_asked_now(alice, page_of):
    post = delivered(alice)
    layers = seen(alice, post).layers
    assert ("main", True) in layers
    CACHED_POSTS.forget([post.pk])
    assert ("main", False) in seen(alice, post).layers
    secret = delivered(alice, visibility="followers")
    assert seen(alice, secret).layers == []


@pytest.mark.slow
def test_corrections_are_counted_without_whose_pages_they_were_on(alice, bob, readers):
    post = delivered(alice)
    run, now = AuditRun.objects.create(), timezone.now()
    for repaired_at in (now, now, None):
        AuditFinding.objects.create(
            run=run, kind=Kind.MISSING, viewer_id=bob.pk, post_id=post.pk, repaired_at=repaired_at
        )
    AuditFinding.objects.create(run=run, kind=Kind.MISSING, post_id=post.pk + 1)
    assert seen(alice, post).findings == [(Kind.MISSING, 3, 2)]


@pytest.mark.long
def test_the_picture_has_a_dot_for_so_many_readers_and_a_box_for_so_many_chunks(alice, settings):
    settings.FANOUT_CHUNK_SIZE = 1
    readers = [make_user() for _ in range(MAX_BOXES + 4)]
    for reader in readers:
        make_follow(reader, alice)
    post = delivered(alice)
    picture = drawn(seen(alice, post))
    assert len(picture.boxes) == len(readers) / 2 <= MAX_BOXES
    assert picture.chunks_of_box == 2
    dots = "".join(dots.path for box in picture.boxes for dots in box.dots).count("h0")
    assert dots == len(readers)
    assert dots <= MAX_DOTS
    assert {box.when for box in picture.boxes} <= {f"at-{tick}" for tick in range(25)}
    assert picture.boxes[-1].when.startswith("at-")
    # a page that has 40 of the receipts lights up those of the other four
    again = drawn(seen(alice, post), after=40)
    assert 1 <= sum(box.when == "new" for box in again.boxes) <= 4
    assert {box.when for box in again.boxes} == {"new", ""}


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("visibility", ["public", "followers"])
def test_only_the_author_and_staff_see_it(alice, readers, page_of, api_of, visibility):
    post = delivered(alice, "Hear, hear.", visibility=visibility)
    page, program = f"/explain/{post.pk}/journey", f"/api/x/statuses/{post.pk}/journey"
    found = api_of(alice).get(program).json()
    assert (found["receipt"]["expected"], found["receipt"]["reached"]) == (10, 6)
    assert found["chunks"]["done"] == 4
    assert sum(second["reached"] for second in found["per_second"]) == 6
    shown = page_of(alice).get(page).content.decode()
    assert "Hear, hear." in shown
    assert re.search(r"<li class=\"reached\">.*<b>6</b>", shown)
    assert page_of(alice).get(page, headers={"HX-Request": "true"}).content.startswith(b"<div id")

    staff = make_staff(VIEW_RECEIPTS)
    for _poll in range(2):  # one entry, even if the page itself was never read
        assert browser_of(staff).get(page, headers={"HX-Request": "true"}).status_code == 200
    entries = LogEntry.objects.filter(user=staff, object_id=str(alice.pk))
    assert entries.count() == (visibility == "followers")
    entries.delete()
    seen = browser_of(staff).get(page).content.decode()
    assert "Reached 6 of 10 followers" in seen
    assert "Hear, hear." not in seen
    logged = LogEntry.objects.filter(user=staff, object_id=str(alice.pk)).count()
    assert logged == (visibility == "followers")

    hidden = 404 if visibility == "followers" else 403
    for other, status in ((readers[0], 403), (make_user(), hidden), (make_staff(), hidden)):
        assert page_of(other).get(page).status_code == status
        assert api_of(other).get(program).status_code == status
    assert page_of(None).get(page).status_code == 302
    with pytest.raises(NotAllowed):
        journey_of(readers[0], post.pk)
    with pytest.raises(NotFound):
        journey_of(alice, post.pk + 1)


@pytest.mark.slow
def test_it_is_linked_from_the_post(alice, readers, page_of):
    post = delivered(alice)
    address = f'href="/explain/{post.pk}/journey"'
    for page in (f"/@alice/{post.pk}", f"/@alice/{post.pk}/receipt", f"/explain/{post.pk}"):
        assert address in page_of(alice).get(page).content.decode()
    for page in (f"/@alice/{post.pk}", f"/explain/{post.pk}"):
        assert address not in page_of(readers[0]).get(page).content.decode()


@pytest.mark.slow
def test_it_is_told_in_chinese(alice, readers, page_of):
    browser = page_of(alice)
    browser.cookies["lang"] = "zh-hans"
    page = browser.get(f"/explain/{delivered(alice).pk}/journey").content.decode()
    assert "在线推，离线拉" in page
