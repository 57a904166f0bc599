import pytest

from apps.caches.reads import MAX_KEYS_PER_CALL
from apps.caches.readthrough import ReadThrough
from apps.caches.tiers import tiers
from apps.caches.topology import Node, Topology
from runner.services.shape import restart
from tests.faults import dead_memcached
from tests.memory import another, flush
from tests.services import running

NUMBERS = ReadThrough(
    name="test-number",
    version=1,
    ttl_seconds=60,
    key_of=str,
    encode=lambda value: str(value).encode(),
    decode=int,
)


@pytest.fixture(autouse=True)
def _memcached_runs():
    if not tiers().ping():
        pytest.skip("no memcached on this machine")
    flush()


class Loader:
    """Squares, and which were asked for."""

    def __init__(self, absent=()):
        self.asked, self.absent = [], set(absent)

    def __call__(self, keys):
        self.asked.append(sorted(keys))
        return {key: key * key for key in keys if key not in self.absent}


def stored(key):
    return tiers().get_many([NUMBERS._name(key, tiers())])


def store(key, data):
    tiers().set_many({NUMBERS._name(key, tiers()): data}, ttl_seconds=60)


def test_what_is_missing_is_loaded_once_and_stored():
    load = Loader()
    assert NUMBERS.get_many([2, 3], load) == {2: 4, 3: 9}
    assert stored(2)
    assert NUMBERS.get_many([2, 3, 4], load) == {2: 4, 3: 9, 4: 16}
    assert load.asked == [[2, 3], [4]]


def test_nothing_asked_is_nothing_loaded():
    load = Loader()
    assert NUMBERS.get_many([], load) == {}
    assert load.asked == []


def test_what_does_not_exist_is_not_in_the_answer_and_not_stored():
    assert NUMBERS.get_many([2, 5], Loader(absent=[5])) == {2: 4}
    assert stored(5) == {}


@pytest.mark.parametrize("garbage", [b"", b"\x00\xff", b"{", b"12x", b"x" * 100_000])
def test_garbage_is_a_miss_and_is_written_over(garbage):
    store(2, garbage)
    load = Loader()
    assert NUMBERS.get_many([2], load) == {2: 4}
    assert NUMBERS.get_many([2], load) == {2: 4}
    assert load.asked == [[2]]


def test_another_version_of_the_byte_form_is_a_miss():
    NUMBERS.get_many([2], Loader())
    newer = ReadThrough("test-number", 2, 60, str, NUMBERS.encode, NUMBERS.decode)
    load = Loader()
    newer.get_many([2], load)
    assert load.asked == [[2]]


def test_a_restarted_memcached_is_filled_again():
    NUMBERS.get_many([2], Loader())
    for server in running().memcached:
        restart(server)
    load = Loader()
    for _ in range(3):  # a pooled connection is stale once
        assert NUMBERS.get_many([2], load) == {2: 4}
    assert stored(2)


def test_a_dead_memcached_is_a_miss():
    NUMBERS.get_many([2], Loader())
    load = Loader()
    with dead_memcached():
        assert NUMBERS.get_many([2], load) == {2: 4}
        assert NUMBERS.get_many([2], load) == {2: 4}
        assert not tiers().ping()
    assert load.asked == [[2], [2]]


def test_no_memcached_at_all_is_always_a_miss():
    nowhere = another(Topology())
    assert not nowhere.set_many({"key": b"value"}, ttl_seconds=5)
    assert nowhere.get_many(["key"]) == {}
    assert not nowhere.ping()
    assert not nowhere.is_configured


def test_an_address_where_nobody_listens_is_a_miss():
    nobody = another(Topology(main=(Node("nobody", "unix:/nonexistent/memcached.sock", 64),)))
    assert not nobody.set_many({"key": b"value"}, ttl_seconds=5)
    assert nobody.get_many(["key"]) == {}
    assert not nobody.ping()


def test_a_batch_is_bounded():
    with pytest.raises(ValueError, match="at most"):
        tiers().get_many([f"key{number}" for number in range(MAX_KEYS_PER_CALL + 1)])


@pytest.mark.parametrize("key", ["with blank", "new\nline", "x" * 251])
def test_a_key_memcached_would_not_take_is_a_miss(key):
    assert tiers().get_many([key]) == {}
