"""Records in Redis: puts in any order, counting, overflow, one round trip."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.crc import key_slot

from feedcache.connections import counters
from feedcache.structures.counters.buckets import IdBuckets
from feedcache.structures.counters.records import REVISIONS, Field, Row, Schema
from feedcache.structures.counters.store import MAX_IDS, CounterStore, read_stores
from tests.feedcache.structures.counters.rows import make_service, make_whole, post_id
from tests.support.threads import together

same_redis = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)


def read(service, *ids):
    (found,) = read_stores({service.store: ids})
    return found


def row(id_, likes=0, replies=0, reads=0, *, revision=1):
    return Row(id_, (likes, replies, reads), revision)


def commands():
    return {name: at["calls"] for name, at in counters().info("commandstats").items()}


def test_what_was_put_is_read_and_what_was_not_is_zero(service):
    one, other, never = post_id(), post_id(50), post_id(5_000)
    service.store.put([row(one, 5, 6), row(other, 7)])
    assert read(service, one, other, never) == {one: (5, 6, 0), other: (7, 0, 0), never: (0, 0, 0)}


def test_a_store_that_is_not_whole_says_nothing(lost):
    lost.store.put([row(post_id(), 5)])
    assert read(lost, post_id()) is None
    assert keys() == []  # and nobody keeps what no rebuild expects


@same_redis
@given(order=st.permutations(range(1, 7)), start=st.integers(0, 2 * REVISIONS))
def test_of_puts_in_any_order_the_newest_wins(service, order, start):
    id_ = post_id(author=start + 1)
    for step in order:
        service.store.put([row(id_, 10 + step, step, revision=start + step)])
        service.store.put([row(id_, 10 + order[0], order[0], revision=start + order[0])])
    assert read(service, id_) == {id_: (16, 6, 0)}


def test_a_put_of_the_same_revision_changes_nothing(service):
    service.store.put([row(post_id(), 5, revision=9)])
    service.store.put([row(post_id(), 4, revision=9)])
    assert read(service, post_id())[post_id()] == (5, 0, 0)


def test_a_count_that_went_back_to_zero_stays_ahead_of_older_puts(service):
    service.store.put([row(post_id(), 0, revision=2)])
    service.store.put([row(post_id(), 1, revision=1)])
    assert read(service, post_id())[post_id()] == (0, 0, 0)


def test_puts_leave_what_is_counted_here_alone(service):
    service.store.add(2, {post_id(): 5})
    service.store.put([row(post_id(), 1, 1, 3, revision=1)])
    assert read(service, post_id())[post_id()] == (1, 1, 5)
    service.store.put([row(post_id(), 0, 0, 8, revision=0)])  # old, but it knows of more reads
    assert read(service, post_id())[post_id()] == (1, 1, 8)


@pytest.mark.parametrize("value", [65535, 65536, 2**32, 10**15, 2**53 + 1, 2**63 - 1])
def test_counts_beyond_their_width_go_to_the_aux_dict_and_back(service, value):
    service.store.put([row(post_id(), 4, value, revision=1)])
    assert read(service, post_id())[post_id()] == (4, value, 0)
    service.store.put([row(post_id(), value, 65534, revision=2)])
    assert read(service, post_id())[post_id()] == (value, 65534, 0)
    service.store.put([row(post_id(), 1, 1, revision=3)])
    assert read(service, post_id())[post_id()] == (1, 1, 0)
    (bucket,) = buckets(service)
    assert counters().hlen(bucket) == 2  # the mark and the record; nothing is left in the aux dict


def keys() -> list[bytes]:
    return [key for key in counters().keys("c{test}*") if isinstance(key, bytes)]


def buckets(service):
    others = {service.store.meta_key.encode(), service.store.dirty_key.encode()}
    return [key for key in keys() if key not in others]


def test_counting_crosses_the_width_up_and_down():
    schema = Schema("test", (Field("a", width=2, counted=True), Field("b")))
    service = make_whole(make_service(schema=schema))
    steps = [65_534, 1, 1, 1, -2, -1, -65_000, 2**40, 2**49, -(2**49)]
    total = 0
    for step in steps:
        total += step
        assert service.store.add(0, {post_id(): step}) == {post_id(): total}
        assert read(service, post_id())[post_id()] == (total, 0)


def test_counting_is_exact_up_to_63_bits(service):
    top = 2**63 - 1
    service.store.put([row(post_id(), reads=top - 10)])
    assert service.store.add(2, {post_id(): 9}) == {post_id(): top - 1}
    assert service.store.add(2, {post_id(): 5}) == {post_id(): top}  # and ends there
    assert service.store.add(2, {post_id(): -10}) == {post_id(): top - 10}


@pytest.mark.parametrize("start", [3, 70_000])
def test_a_count_stops_at_zero_and_says_so(start):
    schema = Schema("test", (Field("a", width=2, counted=True),))
    service = make_whole(make_service(schema=schema))
    service.store.add(0, {post_id(): start})
    assert service.store.add(0, {post_id(): -start - 5}) == {post_id(): "clamped"}
    assert read(service, post_id())[post_id()] == (0,)


def test_counting_by_many_at_once_is_exact(service):
    ids = [post_id(author=author) for author in (1, 2, 3)]

    def work(_index):
        for _ in range(25):
            service.store.add(2, dict.fromkeys(ids, 1))

    together(8, work)
    assert set(read(service, *ids).values()) == {(0, 0, 200)}


def test_counting_and_putting_at_once_lose_nothing(service):
    def work(index):
        for step in range(20):
            if index % 2:
                service.store.add(2, {post_id(): 1})
            else:
                service.store.put([row(post_id(), index, step, revision=step + 1)])

    together(6, work)
    likes, replies, reads = read(service, post_id())[post_id()]
    assert (replies, reads) == (19, 60)
    assert likes in {0, 2, 4}


def test_a_page_is_one_round_trip_whatever_it_holds(service):
    users = CounterStore(Schema("people", (Field("followers"),)), IdBuckets())
    ids = [post_id(seconds) for seconds in range(0, 4000, 200)]
    service.store.put([row(id_, 2**40, 3) for id_ in ids])
    read_stores({service.store: ids, users: range(20)})  # the script is known from here on
    counters().config_resetstat()
    posts, _people = read_stores({service.store: ids, users: range(20)})
    assert posts
    assert set(posts.values()) == {(2**40, 3, 0)}
    counted = commands()
    assert counted["cmdstat_evalsha"] == 2  # one pipeline
    assert set(counted) <= {"cmdstat_evalsha", "cmdstat_hmget", "cmdstat_hget", "cmdstat_config|resetstat"}  # fmt: skip
    counters().config_resetstat()
    read(service, *ids)
    assert commands()["cmdstat_evalsha"] == 1


def test_a_redis_that_forgot_the_scripts_is_told_again(service):
    users = CounterStore(Schema("people", (Field("followers"),)), IdBuckets())
    service.store.put([row(post_id(), 5)])
    counters().script_flush()
    posts, people = read_stores({service.store: [post_id()], users: [1]})
    assert (posts, people) == ({post_id(): (5, 0, 0)}, None)


def test_a_call_has_a_cap(service):
    too_many = range(MAX_IDS + 1)
    with pytest.raises(ValueError, match="at most 1000"):
        service.store.request(too_many)
    with pytest.raises(ValueError, match="at most 1000"):
        service.store.add(2, dict.fromkeys(too_many, 1))
    assert len(read(service, *range(MAX_IDS))) == MAX_IDS


def test_a_store_written_before_a_field_was_added_is_read_and_written_on(service):
    service.store.put([row(post_id(), 5, 2**20, 7, revision=3)])
    grown = Schema("test", (*service.store.schema.fields, Field("quotes")))
    later = make_service(schema=grown)
    assert read(later, post_id()) == {post_id(): (5, 2**20, 7, 0)}
    later.store.put([Row(post_id(), (6, 2**20, 0, 9), 4)])
    assert read(later, post_id()) == {post_id(): (6, 2**20, 7, 9)}
    service.store.put([row(post_id(), 8, 1, revision=5)])  # a process that runs the older code
    assert read(later, post_id()) == {post_id(): (8, 1, 7, 9)}
    assert read(service, post_id()) == {post_id(): (8, 1, 7)}


def test_a_store_with_other_fields_is_not_trusted(service):
    other = make_service(schema=Schema("test", (Field("likes"), Field("something"))))
    assert read(other, post_id()) is None


def test_all_keys_of_a_service_share_a_slot(service):
    service.store.put([row(post_id(seconds), 1) for seconds in (0, 500, 9000)])
    service.store.add(2, {post_id(): 1})
    assert len(keys()) >= 5
    assert len({key_slot(key) for key in keys()}) == 1
