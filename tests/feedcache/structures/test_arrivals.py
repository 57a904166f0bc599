"""What comes to a window with an id below its newest one is noted, in the order of its arrival."""

import time

from feedcache.connections import timelines
from feedcache.ids import MAX_ID
from feedcache.structures.home_window import MAX_LATE, HomeWindows, late_arrivals, mark_deleted
from tests.support.faults import dead_redis

READER, OTHER = 7, 8
KIND = HomeWindows("test", length=200, ttl_seconds=1000)
OTHER_KIND = HomeWindows("other", length=200, ttl_seconds=1000)


def online(windows=KIND, reader=READER, ids=(50,)):
    token = windows.begin(reader)
    assert windows.swap(reader, token, list(ids), complete=True)


def told(post_id):
    """How a window writes an id."""
    return f"{MAX_ID - post_id:019d}"


def late(since_ms=0, kinds=(KIND,)):
    return late_arrivals(kinds, READER, since_ms=since_ms)


def test_what_comes_in_order_is_not_noted():
    online()
    for post_id in (51, 52, 60):
        KIND.push([READER], [post_id])
    assert late() == []
    assert not timelines().exists(KIND.late_key(READER))


def test_what_comes_late_is_noted_once_and_newest_first():
    online()
    for post_id in (60, 55, 58, 55, 60):
        KIND.push([READER], [post_id])
    assert late() == [58, 55]


def test_only_what_came_after_the_moment_is_told():
    online()
    KIND.push([READER], [60])
    KIND.push([READER], [55])
    time.sleep(0.01)
    moment = round(time.time() * 1000)
    time.sleep(0.01)
    KIND.push([READER], [56])
    assert late(moment) == [56]


def test_many_at_once_come_one_after_the_other():
    online(ids=[500])
    KIND.push([READER], list(range(100, 130)))
    times = [int(timelines().zscore(KIND.late_key(READER), told(id_)) or 0) for id_ in late()]
    assert len(set(times)) == 30
    assert times == sorted(times, reverse=True), "the newest id came last"


def test_the_oldest_notes_go_when_there_are_too_many():
    online(ids=[5000])
    for post_id in range(100, 100 + MAX_LATE + 20):
        KIND.push([READER], [post_id])
    assert len(late()) == MAX_LATE
    assert min(late()) == 120
    assert timelines().ttl(KIND.late_key(READER)) > 0


def test_what_a_follow_brings_is_no_news():
    online()
    KIND.push([READER], [40, 41], news=False)
    assert late() == []
    assert KIND.ids(READER) == [50, 41, 40]


def test_who_is_not_online_has_no_notes():
    KIND.push([OTHER], [40])
    assert not timelines().keys("*late*")


def test_what_was_deleted_meanwhile_is_not_noted():
    online()
    mark_deleted(45)
    KIND.push([READER], [45])
    assert late() == []


def test_several_kinds_are_told_together():
    online()
    online(OTHER_KIND)
    KIND.push([READER], [41])
    OTHER_KIND.push([READER], [42])
    assert late(kinds=(KIND, OTHER_KIND)) == [42, 41]


def test_garbage_in_the_place_of_the_notes_stops_no_push():
    online()
    timelines().set(KIND.late_key(READER), "garbage")
    assert late() == []
    assert KIND.push([READER], [41]) == (1, 0)
    assert late() == [41]


def test_without_redis_nothing_came_late():
    with dead_redis():
        assert late() == []
