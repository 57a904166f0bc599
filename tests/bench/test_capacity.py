"""The reckoning of what a population needs: rates times costs, and all of it grows with the population."""

import json

import pytest

from bench.capacity import GIB, Costs, Population, costs, needs

PEOPLE = Population(users=1_000_000, active=0.2, followees=200, posts=1, reads=86.4, peak=3)
COST = Costs(page_web=1.2, page_stores=0.6, publish=12)


def found(people):
    return {need.what: need.amount for need in needs(people, COST)}


def test_a_population_in_numbers():
    need = found(PEOPLE)
    assert need["pages at the peak"] == pytest.approx(600)
    assert need["cores for pages"] == pytest.approx(600 * 0.0012 / 0.6)
    assert need["publications at the peak"] == pytest.approx(200_000 / 86_400 * 3)
    assert need["deliveries at the peak"] == pytest.approx(200_000 / 86_400 * 3 * 200 * 0.3)
    assert need["Redis: counters"] * GIB == pytest.approx(200_000 * 60 * 21.5)


def test_ten_times_the_users_need_ten_times_as_much():
    small, large = found(PEOPLE), found(Population(10_000_000, 0.2, 200, 1, 86.4, 3))
    assert all(large[what] == pytest.approx(10 * amount) for what, amount in small.items())


def test_costs_are_those_that_were_measured(tmp_path):
    lines = [
        {"what": "home API, processor time a page", "note": "1.25 + 0.50 ms (web + stores)"},
        {
            "what": "cores at 100 requests/s, foretold",
            "note": "off by +3%; a read takes 1.75 ms of processor time, a publication with its delivery 11.5 ms",
        },
    ]
    place = tmp_path / "site.json"
    place.write_text(json.dumps({"lines": lines}))
    assert costs(place) == Costs(1.25, 0.5, 11.5)
