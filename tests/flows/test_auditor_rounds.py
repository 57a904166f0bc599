"""A real worker audits 200 home windows and 100,000 follows: what is planted anywhere is found in the stated time."""

import random
import sys
import time
from functools import partial

import pytest

from apps.accounts.management.bulk import make_accounts
from apps.accounts.models import User
from apps.audit.models import AuditFinding, AuditRound, Kind, Subject
from apps.graph.management.bulk import Edge, begin_import, finish_import, load_edges
from apps.graph.models import Followee, Follower
from apps.pagination import Cursor
from apps.sql import database_time
from apps.timeline.home import home_timeline
from apps.timeline.sources.home_cache import HOME
from tests.support.factories import deliver, publish
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.flows, pytest.mark.long]

PEOPLE, FOLLOWED = 400, 250
READERS, AUTHORS, POSTS = 200, 5, 20
BATCH = 5000
ROUNDS = (Subject.WINDOWS, Subject.FOLLOWING, Subject.FOLLOWERS)
LOOKS_SECONDS = 60.0  # what /audit adds to a round, for the three looks
PATIENCE_SECONDS = 900.0


@pytest.fixture
def readers(transactional_db):
    """Everybody follows 250 of 400; 200 of them have windows with posts of five authors."""
    handles = [f"p{number:03d}" for number in range(PEOPLE)]
    make_accounts(handles)
    edges = [
        Edge(number * FOLLOWED + turn, handle, handles[(number + turn) % PEOPLE])
        for number, handle in enumerate(handles)
        for turn in range(1, FOLLOWED + 1)
    ]
    begin_import("test")
    for start in range(0, len(edges), BATCH):
        load_edges("test", edges[start : start + BATCH], after=start, upto=start + BATCH)
    finish_import("test")
    deliver()  # all windows are forgotten
    people = list(User.objects.filter(handle__in=handles).order_by("pk"))
    found = people[:: PEOPLE // READERS]
    for reader in found:
        home_timeline(reader, Cursor())
    for number in range(POSTS):
        publish(people[number % AUTHORS * (PEOPLE // AUTHORS)], f"post {number}")
    deliver()
    assert len(HOME.existing([reader.pk for reader in found])) == READERS
    return found


def rounds_done(since):
    """The seconds of the last whole round of each kind, once all that have begun since then are known."""
    done = AuditRound.objects.filter(subject__in=ROUNDS, ended_at__gt=since).exclude(seconds=None)
    return {Subject(one.subject): (one.seconds, one.total) for one in done}


def are_all_done(since):
    return len(rounds_done(since)) == len(ROUNDS)


def a_whole_round_of_all():
    """Two ends of each kind after now: between them everything was compared as it is now."""
    for _end in range(2):
        since = database_time()
        wait_until(
            partial(are_all_done, since),
            lambda: str(list(AuditRound.objects.values())),
            seconds=PATIENCE_SECONDS,
        )
    return rounds_done(since)


def test_what_is_planted_anywhere_is_found_within_the_stated_time(readers, worker, api_of):
    stated = a_whole_round_of_all()
    assert stated[Subject.WINDOWS][1] == READERS
    assert stated[Subject.FOLLOWING][1] == stated[Subject.FOLLOWERS][1] == PEOPLE * FOLLOWED
    told = api_of(None).get("/api/x/audit").json()["rounds"]
    assert {one["subject"] for one in told if one["last_seconds"]} >= set(ROUNDS)
    assert not AuditFinding.objects.exists()

    began, found = time.monotonic(), {}
    planted = set()
    for reader in (readers[0], readers[-1], random.choice(readers[1:-1])):
        ids = HOME.ids(reader.pk)
        HOME.remove(reader.pk, [ids[len(ids) // 2]])
        planted.add((Kind.WINDOW, reader.pk))
    for order in ("pk", "-pk"):
        edge = Followee.objects.order_by(order)[0]
        Follower.objects.get(owner=edge.followee, follower=edge.owner).delete()
        planted.add((Kind.MIRROR, edge.owner_id))

    def look():
        for kind, viewer in AuditFinding.objects.values_list("kind", "viewer_id"):
            found.setdefault((Kind(kind), viewer), time.monotonic() - began)
        return found.keys() >= planted

    wait_until(look, lambda: str(found), seconds=PATIENCE_SECONDS)
    sys.stdout.write(f"stated: {stated}\nfound after: {found}\n")
    assert {kind for kind, _viewer in found.keys() - planted} <= {Kind.COUNT}  # of half a follow
    for kind, viewer in planted:
        subject = Subject.WINDOWS if kind == Kind.WINDOW else Subject.FOLLOWING
        assert found[kind, viewer] <= stated[subject][0] + LOOKS_SECONDS
    wait_until(
        lambda: not AuditFinding.objects.filter(repaired_at=None).exists(), "all is repaired"
    )
