"""A large pull is cut into groups of authors; each group is asked from all its nodes at once (S85)."""

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
def slow_nodes(tmp_path):
    """The outboxes are in two Memcacheds that are far away."""
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    before = tiers().topology
    relays = [
        Relay(one.address, tmp_path / f"far{number}.sock")
        for number, one in enumerate(running().memcached[:2])
    ]
    nodes = (Node(f"far{number}", relay.address, 64) for number, relay in enumerate(relays))
    use_topology(Topology(version=before.version, main=tuple(nodes)))
    yield relays
    for relay in relays:
        relay.open()
    use_topology(before)
    for relay in relays:
        relay.close()


def pull(reader):
    return outbox.newest_ids_of_followees(reader.pk, 200)


def waiting_at(nodes, pulling):
    """How many reads of a pull waited at each node at each step until it ended; the nodes answer together."""
    steps = []
    while not pulling.done():
        wait_until(
            lambda: all(node.waiting for node in nodes) or pulling.done(), "all nodes are asked"
        )
        steps.append([node.let_go() for node in nodes])
    return [step for step in steps if any(step)]


def in_thread(reader):
    try:
        return pull(reader)
    finally:
        connections.close_all()


def test_a_group_waits_for_all_nodes_together(reader, slow_nodes):
    reader, ids = reader
    assert pull(reader) == ids[:200]  # and now the vectors are there
    for node in slow_nodes:
        node.hold()
        node.take()
    with ThreadPoolExecutor(1) as pool:
        pulling = pool.submit(in_thread, reader)
        waited = waiting_at(slow_nodes, pulling)
    assert pulling.result() == ids[:200]
    assert waited == [[1, 1]] * 8
    assert [node.take().count(b"gets ") for node in slow_nodes] == [8, 8]


def test_what_was_loaded_for_a_group_is_kept(reader, slow_nodes):
    reader, ids = reader
    assert pull(reader) == ids[:200]
    last = range(reader.pk - 500, reader.pk)
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
