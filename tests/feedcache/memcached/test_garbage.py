"""Garbage in any layer is a miss there, and goes away; bytes that no codec yields, flags that nobody writes."""

import pytest

from feedcache.memcached_tiers import tiers
from feedcache.read_through import ReadThrough
from tests.feedcache.pools import all_of
from tests.support.memory import forget, plant, told

NUMBERS = ReadThrough("number", 1, 60, str, lambda value: b"%d" % value, int)
GARBAGE = [b"", b"\x00\xff", b"12x", b"END\r\n", b"x" * 100_000]
NAME = "number:1.0:7"


@pytest.fixture(autouse=True)
def _used(pools):
    forget(pools.topology)
    tiers().ping()
    yield
    forget()


class Loader:
    def __init__(self):
        self.calls = 0

    def __call__(self, keys):
        self.calls += 1
        return {key: key * key for key in keys}


def layers():
    return {
        "main": tiers().main,
        "backup": tiers().backup,
        **dict(zip(("l1",), tiers().groups, strict=False)),
    }


def node_in(layer):
    return layers()[layer].slot_of(NAME.encode()).node


@pytest.mark.long
@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("layer", ["l1", "main", "backup"])
def test_garbage_in_one_layer_is_a_miss_and_is_replaced(chosen, layer, garbage):
    if layer not in layers():
        pytest.skip("no L1")
    plant(node_in(layer), NAME, garbage)
    load = Loader()
    for _ in range(3):
        assert NUMBERS.get_many([7], load) == {7: 49}
    assert load.calls == 1
    found = all_of(tiers())
    assert all(pool[NAME] in (b"49", None) for pool in found.values() if NAME in pool)
    assert found["main"] == {NAME: b"49"}
    for pool in ("main", "backup", *(["l1 0"] if tiers().groups else [])):
        assert found[pool] == {NAME: b"49"}, pool


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_in_every_layer(chosen, garbage):
    for layer in layers():
        plant(node_in(layer), NAME, garbage)
    load = Loader()
    for _ in range(3):
        assert NUMBERS.get_many([7], load) == {7: 49}
    assert load.calls == 1
    assert all(
        pool == {NAME: b"49"}
        for name, pool in all_of(tiers()).items()
        if name in {"main", "backup", "l1 0"}
    )


@pytest.mark.parametrize("layer", ["l1", "main"])
def test_a_good_value_below_garbage_is_found_and_nothing_is_loaded(chosen, layer):
    if layer not in layers():
        pytest.skip("no L1")
    NUMBERS.set_many({7: 49})
    for node in tiers().nodes():
        node.ping()
    plant(node_in(layer), NAME, b"garbage")
    load = Loader()
    assert NUMBERS.get_many([7], load) == {7: 49}
    assert load.calls == 0
    if layer == "l1" or not tiers().groups:  # else L1 has answered, and nobody has seen it
        assert {pool[NAME] for pool in all_of(tiers()).values()} == {b"49"}


@pytest.mark.parametrize("flags", [3, 2**32 - 1, 1, 2, 5])
def test_any_flags_are_survived(chosen, flags):
    for layer in layers():
        plant(node_in(layer), NAME, b"49", flags=flags)
    assert NUMBERS.get_many([7], Loader()) in ({7: 49}, {})
    NUMBERS.set_many({7: 50})
    assert NUMBERS.get_many([7], Loader()) == {7: 50}


@pytest.mark.parametrize("stamp", [b"", b"nonsense", b"-1", b"99999999999999999999999999", b"0"])
def test_a_garbled_stamp_is_survived(stamp):
    NUMBERS.set_many({7: 49})
    for node in tiers().nodes():
        told(node.url, b"set %s 0 0 %d\r\n%s\r\n" % (node.stamp_key, len(stamp), stamp))
    for _ in range(3):
        assert NUMBERS.get_many([7], Loader()) == {7: 49}
    NUMBERS.set_many({7: 50})
    for _ in range(5):
        assert NUMBERS.get_many([7], Loader()) == {7: 50}


def test_what_a_newer_writer_stored_is_not_taken_for_the_garbage(chosen):
    """Two readers met the garbage; the slower one must not undo what the quicker one stored."""
    plant(node_in("main"), NAME, b"garbage")
    slow = tiers().read([NAME])
    assert NUMBERS.get_many([7], Loader()) == {7: 49}
    tiers().read_below(slow, [NAME.encode()])
    tiers().fill(slow, {})
    assert NUMBERS.get_many([7], lambda _keys: pytest.fail("it was loaded again")) == {7: 49}
