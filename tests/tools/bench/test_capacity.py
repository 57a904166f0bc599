"""The reckoning of what a population needs: rates times costs, and all of it grows with the population."""

import json

import pytest

from apps.timeline.fanout.auto_policy import ONLINE_MICROSECONDS
from apps.timeline.sources.home_cache import HOME
from feedcache.connections import timelines
from tools.bench.capacity import (
    DELIVERED,
    GIB,
    WINDOW_ENTRY,
    Costs,
    MissingError,
    Population,
    checks,
    costs,
    needs,
)

PEOPLE = Population(users=1_000_000, active=0.2, followees=200, posts=1, reads=86.4, peak=3)
COST = Costs(page_web=1.2, page_stores=0.6, publish=12)


def found(people):
    return {need.what: need.amount for need in needs(people, COST)}


def test_a_population_in_numbers():
    need = found(PEOPLE)
    assert need["pages at the peak"] == pytest.approx(600)
    assert need["cores for pages"] == pytest.approx(600 * 0.0012 / 0.6)
    assert need["posts published at the peak"] == pytest.approx(200_000 / 86_400 * 3)
    assert need["deliveries at the peak"] == pytest.approx(200_000 / 86_400 * 3 * 200 * 0.3)
    assert need["Redis: counters"] * GIB == pytest.approx(200_000 * 60 * 21.5)


def test_ten_times_the_users_need_ten_times_as_much():
    small, large = found(PEOPLE), found(Population(10_000_000, 0.2, 200, 1, 86.4, 3))
    assert all(large[what] == pytest.approx(10 * amount) for what, amount in small.items())


def line(what, **figures):
    return {"what": what, "figures": {name.replace("_", " "): one for name, one in figures.items()}}


def test_costs_are_those_that_were_measured(tmp_path):
    place = tmp_path / "site.json"
    loads = [
        line(f"cores at {rate} requests/s, predicted", read_ms=3.5, publication_ms=11.5,
             predicted_cores=predicted, measured_cores=measured)
        for rate, predicted, measured in ((50, 0.1, 0.125), (100, 0.2, 0.2))
    ]  # fmt: skip
    page = line("home API, processor time per page", web_ms=1.25, stores_ms=0.5)
    place.write_text(json.dumps({"lines": [page, *loads, line("home API")]}))
    assert costs(place) == Costs(2.5, 1.0, 11.5)
    assert [one.error for one in checks(place)] == pytest.approx([-0.2, 0])


def test_without_a_measurement_nothing_is_reckoned(tmp_path):
    with pytest.raises(MissingError):
        costs(tmp_path / "site.json")


def test_an_entry_of_a_home_cache_takes_as_many_bytes_as_it_says():
    ids = [(1 << 60) + (number << 36) + (number % 300 << 4) for number in range(HOME.length)][::-1]
    HOME.swap(7, HOME.begin(7) or "", ids, complete=False)
    size = timelines().memory_usage(HOME.key(7), samples=0) or 0
    # jemalloc rounds up to its size classes, other allocators do not
    assert size / HOME.length == pytest.approx(WINDOW_ENTRY, rel=0.1)


def test_a_delivery_costs_what_policies_reckon_with():
    assert round(1e6 / ONLINE_MICROSECONDS) == DELIVERED
