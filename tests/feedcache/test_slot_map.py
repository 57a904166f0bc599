"""Slot maps: every key has one slot, pools stay even, and few keys move."""

import zlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache.slot_map import (
    BUCKETS,
    NOWHERE,
    bucket_of,
    even_map,
    from_text,
    moved,
    only_moved,
    rebalanced,
    to_text,
    without_slots,
)

widths = st.integers(1, 64)


@st.composite
def maps(draw):
    """A map after some changes, and the number of slots of its pool."""
    width = draw(widths)
    found = even_map(width)
    for target in draw(st.lists(widths, max_size=4)):
        found, width = rebalanced(found, range(target)), target
    return found, width


@given(maps(), st.sets(st.integers(0, 63), min_size=1))
def test_buckets_are_spread_evenly_over_exactly_these_slots(found, slots):
    old, _width = found
    sizes = Counter(rebalanced(old, slots))
    assert sizes.keys() == slots
    assert max(sizes.values()) - min(sizes.values()) <= 1


@given(maps(), st.integers(1, 5))
def test_a_wider_pool_takes_only_what_the_new_slots_get(found, more):
    old, width = found
    slots = range(min(width + more, 64))
    new = rebalanced(old, slots)
    assert {b for a, b in zip(old, new, strict=True) if a != b} <= set(slots) - set(range(width))
    gained = [size for slot, size in Counter(new).items() if slot >= width]
    assert moved(old, new) == sum(gained)


@given(maps(), st.data())
def test_a_narrower_pool_moves_only_what_had_the_slots_that_go(found, data):
    old, width = found
    gone = data.draw(st.sets(st.integers(0, width - 1), max_size=width - 1))
    new = rebalanced(old, set(range(width)) - gone)
    assert {a for a, b in zip(old, new, strict=True) if a != b} <= gone
    assert moved(old, new) == sum(Counter(old)[slot] for slot in gone)
    packed = without_slots(new, gone)
    left = [slot for slot in range(width) if slot not in gone]
    assert [left[slot] for slot in packed] == list(new)


@given(maps(), maps())
def test_what_does_not_move_is_in_no_second_map(one, other):
    other = other[0]
    second = only_moved(one[0], other)
    assert sum(slot != NOWHERE for slot in second) == moved(one[0], other)
    for bucket, slot in enumerate(second):
        assert slot in (one[0][bucket], NOWHERE)
        assert (slot == NOWHERE) is (one[0][bucket] == other[bucket])


@given(maps())
def test_text_and_back(found):
    assert from_text(to_text(found[0])) == found[0]
    assert from_text(to_text(even_map(0))) == even_map(0)


@pytest.mark.parametrize("text", ["", "A" * 839, "A" * 841, "A" * 839 + "!", "A" * 839 + "é"])
def test_what_is_no_map(text):
    with pytest.raises(ValueError, match="slot map"):
        from_text(text)


def test_a_pool_without_slots_has_no_keys():
    assert set(rebalanced(even_map(3), [])) == {NOWHERE}
    assert Counter(rebalanced(even_map(0), [0, 1])) == {0: BUCKETS // 2, 1: BUCKETS // 2}


@given(st.binary(min_size=1), st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 10, 12]))
def test_pools_of_up_to_eight_slots_have_their_keys_where_earlier_releases_had_them(key, width):
    assert even_map(width)[bucket_of(key)] == zlib.crc32(key) % width
