"""What counts for the objectives, and what is left of their error budgets."""

import re

import pytest
from django.conf import settings as site
from django.http import HttpResponse
from django.test import RequestFactory

from apps.operations.objectives import AVAILABILITY, DELIVERY, HOME, Objective, Result, results
from apps.timeline.fanout import dispatch, receipts
from apps.timeline.models import FanoutChunk
from feedcache import stats
from feedcache.servers import totals
from feedsite.middleware import timing
from tests.support.factories import delivered, seconds_ago
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_counted():
    stats.drain()


def counted(name):
    """Events, and good ones, since the last call."""
    found = {one.objective.name: one for one in results(stats.drain())}[name]
    return found.events, found.good


def answer(user, path, monkeypatch, *, seconds=0.1, status=200, method="get"):
    times = iter([0.0, seconds])
    monkeypatch.setattr(timing, "perf_counter", lambda: next(times))
    request = getattr(RequestFactory(), method)(path)
    request.user = user
    timing.TimingMiddleware(lambda _request: HttpResponse(status=status))(request)


# --- what counts -------------------------------------------------------------------------------------


def test_home_pages_of_members_count(alice, page_of, api_of, settings):
    settings.SLO_HOME_SECONDS = 60
    page_of(alice).get("/home")
    api_of(alice).get("/api/v1/timelines/home")
    assert counted(HOME) == (2, 2)


@pytest.mark.parametrize(
    ("path", "status", "method", "events"),
    [
        ("/", 200, "get", 1),
        ("/home/", 304, "get", 1),
        ("/home", 302, "get", 0),
        ("/home", 500, "get", 0),  # of the objective of availability
        ("/home", 200, "head", 0),
        ("/public", 200, "get", 0),
    ],
)
def test_what_is_a_home_page(alice, monkeypatch, path, status, method, events):
    answer(alice, path, monkeypatch, status=status, method=method)
    assert counted(HOME)[0] == events


def test_the_front_page_of_visitors_is_none(client):
    assert client.get("/").status_code in {200, 302}
    assert counted(HOME) == (0, 0)


def test_a_slow_home_page_is_bad(alice, monkeypatch):
    answer(alice, "/home", monkeypatch, seconds=site.SLO_HOME_SECONDS)
    answer(alice, "/home", monkeypatch, seconds=site.SLO_HOME_SECONDS + 0.01)
    answer(alice, "/home", monkeypatch, seconds=61)
    found = {one.objective.name: one for one in results(stats.drain())}[HOME]
    assert (found.events, found.good, found.within) == (3, 1, None)
    assert dict(found.bounds)[0.5] == 2


def test_each_chunk_counts_once_when_it_is_delivered(alice, bob):
    post = delivered(bob, to=[alice])
    assert counted(DELIVERY) == (1, 1)
    (chunk,) = FanoutChunk.objects.filter(job=post.pk)
    receipts.write(chunk, dispatch.NOTHING_OWED)
    assert counted(DELIVERY) == (0, 0), "its receipt was written before"


def test_a_late_delivery_is_bad(alice, bob):
    with seconds_ago(site.SLO_DELIVERY_SECONDS + 2):
        delivered(bob, to=[alice])
    assert counted(DELIVERY) == (1, 0)


def test_a_delivery_that_staff_gave_up_is_bad(alice, bob):
    post = delivered(bob, to=[alice])
    FanoutChunk.objects.filter(job=post.pk).update(state="dead")
    (chunk,) = FanoutChunk.objects.filter(job=post.pk)
    stats.drain()
    receipts.write(chunk, {"expected": 1, "lost": 1})
    assert counted(DELIVERY) == (1, 0)


def test_what_failed_or_was_refused_is_not_available(monkeypatch, alice):
    for status in (200, 404, 429, 500):
        answer(alice, "/search", monkeypatch, status=status)
    assert counted(AVAILABILITY) == (4, 3)


# --- what is left ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "good", "burn", "left"),
    [(1000, 1000, 0, 1), (1000, 999, 1, 0), (1000, 995, 5, -4), (4000, 3999, 0.25, 0.75)],
)
def test_the_error_budget(events, good, burn, left):
    found = Result(Objective(AVAILABILITY, 0.999), events, good)
    assert found.burn_rate == pytest.approx(burn)
    assert found.budget_left == pytest.approx(left)


def test_without_events_there_is_nothing_to_say():
    found = Result(Objective(HOME, 0.95, 1.0), 0, 0, ((1.0, 0),))
    assert (found.share, found.burn_rate, found.budget_left, found.within) == (None,) * 4


def test_most_are_within_the_least_bound_that_is_enough():
    bounds = ((0.1, 90), (0.25, 95), (0.5, 100))
    assert Result(Objective(HOME, 0.95, 0.1), 100, 90, bounds).within == 0.25
    assert Result(Objective(HOME, 0.95, 0.1), 101, 90, bounds).within == 0.5


# --- who sees it -------------------------------------------------------------------------------------


def test_staff_see_them_on_the_page_of_the_service_level(settings):
    settings.SLO_HOME_SECONDS = 0.3
    totals.add(
        {
            ("requests:core", "calls"): 100_000, ("requests:core", "failed"): 4,
            ("objective:home", "calls"): 100_000, ("objective:home", "good"): 90_000,
            ("objective:home", "within 0.25"): 80_000, ("objective:home", "within 0.5"): 20_000,
        }
    )  # fmt: skip
    chief = browser_of(make_staff("operations.view_cachenode", handle="chief"))
    text = " ".join(
        chief.get("/admin/operations/cachenode/service-level/").content.decode().split()
    )
    assert "Home pages within 0.3 s" in text
    assert '<td class="number bad">90.000 %</td> <td class="number bad">2.0</td>' in text
    assert '<td class="number">0.5 s</td>' in text
    assert re.search(r'<td class="number bad">-(99\.9|100\.0) %</td>', text)
    assert '<td class="number">99.996 %</td> <td class="number">0.4</td>' in text
    assert re.search(r'<td class="number">(59\.9|60\.0) %</td>', text)
    assert text.count('<td class="number">–</td>') >= 4, "nothing was delivered"
