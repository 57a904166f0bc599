import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from apps.timeline.sources import merge
from feedcache.ids import MAX_ID

# few different ids, so that lists share some; and ids of all sizes
IDS = st.integers(1, 30) | st.integers(1, MAX_ID)
LISTS = st.lists(st.lists(IDS, unique=True, max_size=15), max_size=8)
COUNTS = st.integers(0, 40)


def packed(lists):
    return [np.array(sorted(one, reverse=True), dtype=np.uint64) for one in lists]


@given(LISTS, COUNTS)
def test_the_newest_of_many_are_those_of_a_sort(lists, count):
    brute = sorted({one for ids in lists for one in ids}, reverse=True)[:count]
    assert merge.newest_of_vectors(packed(lists), count) == brute
    assert merge.first_ids([sorted(one, reverse=True) for one in lists], count) == brute


@given(LISTS, COUNTS)
def test_a_page_upwards_is_that_of_a_sort(lists, count):
    brute = sorted({one for ids in lists for one in ids})[:count]
    assert merge.first_ids(map(sorted, lists), count, ascending=True) == brute


def test_only_the_heads_are_looked_at():
    looked = []

    def endless(start):
        for number in range(start, 0, -2):
            looked.append(number)
            yield number

    assert merge.first_ids([endless(10**6), endless(10**6 - 1)], 3) == [10**6, 10**6 - 1, 10**6 - 2]
    assert len(looked) <= 6


def test_two_thousand_vectors_of_two_hundred_are_merged():
    rng = np.random.default_rng(1)
    lists = [np.sort(rng.integers(1, MAX_ID, 200, dtype=np.uint64))[::-1] for _ in range(2_000)]
    brute = np.unique(np.concatenate(lists))[::-1][:800].tolist()
    assert merge.newest_of_vectors(lists, 800) == brute
