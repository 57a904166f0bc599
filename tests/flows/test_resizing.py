"""Main and Backup get a slot and give it up again under a running site; posts are edited and deleted in every step."""

import urllib.error
import urllib.request

import pytest

from apps.accounts.actions import issue_token
from apps.operations.queries import topology_in_force
from feedcache import stats
from feedcache.servers import totals
from feedcache.stats import Counts
from feedcache.topology import Phase, Pool
from tests.flows.test_topology import Readers, settled, spare
from tests.support.factories import publish
from tests.support.processes import manage, start_web, start_worker, stop
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.flows, pytest.mark.long]

__all__ = ["settled", "spare"]  # fixtures

POSTS = 12
LEAST_HIT_RATE = 0.9
SECONDS = 120  # for a step, on a busy machine


@pytest.fixture
def site(transactional_db, tmp_path):
    web, address = start_web(tmp_path, LIMIT_API="1000000", LIMIT_API_REST="1000000")
    worker = start_worker(tmp_path)
    yield address
    stop(worker)
    stop(web)


def phase_of(pool):
    resize = topology_in_force().resizes.get(pool)
    return resize and resize.phase


def hits_and_reads():
    counts: Counts = totals.ever()
    classes = {key: number for key, number in counts.items() if ":" not in key[0]}
    hits = sum(number for (_, what), number in classes.items() if what in (stats.HIT, stats.NEGATIVE))  # fmt: skip
    return hits, sum(classes.values())


def is_shown(site, token, post_id):
    request = urllib.request.Request(
        f"{site}/api/v1/statuses/{post_id}", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status == 200
    except urllib.error.HTTPError as error:
        return error.code != 404


def delete(site, token, post_id):
    request = urllib.request.Request(
        f"{site}/api/v1/statuses/{post_id}", headers={"Authorization": f"Bearer {token}"}, method="DELETE",
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("pool", [Pool.MAIN, Pool.BACKUP])
def test_nothing_old_is_seen_while_a_pool_changes_its_slots(site, alice, bob, settled, spare, pool):
    posts = [publish(alice, "edit 0") for _ in range(POSTS)]
    doomed = [publish(alice, "doomed").pk for _ in range(8)]
    mine, token = issue_token(alice, name="deletes"), issue_token(bob, name="reads")
    assert all(is_shown(site, token, post_id) for post_id in doomed * 2)
    width, gone, rates = len(settled.group(pool)), [], []

    def reached(phase):
        """Or a later one, on a busy machine."""
        return phase_of(pool) in (*list(Phase)[list(Phase).index(phase) :], None)

    def go_through_steps():
        for phase in Phase:
            wait_until(lambda: reached(phase), f"the step {phase}", seconds=SECONDS)  # noqa: B023 -- called before the next turn
            before = hits_and_reads()
            delete(site, mine, doomed[-1])
            gone.append(doomed.pop())
            readers.edit()
            wait_until(lambda: hits_and_reads()[1] > before[1] + 200, "reads", seconds=SECONDS)  # noqa: B023 -- called before the next turn
            assert [one for one in gone if is_shown(site, token, one)] == []
            after = hits_and_reads()
            rates.append((after[0] - before[0]) / (after[1] - before[1]))
        wait_until(lambda: phase_of(pool) is None, "the end", seconds=SECONDS)
        assert [one for one in gone if is_shown(site, token, one)] == []
        readers.edit()

    with Readers(site, token, alice, posts) as readers:
        readers.edit()
        manage("cache", "grow", pool.value, spare(64).address, "--no-wait")
        go_through_steps()
        assert len(topology_in_force().group(pool)) == width + 1
        manage("cache", "shrink", f"{pool.value}:{width}", "--no-wait")
        go_through_steps()
        assert topology_in_force().group(pool) == settled.group(pool)
    assert readers.faults == []
    assert set(readers.codes) == {200}
    assert min(rates) > LEAST_HIT_RATE, rates
