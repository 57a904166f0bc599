"""One suite for every level of stored timelines: the windows in Redis, the entries in PostgreSQL or in Cassandra."""

import pytest

from apps.second_level import spans
from apps.second_level.spans import ENTRIES
from feedcache.ids import compose
from feedcache.structures.home_window import HomeWindows
from tests.support.cassandra import STORES, in_cassandra
from tests.support.factories import make_user

IDS = [compose(1_700_000_000 + 60 * n, 9, 0) for n in range(30)][::-1]
ABOVE = IDS[0] + 1
ALL = 100


class Level:
    """A store, and how it comes to know a timeline."""

    def __init__(self, store, keep):
        self.store = store
        self.keep = keep

    def down(self, reader, *, newest=ABOVE, oldest=0, count=ALL):
        found = self.store.read(reader, newest=newest, oldest=oldest, count=count)
        return (found.ids, found.complete) if found is not None else None

    def up(self, reader, *, newest=ABOVE, oldest=0, count=ALL):
        found = self.store.read_up(reader, oldest=oldest, newest=newest, count=count)
        return (found.ids, found.complete) if found is not None else None


def windows():
    store = HomeWindows("suite", length=1000, ttl_seconds=60)

    def keep(reader, ids, *, complete):
        token = store.begin(reader)
        assert token is not None
        assert store.swap(reader, token, ids, complete=complete)

    return Level(store, keep)


def rows():
    def keep(reader, ids, *, complete):
        floor = 0 if complete else ids[-1] - 1
        spans.fill(reader, 0, ids, ceiling=ABOVE, floor=floor)

    return Level(ENTRIES, keep)


@pytest.fixture(params=["redis", *STORES])
def level(request):
    if request.param != "cassandra":
        yield {"redis": windows, "postgresql": rows}[request.param]()
        return
    with in_cassandra(request.getfixturevalue("cassandra_node")):
        yield rows()


@pytest.fixture
def reader(db):
    return make_user().pk


@pytest.fixture
def other(db):
    return make_user().pk


def test_nothing_is_known_of_a_stranger(level, reader):
    assert level.down(reader) is None
    assert level.up(reader) is None


def test_what_is_kept_is_read_in_both_directions(level, reader):
    level.keep(reader, IDS, complete=True)
    assert level.down(reader) == (IDS, True)
    assert level.up(reader)[0] == IDS[::-1]


@pytest.mark.parametrize(("newest", "oldest"), [(0, 30), (0, 5), (7, 9), (7, 8), (20, 29), (3, 30)])
def test_bounds_are_exclusive(level, reader, newest, oldest):
    level.keep(reader, IDS, complete=True)
    bounds = {"newest": IDS[newest], "oldest": IDS[oldest] if oldest < len(IDS) else 0}
    inside = IDS[newest + 1 : oldest]
    assert level.down(reader, **bounds) == (inside, True)
    assert level.up(reader, **bounds) == (inside[::-1], True)


@pytest.mark.parametrize("count", [1, 7, 30])
def test_a_page_is_the_first_ids_of_a_range(level, reader, count):
    level.keep(reader, IDS, complete=True)
    assert level.down(reader, count=count)[0] == IDS[:count]
    assert level.up(reader, count=count)[0] == IDS[::-1][:count]


def test_what_does_not_reach_down_says_so(level, reader):
    level.keep(reader, IDS[:10], complete=False)
    assert level.down(reader) == (IDS[:10], False)
    assert level.down(reader, oldest=IDS[9]) == (IDS[:9], True)
    assert level.down(reader, count=10)[0] == IDS[:10]
    found = level.up(reader, oldest=IDS[20])
    assert found is None or not found[1]
    assert level.up(reader, oldest=IDS[9]) == (IDS[:9][::-1], level.up(reader, oldest=IDS[9])[1])


def test_an_empty_timeline_is_known_to_be_empty(level, reader):
    level.keep(reader, [], complete=True)
    assert level.down(reader) == ([], True)


def test_a_push_is_read_at_its_place_and_twice_is_once(level, reader, other):
    level.keep(reader, [*IDS[:5], *IDS[7:]], complete=True)
    level.keep(other, IDS, complete=True)
    for _ in range(2):
        level.store.push([reader, other], IDS[4:7])
    assert level.down(reader) == (IDS, True)
    assert level.down(other) == (IDS, True)


def test_what_is_removed_is_gone_from_one_reader(level, reader, other):
    for one in (reader, other):
        level.keep(one, IDS, complete=True)
    for _ in range(2):
        level.store.remove(reader, [IDS[3], IDS[0], 12345])
    level.store.remove(reader, [])
    assert level.down(reader) == ([*IDS[1:3], *IDS[4:]], True)
    assert level.down(other) == (IDS, True)


def test_who_is_dropped_is_a_stranger_again(level, reader, other):
    for one in (reader, other):
        level.keep(one, IDS, complete=True)
    for _ in range(2):
        level.store.drop_many([reader])
    assert level.down(reader) is None
    assert level.down(other) == (IDS, True)
    level.keep(reader, IDS[5:], complete=True)
    assert level.down(reader) == (IDS[5:], True)


def test_what_is_kept_anew_takes_the_place_of_the_old(level, reader):
    level.keep(reader, IDS, complete=True)
    level.store.drop_many([reader])
    level.keep(reader, IDS[::2], complete=True)
    assert level.down(reader) == (IDS[::2], True)
