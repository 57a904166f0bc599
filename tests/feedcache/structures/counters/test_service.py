"""Counts of ids in every state of the store: whole, lost, being rebuilt, cold, dead."""

import logging

import pytest

from feedcache.connections import counters
from feedcache.structures.counters import maintenance
from feedcache.structures.counters.maintenance import begin_build, end_build, invalidate
from feedcache.structures.counters.records import Row, Schema
from feedcache.structures.counters.service import get_in_batch
from feedcache.structures.counters.store import begin_load
from tests.feedcache.structures.counters.rows import DAY, make_service, make_whole, post_id
from tests.support.faults import dead_redis
from tests.support.threads import together

COLD = 30 * DAY


def test_a_whole_store_answers_alone(service):
    service.put_many([service.source.put(post_id(), 5, 6, 7)])
    assert service.get_many([post_id(), post_id(9)]) == {post_id(): (5, 6, 7), post_id(9): (0, 0, 0)}  # fmt: skip
    assert service.source.asked == []
    assert service.get_many([]) == {}


def test_a_lost_store_is_one_query_a_page_and_a_ring(lost):
    lost.source.put(post_id(), 5, 6, 7)
    ids = [post_id(), post_id(9), post_id(COLD)]
    assert lost.get_many(ids) == {ids[0]: (5, 6, 7), ids[1]: (0, 0, 0), ids[2]: (0, 0, 0)}
    assert (lost.source.asked, lost.source.rings) == (["rows"], 1)


def test_a_flush_never_shows_zeros(service):
    service.put_many([service.source.put(post_id(), 5, 6, 7)])
    counters().flushdb()
    assert service.get_many([post_id()]) == {post_id(): (5, 6, 7)}


def test_a_dead_redis_is_one_query_and_no_ring(service):
    service.source.put(post_id(), 5, 6, 7)
    with dead_redis():
        assert service.get_many([post_id(), post_id(9)])[post_id()] == (5, 6, 7)
        assert service.count("reads", {post_id(): 2}) == {}
    assert (service.source.asked, service.source.rings) == (["rows", "add_to"], 0)
    assert service.source.value(post_id(), "reads") == 9


def test_services_are_read_together_though_one_is_lost(service):
    other = make_service(schema=Schema("other", service.store.schema.fields))
    service.put_many([Row(post_id(), (1, 2, 3), 1)])
    other.source.put(5, 7, 8, 9)
    assert get_in_batch({service: [post_id()], other: [5]}) == [{post_id(): (1, 2, 3)}, {5: (7, 8, 9)}]  # fmt: skip
    assert get_in_batch({service: [], other: [5]}) == [{}, {5: (7, 8, 9)}]


# --- cold ids ---------------------------------------------------------------------------------------


def test_a_cold_bucket_is_loaded_once_with_its_zeros(service):
    ids = [post_id(COLD, author) for author in range(1, 40)]
    for id_ in ids[:20]:
        service.source.put(id_, 5, 6, 7)
    for _ in range(4):
        assert service.get_many([ids[0], ids[30]]) == {ids[0]: (5, 6, 7), ids[30]: (0, 0, 0)}
    assert service.get_many(ids[:5])[ids[4]] == (5, 6, 7)
    assert service.source.asked == ["rows_in"]


def test_cold_and_hot_ids_of_one_page_are_one_query(service):
    old = [post_id(COLD + 1000 * number) for number in range(20)]
    for id_ in old:
        service.source.put(id_, 5, 6, 7)
    service.put_many([Row(post_id(), (1, 1, 1), 1)])
    found = service.get_many([*old, post_id()])
    assert (found[old[7]], found[post_id()]) == ((5, 6, 7), (1, 1, 1))
    assert service.source.asked == ["rows_in"]


def test_a_page_of_very_many_cold_buckets_loads_some_and_answers_all(service):
    old = [post_id(COLD + 1000 * number) for number in range(80)]
    for id_ in old:
        service.source.put(id_, 5, 6, 7)
    assert set(service.get_many(old).values()) == {(5, 6, 7)}
    assert service.source.asked == ["rows_in", "rows"]


def test_what_was_loaded_cools_down_when_nobody_reads_it(service):
    id_ = post_id(COLD)
    service.get_many([id_])
    key = service.store.key(service.store.bucket_of(id_))
    assert 0 < counters().ttl(key) <= service.store.cold_ttl_seconds
    counters().expire(key, 5)
    service.get_many([id_])
    assert counters().ttl(key) > 5  # a read keeps it
    counters().delete(key)  # as the end of its life does
    assert service.get_many([id_]) == {id_: (0, 0, 0)}
    assert service.source.asked == ["rows_in"] * 2


def test_a_put_to_a_cold_bucket_is_kept_only_when_it_is_loaded(service):
    id_ = post_id(COLD)
    service.put_many([service.source.put(id_, 5, 0, 0, revision=1)])
    assert not counters().exists(service.store.key(service.store.bucket_of(id_)))
    assert service.get_many([id_])[id_] == (5, 0, 0)
    service.put_many([service.source.put(id_, 6, 0, 0, revision=2)])
    assert service.get_many([id_])[id_] == (6, 0, 0)
    assert service.source.asked == ["rows_in"]


def test_a_put_while_its_cold_bucket_is_loaded_is_not_lost(service):
    id_ = post_id(COLD)
    service.source.put(id_, 1, 0, 0, revision=1)
    read = service.source.rows_in

    def overtaken(spans):
        rows = read(spans)
        service.put_many([service.source.put(id_, 2, 0, 0, revision=2)])
        return rows

    service.source.rows_in = overtaken
    assert service.get_many([id_])[id_][0] in {1, 2}
    assert service.get_many([id_])[id_] == (2, 0, 0)
    assert service.source.asked == ["rows_in"]


def test_a_flush_while_a_cold_bucket_is_loaded_leaves_nothing_half(service):
    id_ = post_id(COLD)
    service.source.put(id_, 1, 0, 0)
    read = service.source.rows_in

    def flushed(spans):
        counters().flushdb()
        return read(spans)

    service.source.rows_in = flushed
    assert service.get_many([id_])[id_] == (1, 0, 0)
    assert counters().dbsize() == 0


def test_a_bucket_that_somebody_else_loads_is_asked_of_the_database(service):
    id_ = post_id(COLD)
    service.source.put(id_, 1, 0, 0)
    assert begin_load(service.store, [service.store.bucket_of(id_)])
    assert service.get_many([id_])[id_] == (1, 0, 0)
    assert service.source.asked == ["rows"]


def test_a_rebuild_makes_cold_buckets_be_loaded_again(service):
    id_ = post_id(COLD)
    service.get_many([id_])
    service.source.put(id_, 5, 0, 0)  # and its put was lost with a server
    maintenance.rebuild(service)
    assert service.get_many([id_])[id_] == (5, 0, 0)


def test_readers_of_one_cold_bucket_load_it_once(service):
    ids = [post_id(COLD, author) for author in range(1, 9)]
    for id_ in ids:
        service.source.put(id_, 5, 6, 7)
    found = together(8, lambda index: service.get_many([ids[index]])[ids[index]])
    assert set(found) == {(5, 6, 7)}
    assert service.source.asked.count("rows_in") == 1


# --- a bucket that was lost alone -------------------------------------------------------------------


def lose(service, id_):
    assert counters().delete(service.store.key(service.store.bucket_of(id_)))


def test_a_lost_bucket_is_noticed_and_loaded_again(service):
    ids = [post_id(0, author) for author in (1, 2, 3)]
    service.put_many([service.source.put(ids[0], 5, 6, 7), service.source.put(ids[1], 1, 0, 0)])
    lose(service, ids[0])
    assert list(service.get_many(ids).values()) == [(5, 6, 7), (1, 0, 0), (0, 0, 0)]
    assert list(service.get_many(ids).values()) == [(5, 6, 7), (1, 0, 0), (0, 0, 0)]
    assert service.source.asked == ["rows_in"]
    assert counters().ttl(service.store.key(service.store.bucket_of(ids[0]))) == -1


def test_a_put_into_a_lost_bucket_does_not_make_zeros_of_the_others(service):
    one, other = post_id(0, 1), post_id(0, 2)
    service.put_many([service.source.put(one, 5, 0, 0), service.source.put(other, 6, 0, 0)])
    lose(service, one)
    service.put_many([service.source.put(one, 7, 0, 0, revision=2)])
    assert service.get_many([one, other]) == {one: (7, 0, 0), other: (6, 0, 0)}
    assert service.get_many([one, other]) == {one: (7, 0, 0), other: (6, 0, 0)}
    assert service.source.asked == ["rows_in"]


def test_counting_in_a_lost_bucket_goes_on_from_the_database(service):
    one, other = post_id(0, 1), post_id(0, 2)
    service.put_many([service.source.put(one, 5, 0, 90), service.source.put(other, 6, 0, 0)])
    lose(service, one)
    assert service.count("reads", {one: 1}) == {one: 91}
    assert service.get_many([one, other]) == {one: (5, 0, 91), other: (6, 0, 0)}


def test_a_bucket_that_was_dropped_and_begun_again_is_whole(service):
    service.put_many([service.source.put(post_id(), 5, 0, 0)])
    maintenance.start_over(service)
    maintenance.rebuild(service)
    service.source.asked.clear()
    assert service.get_many([post_id(), post_id(0, 2)]) == {post_id(): (5, 0, 0), post_id(0, 2): (0, 0, 0)}  # fmt: skip
    assert service.source.asked == []


def test_buckets_that_outlive_the_store_are_noticed_as_well(service):
    service.put_many([service.source.put(post_id(), 5, 0, 0)])
    counters().delete(service.store.meta_key)
    assert service.get_many([post_id()]) == {post_id(): (5, 0, 0)}
    maintenance.rebuild(service)
    lose(service, post_id())
    assert service.get_many([post_id()]) == {post_id(): (5, 0, 0)}


@pytest.mark.parametrize("garbage", [b"", b"\0", b"\1", b"\0\0\0", b"\x80\0\0", b"\x10ab"])
def test_garbage_instead_of_a_record_is_the_databases_to_answer(service, garbage):
    service.put_many([service.source.put(post_id(), 5, 0, 0)])
    bucket, name = service.store.buckets.place(post_id())
    counters().hset(service.store.key(bucket), name, garbage)
    assert service.get_many([post_id()]) == {post_id(): (5, 0, 0)}


@pytest.mark.parametrize("which", ["bucket", "meta", "dirty"])
def test_garbage_instead_of_a_hash_is_the_databases_to_answer(service, which):
    row = service.source.put(post_id(), 5, 0, 0)
    service.put_many([row])
    keys = {"bucket": service.store.key(service.store.bucket_of(post_id())), "meta": service.store.meta_key,
            "dirty": service.store.dirty_key}  # fmt: skip
    counters().set(keys[which], "garbage")
    assert service.get_many([post_id()]) == {post_id(): (5, 0, 0)}
    service.count("reads", {post_id(): 1})
    assert service.source.value(post_id(), "reads") == 1


# --- counting ---------------------------------------------------------------------------------------


def test_counting_is_for_counted_fields(service):
    with pytest.raises(ValueError, match="is counted in PostgreSQL"):
        service.count("likes", {post_id(): 1})
    with pytest.raises(ValueError, match="at once"):
        service.count("reads", {post_id(): 10**15})
    with pytest.raises(KeyError):
        service.count("nothing", {post_id(): 1})
    assert service.count("reads", {}) == {}


def test_counting_goes_on_from_what_the_database_has_while_the_store_is_lost(lost):
    ids = [post_id(), post_id(9)]
    lost.source.put(ids[0], 5, 6, 100, revision=3)
    assert lost.count("reads", dict.fromkeys(ids, 2)) == {ids[0]: 102, ids[1]: 2}
    assert lost.source.rings == 1
    assert maintenance.rebuild(lost)
    assert lost.get_many(ids) == {ids[0]: (5, 6, 102), ids[1]: (0, 0, 2)}


def test_counting_on_a_cold_id_is_not_lost(service):
    id_ = post_id(COLD)
    service.source.put(id_, 5, 6, 100)
    assert service.count("reads", {id_: 1}) == {id_: 101}
    key = service.store.key(service.store.bucket_of(id_))
    assert counters().ttl(key) == -1  # it does not end before the database knows
    maintenance.write_back(service)
    assert service.source.value(id_, "reads") == 101
    assert counters().ttl(key) > 0
    counters().delete(key)
    assert service.get_many([id_])[id_] == (5, 6, 101)


def test_counting_cold_ids_by_many_at_once_is_exact(service):
    ids = [post_id(COLD + 1000 * number) for number in range(5)]
    for id_ in ids:
        service.source.put(id_, 0, 0, 1000)
    together(8, lambda _index: [service.count("reads", dict.fromkeys(ids, 1)) for _ in range(10)])
    maintenance.write_back(service)
    assert [service.source.value(id_, "reads") for id_ in ids] == [1080] * 5


def test_counting_while_the_store_is_rebuilt_is_exact(lost):
    ids = [post_id(second) for second in range(40)]
    for id_ in ids:
        lost.source.put(id_, 0, 0, 1000)

    def work(index):
        if index == 0:
            while not maintenance.rebuild(lost):
                pass
        for _ in range(10):
            lost.count("reads", dict.fromkeys(ids, 1))

    together(6, work)
    maintenance.write_back(lost)
    assert {lost.source.value(id_, "reads") for id_ in ids} == {1060}


def test_counting_goes_on_while_nothing_is_trusted(service):
    service.count("reads", {post_id(): 5})
    invalidate(service.store)
    assert service.count("reads", {post_id(): 1, post_id(9): 1}) == {post_id(): 6, post_id(9): 1}


def test_a_count_that_would_fall_below_zero_stays_there_and_is_reported(service, caplog):
    service.count("reads", {post_id(): 2})
    with caplog.at_level(logging.WARNING):
        assert service.count("reads", {post_id(): -5}) == {post_id(): 0}
    assert "would have fallen below zero" in caplog.text


def test_a_store_lost_over_and_over_leaves_counting_to_the_database(lost, monkeypatch):
    monkeypatch.setattr("feedcache.structures.counters.service.expect_build", lambda *_args: None)
    assert lost.count("reads", {post_id(): 2}) == {}
    assert lost.source.value(post_id(), "reads") == 2


def test_the_floor_is_where_ids_grow_cold():
    service = make_whole(make_service(hot_days=10))
    service.get_many([post_id(9 * DAY)])
    assert service.source.asked == []
    service.get_many([post_id(11 * DAY)])
    assert service.source.asked == ["rows_in"]


def test_a_turn_that_was_overtaken_makes_nothing_whole(lost):
    turn = begin_build(lost.store, 0)
    assert turn is not None
    assert begin_build(lost.store, 0) is None
    counters().flushdb()
    assert not lost.store.put([Row(post_id(), (1, 0, 0), 1)], lease=turn, cursor=5)
    assert not end_build(lost.store, turn, complete=True)
    assert counters().dbsize() == 0
