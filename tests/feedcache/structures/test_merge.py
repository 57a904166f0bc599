"""Two windows of one reader read as one, and the truth below their ends: always exactly the truth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache.connections import timelines
from feedcache.structures.home_window import (
    HomeWindows,
    Merged,
    WindowRange,
    WindowsQuery,
    merge_down,
    merge_up,
    read_windows,
    read_windows_up,
)
from tests.support.faults import dead_redis

READER, BESIDE = 7, "beside"
WIDE, NARROW = (
    HomeWindows(name, length=size, ttl_seconds=100) for name, size in (("w", 6), ("n", 3))
)
BOTH = (WIDE, NARROW)

post_ids = st.sets(st.integers(1, 30), max_size=14)


def put(windows, truth):
    """A window as a rebuild makes it: the newest ids, and the sentinel when these are all and one more fits."""
    newest = sorted(truth, reverse=True)[: windows.length]
    windows.drop(READER)
    assert windows.swap(
        READER, windows.begin(READER), newest, complete=len(newest) < windows.length
    )


@given(
    wide=post_ids,
    narrow=post_ids,
    newest=st.none() | st.integers(1, 31),
    oldest=st.integers(0, 30),
    count=st.integers(1, 9),
)
def test_both_directions_are_exact_with_the_truth_below_the_end(
    wide, narrow, newest, oldest, count
):
    truth = wide | narrow
    for windows, ids in zip(BOTH, (wide, narrow), strict=True):
        put(windows, ids)
    inside = [one for one in truth if one > oldest and (newest is None or one < newest)]

    query = WindowsQuery(BOTH, READER, newest, oldest, count, version_key=BESIDE)
    parts = read_windows(query).parts
    there = [part for part in parts if part is not None]
    if len(there) == len(parts):
        known = merge_down(there, newest=newest, count=count)
        below = sorted((one for one in inside if one < known.end), reverse=True)
        found = known.ids + below[: count - len(known.ids)]
        assert found == sorted(inside, reverse=True)[:count]

    parts = read_windows_up(
        WindowsQuery(BOTH, READER, oldest=oldest, newest=newest, count=count, version_key=BESIDE)
    ).parts
    there = [part for part in parts if part is not None]
    if len(there) == len(parts):
        up = merge_up(there, count=count)
        assert up is None or up.ids == sorted(inside)[:count]


def test_an_id_that_is_in_both_windows_is_one():
    parts = [WindowRange([9, 5, 2], complete=True), WindowRange([9, 2], complete=True)]
    assert merge_down(parts, newest=None, count=9) == Merged([9, 5, 2])
    assert merge_up([WindowRange([2, 9], complete=True)] * 2, count=9) == Merged([2, 9])


def test_nothing_is_said_below_the_higher_end():
    parts = [WindowRange([9, 8, 3], complete=True), WindowRange([7], complete=False)]
    assert merge_down(parts, newest=None, count=9) == Merged([9, 8, 7], end=7)
    # enough above that end: what lies below does not matter
    assert merge_down(parts, newest=None, count=2) == Merged([9, 8])


def test_a_page_that_begins_below_one_window_is_asked_of_the_truth():
    parts = [WindowRange([4, 3], complete=True), WindowRange([], complete=False)]
    assert merge_down(parts, newest=5, count=9) == Merged([], end=5)
    assert merge_down(parts, newest=None, count=9).ids == []


def test_upwards_both_windows_must_reach_down():
    parts = [WindowRange([3, 4], complete=True), WindowRange([9], complete=False)]
    assert merge_up(parts, count=9) is None


def test_one_read_slides_the_lives_of_both():
    for windows in BOTH:
        put(windows, {1, 2})
        timelines().expire(windows.key(READER), 5)
    read_windows(WindowsQuery(BOTH, READER, newest=None, oldest=0, count=3, version_key=BESIDE))
    assert all(timelines().ttl(windows.key(READER)) > 50 for windows in BOTH)


@pytest.mark.parametrize("missing", [WIDE, NARROW])
def test_a_missing_window_is_told_from_an_empty_one(missing):
    for windows in BOTH:
        put(windows, set())
    missing.drop(READER)
    parts = read_windows(
        WindowsQuery(BOTH, READER, newest=None, oldest=0, count=3, version_key=BESIDE)
    ).parts
    up = read_windows_up(
        WindowsQuery(BOTH, READER, oldest=0, newest=None, count=3, version_key=BESIDE)
    ).parts
    assert [part is None for part in parts] == [windows is missing for windows in BOTH]
    assert [part is None for part in up] == [windows is missing for windows in BOTH]


def test_without_redis_both_are_missing():
    with dead_redis():
        found = read_windows(
            WindowsQuery(BOTH, READER, newest=None, oldest=0, count=3, version_key=BESIDE)
        )
        assert (found.parts, found.answered) == ([None, None], False)
        found = read_windows_up(
            WindowsQuery(BOTH, READER, oldest=0, newest=None, count=3, version_key=BESIDE)
        )
        assert (found.parts, found.answered) == ([None, None], False)
