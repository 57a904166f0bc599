"""A large pull is cut into groups of authors, which wait for a slow store together and not one after another (S85)."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest
from django.db import connections

from apps.pagination import Cursor
from apps.timeline.sources import outbox
from apps.timeline.sources.outbox import SHORT_OUTBOXES
from feedcache.memcached_tiers import tiers, use_topology
from feedcache.topology import Node, Topology
from tests.feedcache.relay import Relay
from tests.support.factories import make_user
from tests.support.services import running
from tests.support.waiting import wait_until
from tests.timeline.outboxes import crowd, follow_all, truth, write

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

FOLLOWEES = 3_999  # and the reader: eight groups
CURSORS = [Cursor(), Cursor(min_id=0), Cursor(max_id=1_300_000_000_000_000_000)]


@pytest.fixture
def reader():
    """Follows 4,000 authors, some of whom wrote."""
    authors, reader = crowd(FOLLOWEES), make_user()
    follow_all(reader, authors)
    for author in authors[::400]:
        write(author, 30, start=author.pk % 11)
    return reader, truth([one.pk for one in authors])


@pytest.fixture
def slow_store(tmp_path):
    """The outboxes are in one Memcached that is far away."""
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    relay, before = Relay(running().memcached[0].address, tmp_path / "far.sock"), tiers().topology
    use_topology(Topology(version=before.version, main=(Node("far", relay.address, 64),)))
    yield relay
    relay.open()
    use_topology(before)
    relay.close()


def pull(reader):
    return outbox.newest_ids_of_followees(reader.pk, 200)


def waiting_at(store, pulling):
    """How many reads of a pull waited at each step until it ended, the store letting them go step by step."""
    steps = []
    while not pulling.done():
        wait_until(lambda: store.waiting or pulling.done(), "somebody asks the store")
        steps.append(store.let_go())
    return steps


def in_thread(reader):
    try:
        return pull(reader)
    finally:
        connections.close_all()


def test_groups_wait_together_and_give_the_same_ids(reader, slow_store, monkeypatch):
    reader, ids = reader
    assert pull(reader) == ids[:200]  # and now the vectors are there
    slow_store.hold()
    slow_store.take()
    for maximum in (1, 8):
        monkeypatch.setattr(outbox, "MAX_PARALLEL_GROUPS", maximum)
        with ThreadPoolExecutor(1) as pool:
            pulling = pool.submit(in_thread, reader)
            waited = waiting_at(slow_store, pulling)
        assert pulling.result() == ids[:200]
        requests = slow_store.take().count(b"gets ")
        assert requests == 9  # a sample of all, and one for each group
        # the threads of the pool and whoever asks wait at the same time
        assert (max(waited) > 1) == (maximum > 1)


def test_groups_that_are_cold_are_loaded_by_the_threads_and_kept(reader, slow_store):
    reader, ids = reader
    assert pull(reader) == ids[:200]
    last = range(reader.pk - 500, reader.pk)
    # stored without an answer, on the connections of several threads
    wait_until(lambda: len(SHORT_OUTBOXES.peek_many(last)) == 500, "what was loaded is stored")


def test_every_page_is_that_of_one_group(reader, monkeypatch, subtests):
    reader, _ids = reader
    authors = list(range(reader.pk - FOLLOWEES, reader.pk))
    for cursor, count in product(CURSORS, [20, 300]):
        with subtests.test(cursor=cursor, count=count), monkeypatch.context() as patch:
            found = outbox.ids_of_authors(authors, cursor, count)
            patch.setattr(outbox, "GROUP_SIZE", 1000)
            assert found == outbox.ids_of_authors(authors, cursor, count)
            assert found
