from collections import Counter
from dataclasses import replace

import pytest

from feedcache import stats
from feedcache.memcached_node import Kind
from feedcache.memcached_tiers import MAX_KEYS_PER_CALL, make, tiers, use_topology
from feedcache.read_through import ReadThrough
from feedcache.topology import Node, Topology
from runner.services.service import restart
from tests.support.faults import dead_memcached
from tests.support.memory import another, flush, forget
from tests.support.services import running

NUMBERS = ReadThrough(
    name="test-number",
    version=1,
    ttl_seconds=60,
    key_of=str,
    encode=lambda value: str(value).encode(),
    decode=int,
)


@pytest.fixture(autouse=True)
def _empty(memcached):
    flush()


class Loader:
    """Squares, and which were asked for."""

    def __init__(self, absent=()):
        self.asked, self.absent = [], set(absent)

    def __call__(self, keys):
        self.asked.append(sorted(keys))
        return {key: key * key for key in keys if key not in self.absent}


def stored(key):
    return tiers().get_many([NUMBERS.name_of(key, tiers())])


def store(key, data):
    tiers().set_many({NUMBERS.name_of(key, tiers()): data}, ttl_seconds=60)


def test_what_is_missing_is_loaded_once_and_stored():
    load = Loader()
    assert NUMBERS.get_many([2, 3], load) == {2: 4, 3: 9}
    assert stored(2)
    assert NUMBERS.get_many([2, 3, 4], load) == {2: 4, 3: 9, 4: 16}
    assert load.asked == [[2, 3], [4]]


def test_every_layer_is_asked_for_a_key_and_nothing_is_copied():
    NUMBERS.get_many([2], Loader(absent=[3]))
    cache, key = tiers(), NUMBERS.name_of(2, tiers()).encode()
    assert dict(NUMBERS.layers_with(2))["main"]
    assert not any(has for _name, has in NUMBERS.layers_with(3))
    NUMBERS.get_many([3], Loader(absent=[3]))  # its absence is stored, which is no value
    assert not any(has for _name, has in NUMBERS.layers_with(3))
    cache.main.write(b"set", {key: make(Kind.TOMBSTONE, b"", 9)}, ttl_seconds=9)
    for _again in range(2):
        assert not dict(NUMBERS.layers_with(2))["main"]


def test_calls_are_counted_where_somebody_counts():
    store(1, b"1")
    with stats.calls_counted() as calls:
        stored(1)
        with stats.calls_counted() as inner:
            stored(1)
    stored(1)
    assert sum(inner.values()) == 1
    assert calls == inner  # those inside are of whoever counts there


def test_nothing_asked_is_nothing_loaded():
    load = Loader()
    assert NUMBERS.get_many([], load) == {}
    assert load.asked == []


def test_what_does_not_exist_is_not_in_the_answer_and_remembered_for_a_moment():
    load = Loader(absent=[5])
    for _ in range(3):
        assert NUMBERS.get_many([2, 5], load) == {2: 4}
    assert load.asked == [[2, 5]]
    assert stored(5) == {}


def test_what_is_stored_takes_the_place_of_nothing_there():
    absent = Loader(absent=[5])
    NUMBERS.get_many([5], absent)
    assert NUMBERS.set_many({5: 25})
    assert NUMBERS.get_many([5], absent) == {5: 25}
    assert absent.asked == [[5]]


def test_what_is_deleted_is_loaded_again():
    NUMBERS.set_many({5: 0})
    assert NUMBERS.delete_many([5])
    load = Loader()
    assert NUMBERS.get_many([5], load) == {5: 25}
    assert NUMBERS.get_many([5], load) == {5: 25}
    assert load.asked == [[5]]


def test_nothing_there_is_not_remembered_where_that_is_switched_off():
    kind = replace(NUMBERS, name="test-other", negative_ttl_seconds=0)
    load = Loader(absent=[5])
    for _ in range(2):
        assert kind.get_many([5], load) == {}
    assert load.asked == [[5], [5]]


def test_a_key_memcached_would_not_take_is_loaded_each_time():
    kind = replace(
        NUMBERS, name="test-words", key_of=lambda key: "with blank" if key == 3 else str(key)
    )
    load = Loader()
    for _ in range(2):
        assert kind.get_many([2, 3], load) == {2: 4, 3: 9}
    assert load.asked == [[3], [2], [3]]


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


def test_a_flushed_class_begins_anew():
    """By its epoch, which staff raise: the keys of before are never asked for again."""
    kind = replace(NUMBERS, family="content")
    load = Loader()
    kind.get_many([2], load)
    use_topology(replace(tiers().topology, epochs={"outbox": 7}))
    kind.get_many([2], load)
    assert load.asked == [[2]]
    use_topology(replace(tiers().topology, epochs={"content": 7}))
    kind.get_many([2], load)
    kind.get_many([2], load)
    assert load.asked == [[2], [2]]
    forget()


def test_entries_stored_together_do_not_expire_together():
    times = {NUMBERS.jittered_ttl() for _ in range(200)}
    assert min(times) >= 54
    assert max(times) <= 60
    assert len(times) > 3
    assert replace(NUMBERS, ttl_seconds=1).jittered_ttl() == 1


def test_what_was_answered_is_counted():
    store(2, b"garbage")
    stats.drain()
    NUMBERS.get_many([2, 3, 5], Loader(absent=[5]))
    NUMBERS.get_many([2, 3, 5], Loader(absent=[5]))
    counts = stats.drain()
    own = {
        outcome: number for (subject, outcome), number in counts.items() if subject == NUMBERS.name
    }
    assert own[stats.HIT] == 2  # the second time
    assert own[stats.NEGATIVE] == 1
    assert own[stats.MISS] == 2
    assert own[stats.GARBAGE] == 1
    assert counts["tier:main", stats.HIT] >= 1
    assert (
        stats.hit_rate(Counter({("x", "hit"): 8, ("x", "negative"): 1, ("x", "miss"): 1}), "x")
        == 0.9
    )
    assert stats.hit_rate(stats.drain(), "nobody") is None


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
