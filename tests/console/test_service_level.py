"""What staff see of what the running site counts of itself."""

import time

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from apps.console import series
from apps.console.series import HEIGHT, MEASURES, WIDTH, Chart, charts_of, hours_of
from feedcache import stats
from feedcache.servers import totals
from feedcache.stats import Counts
from tests.support.faults import dead_redis
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
PAGE = "/admin/operations/cachenode/service-level/"


@pytest.fixture(autouse=True)
def _nothing_counted():
    stats.drain()


def text_of(response):
    return response.content.decode()


@pytest.fixture
def chief():
    return browser_of(make_staff("operations.view_cachenode", handle="chief"))


def test_the_page_shows_the_last_hour_and_marks_what_misses_its_target(chief):
    totals.add(
        {
            ("requests:core", "calls"): 10_000, ("requests:core", "microseconds"): 420_000_000,
            ("requests:core", "failed"): 1, ("requests:core", "slow"): 7,
            ("requests:rest", "calls"): 100, ("requests:rest", "microseconds"): 25_000_000,
            ("requests:rest", "refused"): 50,
            ("call:redis graph", "calls"): 1000, ("call:redis graph", "microseconds"): 700_000,
            ("call:postgresql default", "calls"): 10, ("call:postgresql default", "microseconds"): 81_000,
            ("post", "hit"): 995, ("post", "miss"): 5, ("person", "hit"): 1, ("person", "miss"): 1,
        }
    )  # fmt: skip
    text = " ".join(text_of(chief.get(PAGE)).split())
    assert (
        '<th scope="row">core reads</th> <td class="number">10000</td> <td class="number">99.990 %</td>'
        in text
    )
    assert '<td class="number">7</td> <td class="number">42.0 ms</td>' in text
    assert '<td class="number bad">50.000 %</td>' in text
    assert '<td class="number bad">250.0 ms</td>' in text
    assert (
        '<th scope="row">all</th> <td class="number">10100</td> <td class="number bad">99.495 %</td>'
        in text
    )
    assert '<td class="number">0.70 ms</td>' in text
    assert '<td class="number bad">8.10 ms</td>' in text
    assert '<th scope="row">post</th><td class="number">99.5 %</td>' in text
    assert '<th scope="row">person</th><td class="number bad">50.0 %</td>' in text


def test_the_page_without_figures_and_without_redis(chief):
    empty = text_of(chief.get(PAGE))
    assert "There were no requests." in empty or "core reads" in empty
    with dead_redis():
        assert 'class="bad"' in text_of(chief.get(PAGE))


def test_only_staff_with_the_right_see_the_page(client, alice, page_of):
    assert client.get(PAGE).status_code == 302
    assert page_of(alice).get(PAGE).status_code in {302, 403}
    assert browser_of(make_staff(handle="other")).get(PAGE).status_code == 403


def test_the_console_leads_to_the_page(chief):
    assert PAGE in text_of(chief.get("/admin/operations/cachenode/"))


def counted(monkeypatch, ago, counts):
    """What was counted so many seconds ago."""
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now - ago)
    totals.add(counts)
    monkeypatch.undo()


def requests(calls, milliseconds, failed=0):
    return {
        ("requests:core", "calls"): calls,
        ("requests:core", "microseconds"): calls * milliseconds * 1000,
        ("requests:core", "failed"): failed,
    }


def test_a_day_is_drawn_with_its_targets(chief, monkeypatch):
    counted(monkeypatch, 20 * 3600, requests(600, 5) | {("post", "hit"): 80, ("post", "miss"): 20})
    counted(monkeypatch, 5 * 3600, requests(1200, 900, failed=12))
    counted(monkeypatch, 25 * 3600, requests(99, 1))
    text = " ".join(text_of(chief.get(PAGE)).split())
    assert text.count('viewBox="0 0 432') == 6
    assert text.count("<polyline") == 11, "two spans with figures, and one hit rate"
    assert '<span class="name">1.0 to 2.0</span>' in text, "requests a second"
    assert '<span class="name">99.000 % to 100.000 %</span>' in text
    assert "1 ten-minute interval missed the target" in text
    assert '<td class="number">5.0 ms</td> <td class="number">80.0 %</td>' in text.replace(
        "</td><td", "</td> <td"
    )
    assert "There were no requests." in text, "within the last hour"


def test_the_rate_of_a_span_that_has_not_ended_is_that_of_its_part(monkeypatch):
    monkeypatch.setattr(series.time, "time", lambda: 660.0)
    day = [(0, Counts(requests(1200, 900))), (600, Counts(requests(120, 90)))]
    rate = next(chart for chart in charts_of(day, settings.SERVICE_TARGETS))
    assert rate.values == [2.0, 2.0]
    [hour] = hours_of(day)
    assert hour.cells[0][1] == 2.0


def test_charts_without_figures():
    charts = charts_of([(0, Counts())] * 3, settings.SERVICE_TARGETS)
    assert [chart.lines for chart in charts] == [[]] * 6
    assert hours_of([(0, Counts())] * 144) == []


@given(st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=144), st.floats(0, 1e6))
def test_no_line_leaves_its_chart(values, target):
    for measure in MEASURES:
        chart = Chart(measure, values, target)
        points = [point for line in chart.lines for point in line.split()]
        for x, y in (map(float, point.split(",")) for point in points):
            assert 0 <= x <= WIDTH + 1
            assert 0 <= y <= HEIGHT
        assert chart.misses <= len(chart.known)
