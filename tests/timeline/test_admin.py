"""The delivery ledger in the admin."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import override_settings

from apps.events import leases
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob
from tests.support.factories import deliver, delivered, make_user, publish
from tests.support.staff import MAX_QUERIES, browser_of, choose, make_staff

pytestmark = pytest.mark.django_db
JOBS = "/admin/timeline/fanoutjob/"


@pytest.fixture
def job(alice):
    """A post to five followers in three chunks: one reader is online; the last chunk has failed for good."""
    fans = [make_user() for _ in range(5)]
    for fan in fans:
        follow_user(fan, alice)
    deliver()
    home_timeline(fans[0], Cursor())
    with override_settings(FANOUT_CHUNK_SIZE=2):
        post = delivered(alice, "To all.")
    FanoutChunk.objects.filter(pk=FanoutChunk.objects.latest("pk").pk).update(
        state=leases.State.DEAD,
        attempts=5,
        delivered=0,
        dormant=0,
        number=0,
        last_error="ValueError: no",
    )
    return FanoutJob.objects.get(post=post)


def cells(text: str) -> dict[str, str]:
    """The texts of the cells of the first row."""
    return {
        part.split('"', 1)[0]: part.split(">", 1)[1].split("</td>")[0]
        for part in text.split("<tbody>")[1].split('<td class="field-')[1:]
    }


def test_list_sums_the_receipts(chief, job):
    row = cells(chief.get(JOBS).content.decode())
    assert row["progress"] == "2 of 3 done, 1 dead letter"
    assert (row["expected"], row["delivered"], row["dormant"], row["pending"]) == (
        "5",
        "1",
        "3",
        "1",
    )
    assert "followers a second" in row["rate"]
    assert "s left" in row["rate"]
    assert "@alice</a>" in row["author_link"]


def test_list_in_few_queries(chief, alice, django_assert_max_num_queries):
    for _ in range(3):
        publish(alice)
    deliver()
    with django_assert_max_num_queries(MAX_QUERIES):
        text = chief.get(JOBS).content.decode()
    assert text.count("0 of 0 done") == 3


def test_page_shows_the_chunks_for_reading(chief, job, django_assert_max_num_queries):
    path = f"{JOBS}{job.pk}/change/"
    with django_assert_max_num_queries(MAX_QUERIES):
        text = chief.get(path).content.decode()
    assert "ValueError: no" in text
    assert text.count("field-first_edge") == 3
    assert chief.post(path, {"chunks-0-state": "done"}).status_code == 403


def test_search_and_filter(chief, job, carol):
    for query, there in {
        f"q={job.pk}": True, "q=alice": True, "q=@Alice": True, "q=carol": False, "q=12": False, "q=nobody": False,
        "chunks=dead": True, "chunks=pending": False, "chunks=nonsense": True,
    }.items():  # fmt: skip
        assert ("@alice</a>" in chief.get(f"{JOBS}?{query}").content.decode()) == there, query


def test_retry_gives_dead_chunks_new_tries(chief, job):
    text = choose(chief, JOBS, "retry", [job]).content.decode()
    assert "1 chunk will be retried." in text
    deliver()
    row = cells(chief.get(JOBS).content.decode())
    assert (row["progress"], row["delivered"], row["dormant"]) == ("3 of 3 done", "1", "4")


def test_what_is_retried_or_discarded_is_on_record_and_nothing_else(chief, alice, job):
    rows = [job, FanoutJob.objects.get(post=delivered(alice, "To all, too."))]
    [chunk] = FanoutChunk.objects.filter(state=leases.State.DEAD)
    for action in ("retry", "discard"):
        FanoutChunk.objects.filter(pk=chunk.pk).update(state=leases.State.DEAD)
        choose(chief, JOBS, action, rows, confirmed="yes")
    noted = LogEntry.objects.filter(object_id__in=[row.pk for row in rows])
    assert list(noted.values_list("object_id", flat=True)) == [str(job.pk)] * 2


def test_retry_needs_the_right(job):
    viewer = browser_of(make_staff("timeline.view_fanoutjob"))
    choose(viewer, JOBS, "retry", [job])
    assert FanoutChunk.objects.filter(state=leases.State.DEAD).count() == 1


@pytest.mark.slow
def test_discard_asks_first_and_what_is_lost_stays_in_the_list(chief, job):
    asked = choose(chief, JOBS, "discard", [job]).content.decode()
    assert 'name="confirmed"' in asked
    assert FanoutChunk.objects.filter(state=leases.State.DEAD).count() == 1
    done = choose(chief, JOBS, "discard", [job], confirmed="yes").content.decode()
    assert "1 chunk discarded." in done
    row = cells(chief.get(JOBS).content.decode())
    assert (row["progress"], row["expected"], row["pending"]) == ("3 of 3 done", "5", "0")
    assert row["given_up"] == "1"
    assert LogEntry.objects.filter(object_id=str(job.pk)).count() == 1


def test_discard_needs_the_right(job):
    viewer = browser_of(make_staff("timeline.view_fanoutjob", "timeline.change_fanoutjob"))
    choose(viewer, JOBS, "discard", [job], confirmed="yes")
    assert FanoutChunk.objects.filter(state=leases.State.DEAD).count() == 1
