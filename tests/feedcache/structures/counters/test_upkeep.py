"""Rebuilds, writing back, cooling down, comparing: in turns, twice, cut off anywhere."""

from itertools import count

import pytest

from feedcache.connections import counters
from feedcache.structures.counters import maintenance
from feedcache.structures.counters.buckets import TimeBuckets
from feedcache.structures.counters.maintenance import invalidate
from feedcache.structures.counters.records import Row
from tests.feedcache.structures.counters.rows import (
    DAY,
    NOW,
    Rows,
    make_service,
    make_whole,
    post_id,
)

COLD = 30 * DAY


@pytest.fixture
def rows():
    """Forty posts of today and ten old ones."""
    rows = Rows()
    for second in range(40):
        rows.put(post_id(second * 50), second, 0, 2 * second, revision=second + 1)
    for second in range(10):
        rows.put(post_id(COLD + second * 50), 9, 9, 9)
    return rows


def asked(service, of="rows_after"):
    return service.source.asked.count(of)


def test_a_rebuild_makes_the_store_whole(rows):
    service = make_service(rows=rows)
    assert maintenance.rebuild(service)
    rows.asked.clear()
    assert service.get_many([post_id(50), post_id(1)]) == {post_id(50): (1, 0, 2), post_id(1): (0, 0, 0)}  # fmt: skip
    assert rows.asked == []


def test_a_rebuild_leaves_cold_rows_where_they_are(rows):
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    assert not counters().exists(service.store.key(service.store.bucket_of(post_id(COLD))))


def test_a_store_that_is_sound_is_left_alone(rows):
    service = make_service(rows=rows)
    assert maintenance.maintain(service, seconds=9)
    number = asked(service)
    assert maintenance.maintain(service, seconds=9)
    assert asked(service) == number


def test_a_rebuild_goes_on_where_the_last_turn_ended(rows, monkeypatch):
    monkeypatch.setattr(maintenance, "ROWS", 7)
    service = make_service(rows=rows)
    reached: list[int] = []
    turns = 0
    while not maintenance.rebuild(service, seconds=0, advance=reached.append):
        assert service.get_many([post_id()])[post_id()] == (0, 0, 0)
        assert not maintenance.state(service.store).is_complete
        turns += 1
    assert turns == 6
    assert reached == sorted(set(reached))
    assert service.get_many([post_id(39 * 50)]) == {post_id(39 * 50): (39, 0, 78)}


def test_one_builder_at_a_time(rows):
    service = make_service(rows=rows)
    turn = maintenance.begin_build(service.store, service.floor_now)
    assert turn is not None
    assert not maintenance.rebuild(service)
    maintenance.end_build(service.store, turn, complete=False)
    assert maintenance.rebuild(service)


def test_a_builder_that_died_is_followed_by_another_one(rows):
    service = make_service(rows=rows)
    maintenance.begin_build(service.store, service.floor_now)
    counters().hset(service.store.meta_key, "lease", 1)
    assert maintenance.rebuild(service)


def test_a_flush_in_the_middle_of_a_rebuild_is_noticed(rows, monkeypatch):
    monkeypatch.setattr(maintenance, "ROWS", 7)
    service = make_service(rows=rows)
    assert not maintenance.rebuild(service, advance=flush)
    assert not maintenance.state(service.store).is_complete
    assert service.get_many([post_id(50)])[post_id(50)] == (1, 0, 2)
    assert maintenance.rebuild(service)


def flush(_id):
    counters().flushdb()


def test_puts_while_it_is_rebuilt_are_not_lost(rows, monkeypatch):
    monkeypatch.setattr(maintenance, "ROWS", 7)
    service = make_service(rows=rows)

    revisions = count(90)

    def change(_id):
        for second in (0, 39):  # behind and before the builder
            revision = next(revisions)
            service.put_many([rows.put(post_id(second * 50), revision, 0, 0, revision=revision)])

    assert maintenance.rebuild(service, advance=change)
    found = service.get_many([post_id(), post_id(39 * 50)])
    assert [likes for likes, _replies, _reads in found.values()] == [
        rows.value(id_, "likes") for id_ in found
    ]


def test_a_server_with_another_run_id_is_put_right_while_it_serves(rows):
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    counters().hset(service.store.meta_key, "run", "another")
    missed = rows.put(post_id(50), 77, 0, 0, revision=50)  # its put went with the old server
    assert service.get_many([post_id(50)])[post_id(50)] == (1, 0, 2)
    assert maintenance.maintain(service, seconds=9)
    assert service.get_many([missed.id])[missed.id] == (77, 0, 2)
    assert maintenance.is_sound(service, maintenance.state(service.store))


def test_what_another_server_built_is_built_again(rows, monkeypatch):
    monkeypatch.setattr(maintenance, "ROWS", 7)
    service = make_service(rows=rows)
    maintenance.rebuild(service, seconds=0)
    counters().hset(service.store.meta_key, "on", "another")
    first: list[int] = []
    maintenance.rebuild(service, seconds=0, advance=first.append)
    assert first == [sorted(id_ for id_ in rows.kept if id_ > post_id(DAY))[6]]


def test_a_new_field_is_filled_by_the_next_turn(rows):
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    counters().hset(service.store.meta_key, "layout", "likes,")
    assert not maintenance.is_sound(service, maintenance.state(service.store))
    assert service.get_many([post_id(50)])[post_id(50)] == (1, 0, 2)  # still served
    assert maintenance.maintain(service, seconds=9)
    assert maintenance.is_sound(service, maintenance.state(service.store))


def test_other_buckets_are_built_beside_and_the_former_ones_dropped(rows):
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    service.count("reads", {post_id(50): 1})
    former = counters().keys("c{test}:t100/1:*")
    assert former
    other = make_service(rows=rows, buckets=TimeBuckets(1000, 2))
    assert other.get_many([post_id(50)])[post_id(50)] == (
        1,
        0,
        2,
    )  # from the rows: 1 read is not written yet
    assert maintenance.maintain(other, seconds=9)
    assert counters().keys("c{test}:t100/1:*") == []
    assert other.get_many([post_id(50)])[post_id(50)] == (1, 0, 3)


def test_starting_over_drops_wrong_records_and_no_reads(rows):
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    service.count("reads", {post_id(50): 5})
    garbage = Row(post_id(50), (999, 999, 0), 30_000)
    service.put_many([garbage, Row(post_id(7), (5, 5, 0), 1)])
    maintenance.start_over(service)
    assert service.get_many([post_id(50)])[post_id(50)] == (1, 0, 7)
    assert maintenance.rebuild(service)
    assert service.get_many([post_id(50), post_id(7)]) == {post_id(50): (1, 0, 7), post_id(7): (0, 0, 0)}  # fmt: skip


def test_a_builder_whose_work_was_dropped_does_not_finish(rows, monkeypatch):
    monkeypatch.setattr(maintenance, "ROWS", 7)
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    assert not maintenance.rebuild(service, advance=lambda _id: invalidate(service.store))
    assert not maintenance.state(service.store).is_complete


# --- writing back -----------------------------------------------------------------------------------


def test_what_was_counted_is_written_once(service):
    ids = [post_id(second * 90) for second in range(60)]
    service.count("reads", dict.fromkeys(ids, 3))
    assert maintenance.waiting(service) > 20
    maintenance.write_back(service)
    assert maintenance.waiting(service) == 0
    assert {service.source.value(id_, "reads") for id_ in ids} == {3}
    number = asked(service, "raise_to")
    assert maintenance.write_back(service) == 0
    assert asked(service, "raise_to") == number


@pytest.mark.parametrize("step", ["before the rows are written", "before that is noted"])
def test_a_crash_between_the_steps_neither_loses_nor_doubles(service, monkeypatch, step):
    service.count("reads", {post_id(): 3})
    with monkeypatch.context() as crash:
        if step == "before the rows are written":
            crash.setattr(service.source, "raise_to", crashed)
        else:
            crash.setattr(maintenance, "clean", crashed)
        with pytest.raises(RuntimeError, match="killed"):
            maintenance.write_back(service)
    service.count("reads", {post_id(): 1})
    maintenance.write_back(service)
    assert service.source.value(post_id(), "reads") == 4


def crashed(*_args, **_options):
    raise RuntimeError("killed")


def test_counting_while_it_is_written_back_is_written_next_time(service, monkeypatch):
    service.count("reads", {post_id(): 3})
    write = service.source.raise_to

    def counted_on(name, values):
        service.count("reads", {post_id(): 1})
        return write(name, values)

    monkeypatch.setattr(service.source, "raise_to", counted_on)
    maintenance.write_back(service)
    assert service.source.value(post_id(), "reads") == 3
    assert maintenance.waiting(service) == 1
    monkeypatch.undo()
    maintenance.write_back(service)
    assert service.source.value(post_id(), "reads") == 4


def test_counts_beyond_their_width_are_written_back(service):
    service.count("reads", {post_id(): 2**40, post_id(1): 1})
    maintenance.write_back(service)
    assert service.source.value(post_id(), "reads") == 2**40


# --- cooling ----------------------------------------------------------------------------------------


def later(monkeypatch, days):
    monkeypatch.setattr("feedcache.structures.counters.service.time", lambda: NOW + days * DAY)


def exists(service, id_):
    return bool(counters().exists(service.store.key(service.store.bucket_of(id_))))


def test_old_buckets_are_dropped_after_their_reads_are_written(rows, monkeypatch):
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    service.count("reads", {post_id(50): 5})
    assert maintenance.evict(service) == 0
    later(monkeypatch, 8)
    assert maintenance.evict(service) > 0
    assert not exists(service, post_id(50))
    assert rows.value(post_id(50), "reads") == 7
    rows.asked.clear()
    assert service.get_many([post_id(50), post_id(51)]) == {post_id(50): (1, 0, 7), post_id(51): (0, 0, 0)}  # fmt: skip
    assert rows.asked == ["rows_in"]
    assert maintenance.evict(service) == 0


def test_counts_beyond_their_width_outlive_eviction_and_a_lost_store(rows, monkeypatch):
    service, post = make_service(rows=rows), post_id(50)
    maintenance.rebuild(service)
    service.put_many([rows.put(post, 1, 70_000, 2, revision=60)])  # of two bytes
    service.count("reads", {post: 2**33})
    later(monkeypatch, 8)
    assert maintenance.evict(service) > 0
    assert not exists(service, post)
    assert rows.kept[post].values == (1, 70_000, 2**33 + 2)
    assert service.get_many([post]) == {post: (1, 70_000, 2**33 + 2)}
    assert exists(service, post)
    rows.asked.clear()
    service.count("reads", {post: 1})
    assert service.get_many([post]) == {post: (1, 70_000, 2**33 + 3)}
    service.put_many([rows.put(post, 1, 65_535, 2**33 + 3, revision=61)])
    assert service.get_many([post]) == {post: (1, 65_535, 2**33 + 3)}
    assert rows.asked == []
    counters().flushdb()
    maintenance.rebuild(service)
    assert service.get_many([post]) == {post: (1, 65_535, 2**33 + 3)}


def test_what_is_dropped_halfway_is_dropped_by_the_next_run(rows, monkeypatch):
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    later(monkeypatch, 8)
    with monkeypatch.context() as crash:
        crash.setattr(maintenance, "_drop_buckets", crashed)
        with pytest.raises(RuntimeError, match="killed"):
            maintenance.evict(service)
    assert exists(service, post_id(50))
    assert service.get_many([post_id(50)])[post_id(50)] == (1, 0, 2)
    maintenance.evict(service)
    assert not exists(service, post_id(39 * 50))


def test_a_bucket_that_is_counted_on_stays_until_that_is_written(rows, monkeypatch):
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    later(monkeypatch, 8)
    write = maintenance.write_back
    monkeypatch.setattr(
        maintenance, "write_back", lambda _service: service.count("reads", {post_id(39 * 50): 1})
    )
    maintenance.evict(service)
    assert exists(service, post_id(39 * 50))
    monkeypatch.setattr(maintenance, "write_back", write)
    maintenance.evict(service)
    assert service.get_many([post_id(39 * 50)])[post_id(39 * 50)][2] > 78


def test_beyond_a_limit_of_memory_the_oldest_go(rows):
    service = make_service(rows=rows, hot_days=1)
    maintenance.rebuild(service)
    whole = maintenance.sample(service, post_id()).size
    maintenance.evict(service, max_bytes=whole // 2)
    assert not exists(service, post_id(39 * 50))
    assert exists(service, post_id())
    assert 0 < maintenance.sample(service, post_id()).size <= whole // 2
    ids = [post_id(second * 50) for second in range(40)]
    assert [value[0] for value in service.get_many(ids).values()] == list(range(40))
    maintenance.evict(service, max_bytes=whole)
    assert exists(service, post_id())


def test_a_store_that_is_lost_or_has_no_horizon_is_not_cooled(lost):
    assert maintenance.evict(lost) == 0
    accounts = make_whole(make_service(hot_days=1))
    object.__setattr__(accounts, "hot_seconds", None)
    assert maintenance.evict(accounts) == 0


def test_a_sample_says_what_the_store_holds(rows):
    service = make_service(rows=rows, hot_days=1)
    assert maintenance.sample(service, post_id()) == (0, 0, 0, 0)
    maintenance.rebuild(service)
    found = maintenance.sample(service, post_id())
    assert (found.records, found.most_records) == (40, 2)
    assert 20 <= found.buckets <= 21
    assert found.size > 40 * 10


# --- comparing --------------------------------------------------------------------------------------


def test_what_redis_has_otherwise_is_found(rows, monkeypatch):
    monkeypatch.setattr(maintenance, "GRACE_SECONDS", 0.01)
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    every = list(rows.kept.values())
    assert maintenance.wrong(service, every) == []
    bucket, name = service.store.buckets.place(post_id(500))
    counters().hdel(service.store.key(bucket), name)
    service.put_many([Row(post_id(100), (99, 0, 0), 40_000 % 65536)])
    missed = rows.put(post_id(200), 70, 0, 0, revision=60)
    found = {row.id for row, _record in maintenance.wrong(service, [*rows.kept.values()])}
    assert post_id(500) in found
    assert missed.id in found
    assert post_id(COLD) not in found


def test_reads_that_are_not_written_yet_and_newer_records_are_no_drift(rows, monkeypatch):
    monkeypatch.setattr(maintenance, "GRACE_SECONDS", 0.01)
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    row = rows.kept[post_id(50)]
    service.count("reads", {row.id: 5})
    assert maintenance.wrong(service, [row]) == []
    service.put_many([rows.put(row.id, 50, 0, 0, revision=row.revision + 1)])
    assert maintenance.wrong(service, [row]) == []


def test_a_record_that_is_ahead_of_what_was_ever_committed_is_wrong(rows, monkeypatch):
    monkeypatch.setattr(maintenance, "GRACE_SECONDS", 0.01)
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    row = rows.kept[post_id(50)]
    service.put_many([row._replace(revision=row.revision + 1)])
    assert [one for one, _record in maintenance.wrong(service, [row])] == [row]


def test_a_put_that_is_under_way_is_no_drift(rows, monkeypatch):
    service = make_service(rows=rows)
    maintenance.rebuild(service)
    row = rows.put(post_id(50), 70, 0, 0, revision=60)
    monkeypatch.setattr("time.sleep", lambda _seconds: service.put_many([row]))
    assert maintenance.wrong(service, [row]) == []
