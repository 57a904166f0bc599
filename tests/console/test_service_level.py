"""What staff see of what the running site counts of itself."""

import pytest

from feedcache import stats
from feedcache.servers import totals
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
