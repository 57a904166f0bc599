"""What authors are told of the delivery of their posts, and that nobody else is."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.errors import NotAllowed, NotFound
from apps.events.leases import State
from apps.events.models import Event
from apps.graph.actions import block_user
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.timeline.fanout.author_receipts import MAX_POINTS, VIEW_RECEIPTS, receipt_of
from apps.timeline.fanout.lag import DELIVERY
from apps.timeline.fanout.progress import delivery_progress, with_receipts
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.models import FanoutChunk, FanoutJob, Policy
from apps.web.plots import steps
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db


def sums(receipt):
    return (receipt.expected, receipt.reached, receipt.dormant, receipt.pending, receipt.failed)


def test_it_adds_up_and_says_so(alice, readers):
    post = publish(alice)
    assert receipt_of(alice, post.pk).text == "It is on its way."
    deliver()
    found = receipt_of(alice, post.pk)
    assert sums(found) == (10, 6, 4, 0, 0)
    told = r"Reached 6 of 10 followers in \d+(\.\d)? s; 4 will get it when they come back\."
    assert re.fullmatch(told, found.text)
    last = FanoutChunk.objects.filter(job=post.pk).latest("finished_at").finished_at
    assert last is not None
    assert found.finished_at == last
    assert found.seconds == (last - post.created_at).total_seconds()
    assert [reached for _at, reached in found.curve] == [3, 6, 6, 6]


@pytest.mark.slow
def test_what_is_under_way_and_what_failed(alice, readers):
    post = delivered(alice)
    chunks = list(FanoutChunk.objects.filter(job=post.pk).order_by("pk"))
    FanoutChunk.objects.filter(pk=chunks[0].pk).update(state=State.PENDING, finished_at=None)
    FanoutChunk.objects.filter(pk=chunks[3].pk).update(state=State.DEAD)
    found = receipt_of(alice, post.pk)
    assert sums(found) == (10, 3, 3, 3, 1)
    assert "; delivery to 3 is under way; delivery to 1 failed, and" in found.text
    # a list that is not split to its end: nobody of the rest is forgotten
    chunks[3].delete()
    FanoutJob.objects.filter(pk=post.pk).update(state=State.PENDING)
    assert sums(receipt_of(alice, post.pk)) == (10, 3, 3, 4, 0)
    FanoutJob.objects.filter(pk=post.pk).update(state=State.DEAD)
    assert sums(receipt_of(alice, post.pk)) == (10, 3, 3, 3, 1)


@pytest.mark.slow
def test_virtual_followers_are_no_followers(alice, readers):
    post = delivered(alice)
    FanoutChunk.objects.create(
        job_id=post.pk, is_virtual=True, first_edge=1, last_edge=500, expected=500, delivered=500,
        state=State.DONE, finished_at=timezone.now(),
    )  # fmt: skip
    assert sums(receipt_of(alice, post.pk)) == (10, 6, 4, 0, 0)


def test_a_delivery_to_few_that_failed_counts_no_other_followers(alice, readers):
    post = delivered(alice, "For friends.", visibility="friends")
    FanoutChunk.objects.all().delete()
    Post.objects.update(created_at=timezone.now() - timedelta(hours=1))
    FanoutJob.objects.update(state=State.PENDING)
    assert receipt_of(alice, post.pk).text == "It is on its way."
    FanoutJob.objects.update(state=State.DEAD)
    receipt = receipt_of(alice, post.pk)
    assert (receipt.expected, receipt.failed) == (0, 0)
    assert receipt.text == "Its delivery failed, and the people who run the site can see it."
    assert delivery_progress(with_receipts(FanoutJob.objects.all()).get()).expected == 0


def test_a_pulled_post_is_read_from_the_profile(alice, readers):
    set_author_policy(alice, Policy.PULL, by="a test")
    post = delivered(alice)
    assert receipt_of(alice, post.pk).text.startswith("Followers read it straight from the profile")
    secret = delivered(alice, f"for @{readers[0].handle}", visibility="mentioned")
    found = receipt_of(alice, secret.pk)  # goes to inboxes all the same
    assert sums(found) == (1, 1, 0, 0, 0)
    assert found.text.startswith("Sent to @")


def test_without_anybody_reached_there_is_no_curve(alice, bob, page_of):
    post = delivered(alice)
    page = page_of(alice).get(f"/@alice/{post.pk}/receipt").content.decode()
    assert "Reached 0 of 1 follower; 1 will get it when they come back." in page
    assert "<polyline" not in page


def test_without_followers_there_is_nobody(alice):
    post = delivered(alice)
    assert receipt_of(alice, post.pk).text == "There was nobody to deliver it to."


@pytest.mark.slow
def test_a_message_says_to_whom_it_was_sent(alice, bob, page_of):
    post = delivered(alice, "@bob @carol2 between us", visibility="mentioned")
    assert receipt_of(alice, post.pk).text == "Sent to @bob."
    page = page_of(alice).get(f"/@alice/{post.pk}").content.decode()
    assert "Sent to @bob." in page
    alone = delivered(alice, "note to myself", visibility="mentioned")
    assert receipt_of(alice, alone.pk).text == "It mentions nobody, so nobody else can read it."
    assert "@bob" not in receipt_of(make_staff(), post.pk, as_staff=True).text


def test_what_has_no_record_yet_is_not_called_lost_at_once(alice):
    post = publish(alice)
    assert receipt_of(alice, post.pk).text == "It is on its way."
    Post.objects.update(created_at=timezone.now() - timedelta(hours=1))
    events = Event.objects.filter(subscriber=DELIVERY)
    assert (
        receipt_of(alice, post.pk).text == "It is on its way."
    )  # Redis may be down, or many posts wait
    events.update(state=State.DEAD)
    failed = "Its delivery failed, and the people who run the site can see it."
    assert receipt_of(alice, post.pk).text == failed
    events.delete()
    assert receipt_of(alice, post.pk).text == "There is no record of its delivery."


@pytest.mark.slow
def test_a_repost_has_a_receipt_of_its_own(alice, carol, readers):
    shared = repost(carol, publish(alice).pk)
    deliver()
    assert sums(receipt_of(carol, shared.pk)) == (0, 0, 0, 0, 0)
    with pytest.raises(NotAllowed):
        receipt_of(alice, shared.pk)
    block_user(alice, carol)
    with pytest.raises(NotFound):  # it is gone with what it shares
        receipt_of(carol, shared.pk)


@pytest.mark.long
def test_a_long_curve_is_thinned_and_ends_where_it_ends(alice, readers):
    post = delivered(alice)
    FanoutChunk.objects.bulk_create(
        FanoutChunk(job_id=post.pk, first_edge=10**9 + number, last_edge=10**9 + number, expected=1, delivered=1,
                    state=State.DONE, finished_at=timezone.now())
        for number in range(500)
    )  # fmt: skip
    curve = receipt_of(alice, post.pk).curve
    assert len(curve) <= MAX_POINTS
    assert curve[-1][1] == 506
    points = [tuple(map(float, pair.split(","))) for pair in steps(curve).split()]
    assert (points[0], points[-1]) == ((0, 80), (300, 0))
    assert points == sorted(points, key=lambda point: (point[0], -point[1]))


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("visibility", ["public", "followers"])
def test_only_the_author_and_staff_see_it(alice, readers, page_of, api_of, visibility):
    post = delivered(alice, "Hear, hear.", visibility=visibility)
    page, program = f"/@alice/{post.pk}/receipt", f"/api/x/statuses/{post.pk}/receipt"
    answer = api_of(alice).get(program).json()
    assert (answer["expected"], answer["reached"], answer["when_they_come"]) == (10, 6, 4)
    assert answer["curve"][-1] == {"seconds": answer["seconds"], "reached": 6}
    shown = page_of(alice).get(page).content.decode()
    assert "Reached 6 of 10 followers" in shown
    assert "<polyline" in shown
    assert "Hear, hear." in shown
    assert page_of(alice).get(f"/@nobody/{post.pk}/receipt").headers["Location"] == page
    staff = browser_of(make_staff(VIEW_RECEIPTS)).get(page).content.decode()
    assert "Reached 6 of 10 followers" in staff
    assert "Hear, hear." not in staff

    reader, stranger = readers[0], make_user("stranger")
    block_user(alice, stranger)
    hidden = 404 if visibility == "followers" else 403
    for other, status in (
        (reader, 403),
        (make_user("passer"), hidden),
        (make_staff(), hidden),
        (stranger, 404),
    ):
        assert page_of(other).get(page).status_code == status
        assert api_of(other).get(program).status_code == status
    assert page_of(None).get(page).status_code == 302
    delete_post(post.pk, by=alice)
    with pytest.raises(NotFound):
        receipt_of(alice, post.pk)


@pytest.mark.slow
def test_it_is_on_the_page_of_ones_own_post_and_in_its_menu(alice, readers, page_of):
    post = delivered(alice)
    for reader, times in ((alice, 1), (readers[0], 0), (None, 0)):
        page = page_of(reader).get(f"/@alice/{post.pk}").content.decode()
        assert page.count("Reached 6 of 10 followers") == times
    address = f'href="/@alice/{post.pk}/receipt"'
    assert address in page_of(alice).get(f"/@alice/{post.pk}").content.decode()
    assert address not in page_of(readers[0]).get(f"/@alice/{post.pk}").content.decode()
    browser = page_of(alice)
    browser.cookies["lang"] = "zh-hans"
    page = browser.get(f"/@alice/{post.pk}/receipt").content.decode()
    assert "已送达 10 位粉丝中的 6 位，用时 " in page
    assert "；4 人再次来访时会收到。" in page
