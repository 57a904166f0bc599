"""What Mastodon's documentation and its own tests say of its API, in our words, asked of this site.

An expectation that differs gives its reason, and fails here: one that holds is no difference any more.
"""

import sys
from collections import Counter
from functools import cache

import pytest
from rest_framework.test import APIClient

from apps.accounts.queries import user_by_id
from tests.api.conformance.checks import failure
from tests.api.conformance.tables import AREAS
from tests.api.conformance.world import make_world
from tests.api.test_endpoints import application_client
from tests.support import memory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("media", "memcached"),
    pytest.mark.long,
]


@pytest.fixture
def world(alice, bob, carol, settings):
    settings.LINK_PREVIEWS = True
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    return make_world(alice, bob, carol)


@pytest.fixture
def ask(world, api_of):
    """Makes what sends the requests of a case, with one token for each person: what a case makes does not last."""

    @cache
    def program(who, scopes):
        if who == "nobody":
            return APIClient()
        if who == "app":
            return application_client(scopes or "write")
        return api_of(user_by_id(world[who]), *([scopes] if scopes else []))

    def send(step):
        method = getattr(program(step.who, step.scopes), step.method.lower())
        if step.body is None:
            return method(step.path)
        return method(step.path, step.body, format="multipart" if step.form else "json")

    def begin():
        program.cache_clear()
        memory.empty_redis()  # so that counts come from their rows
        return send

    return begin


# In four shares, so that the rows of the world are made four times and not for each area.
@pytest.mark.parametrize("areas", [list(AREAS)[share::4] for share in range(4)], ids=", ".join)
def test_what_mastodon_does(areas, world, ask, case):
    for expected in (expected for area in areas for expected in AREAS[area]):
        with case(says=expected.says, request=" ".join(expected.step[:4])):
            lacks = failure(expected, ask(), world)
            if expected.differs and not lacks:
                pytest.fail(f"it holds, and differs no more: {expected.differs}", pytrace=False)
            if lacks and not expected.differs:
                pytest.fail(lacks, pytrace=False)


def test_there_are_enough_and_most_hold(capsys):
    counts = {
        area: Counter("differs" if one.differs else "holds" for one in rows)
        for area, rows in AREAS.items()
    }
    total = sum(counts.values(), Counter())
    lines = [
        f"{area:16} {count['holds']:4} hold {count['differs']:4} differ\n"
        for area, count in {**counts, "all": total}.items()
    ]
    with capsys.disabled():
        sys.stdout.write("".join(["\n", *lines]))
    assert total.total() >= 400
    assert total["holds"] >= 385


def test_no_expectation_is_there_twice():
    asked = [
        (one.says, repr(one.step), repr(one.before)) for rows in AREAS.values() for one in rows
    ]
    assert len(asked) == len(set(asked))
