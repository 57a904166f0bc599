"""A bucket is a whole week as of its revision, or it is a miss."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from feedcache.connections import RedisError, timelines
from feedcache.ids import compose, first_id_at, second_of
from feedcache.read_through import write_together
from feedcache.structures.week_bucket import (
    LOCK_TTL_SECONDS,
    PAGE_FIELDS,
    TOO_LARGE_TTL_SECONDS,
    WEEK_SECONDS,
    Bucket,
    Change,
    Week,
    WeekBuckets,
)
from tests.support.faults import dead_redis

OWNER = 7
WEEKS = WeekBuckets("test", channel="test-changes")
THIS = Week.of_second(int(datetime(2026, 11, 21, tzinfo=UTC).timestamp()))
LAST, NEXT = THIS.before(), THIS.before(-1)
KEY, LOCK = "test:{7}:2026-W47", "test:{7}:lock"


def id_in(week, number):
    """The id of the owner's post in the `number`-th second of a week."""
    return compose(week.start + number, OWNER, 0)


A, B, C = (id_in(THIS, number) for number in (1, 2, 3))
OLD = id_in(LAST, 1)


def begun():
    """The token of a builder that has begun."""
    token = WEEKS.begin(OWNER)
    assert token is not None
    return token


def build(values, *, revision=1, week=THIS, buckets=WEEKS):
    token = buckets.begin(OWNER)
    assert token is not None
    kept = buckets.store(OWNER, token, week, Bucket(revision, values))
    buckets.end(OWNER, token)
    return kept


def apply(buckets, weeks, change):
    write_together([lambda batch: buckets.queue_change(batch, OWNER, weeks, change).raise_error])


def change(post_id, value=b"", *, old=1, new=None, weeks=(NEXT, THIS, LAST), buckets=WEEKS):
    apply(buckets, weeks, Change(old, old + 1 if new is None else new, post_id, value))


def read(week=THIS, buckets=WEEKS):
    (found,) = buckets.read(OWNER, [week])
    return found


# --- weeks -----------------------------------------------------------------------------------


@given(st.integers(1_660_000_000, 3_000_000_000))
def test_a_week_is_the_iso_week_in_utc(second):
    week = Week.of_second(second)
    moment = datetime.fromtimestamp(second, UTC)
    assert week.name == f"{moment.isocalendar().year}-W{moment.isocalendar().week:02d}"
    assert week.start <= second < week.before(-1).start
    assert datetime.fromtimestamp(week.start, UTC).isoformat()[10:] == "T00:00:00+00:00"
    assert Week.of_second(week.start) == week == Week.of_id(compose(second, OWNER, 15))
    assert week.before().before(-1) == week
    assert second_of(week.first_id) == week.start


@pytest.mark.parametrize(
    ("day", "name"),
    [("2026-11-22", "2026-W47"), ("2026-11-23", "2026-W48"), ("2026-12-31", "2026-W53"), ("2027-01-03", "2026-W53"),
     ("2027-01-04", "2027-W01"), ("2024-12-30", "2025-W01")],
)  # fmt: skip
def test_weeks_are_named_as_the_standard_says(day, name):
    moment = datetime.fromisoformat(f"{day}T12:00:00+00:00")
    assert Week.of_second(int(moment.timestamp())).name == name


# --- what is kept ------------------------------------------------------------------------------


def test_what_was_built_is_read():
    assert read() is None
    assert build({A: b"a", B: b"b"}, revision=5)
    assert read() == Bucket(5, {A: b"a", B: b"b"})
    assert WEEKS.read(OWNER, [THIS, LAST]) == [read(), None]


def test_a_quiet_week_is_remembered():
    assert build({}, revision=0)
    assert read() == Bucket(0, {})


def test_all_keys_of_an_owner_share_a_hash_tag():
    build({A: b"a"})
    build({OLD: b"o"}, week=LAST)
    WEEKS.begin(OWNER)
    names: Any = timelines().keys("*")
    assert len(names) == 3
    assert {tag for name in names for tag in re.findall(rb"\{(\d+)\}", name)} == {b"7"}


def test_a_bucket_lives_for_a_week_after_its_last_write_and_reading_does_not_prolong_it():
    build({A: b"a"})
    assert WEEK_SECONDS - 5 <= timelines().ttl(KEY) <= WEEK_SECONDS
    timelines().expire(KEY, 100)
    read()
    assert timelines().ttl(KEY) <= 100
    change(B, b"b")
    assert timelines().ttl(KEY) > WEEK_SECONDS - 5


# --- changes -------------------------------------------------------------------------------------


def test_a_new_post_an_edit_and_a_deletion_bring_the_bucket_to_the_next_revision():
    build({A: b"a"})
    change(B, b"b", old=1)
    assert read() == Bucket(2, {A: b"a", B: b"b"})
    change(A, b"a, edited", old=2)
    assert read() == Bucket(3, {A: b"a, edited", B: b"b"})
    change(B, old=3)
    assert read() == Bucket(4, {A: b"a, edited"})
    assert timelines().hget(KEY, "#") == str(len(b"a, edited")).encode()


def test_a_change_in_one_week_brings_the_others_along():
    build({A: b"a"})
    build({OLD: b"o"}, week=LAST)
    build({}, week=NEXT)
    change(OLD, b"other")
    buckets = [Bucket(2, {}), Bucket(2, {A: b"a"}), Bucket(2, {OLD: b"other"})]
    assert WEEKS.read(OWNER, [NEXT, THIS, LAST]) == buckets


def test_a_change_of_an_old_post_only_brings_the_revision_along():
    build({A: b"a"})
    change(id_in(THIS.before(9), 5))
    assert read() == Bucket(2, {A: b"a"})


@pytest.mark.parametrize("behind", [0, 1, 2])
def test_a_bucket_that_missed_a_change_is_dropped(behind):
    build({A: b"a"}, revision=behind)
    change(B, b"b", old=3)
    assert read() is None


@pytest.mark.parametrize("ahead", [4, 5, 40])
def test_a_bucket_that_was_made_after_the_change_stays(ahead):
    build({A: b"a", B: b"newer"}, revision=ahead)
    change(B, b"b", old=3)
    assert read() == Bucket(ahead, {A: b"a", B: b"newer"})


def test_revisions_are_numbers_and_no_texts():
    build({A: b"a"}, revision=10)
    change(B, b"b", old=8)
    assert read() == Bucket(10, {A: b"a"})
    change(B, b"b", old=99)
    assert read() is None


def test_a_change_makes_no_bucket():
    change(A, b"a")
    assert timelines().keys("*") == []


def test_a_change_twice_is_a_change_once():
    build({A: b"a"})
    change(B, b"b")
    change(B, b"b")
    assert read() == Bucket(2, {A: b"a", B: b"b"})


def test_a_change_is_announced_whether_or_not_there_is_a_bucket():
    channel = timelines().pubsub(ignore_subscribe_messages=True)
    channel.subscribe("test-changes")
    channel.get_message(timeout=1)
    change(A, b"a")
    message = channel.get_message(timeout=1)
    channel.close()
    assert message["data"] == b"7"


# --- building ------------------------------------------------------------------------------------


def test_only_one_of_two_builders_builds():
    token = begun()
    assert WEEKS.begin(OWNER) is None
    WEEKS.end(OWNER, "another")
    assert WEEKS.begin(OWNER) is None
    WEEKS.end(OWNER, token)
    assert WEEKS.begin(OWNER) is not None
    assert 0 < timelines().ttl(LOCK) <= LOCK_TTL_SECONDS


def test_what_was_read_before_a_change_is_not_stored():
    token = begun()
    change(B, b"b")
    assert not WEEKS.store(OWNER, token, THIS, Bucket(1, {A: b"a"}))
    assert read() is None


def test_dropping_stops_a_builder_too():
    build({A: b"a"})
    token = begun()
    WEEKS.drop(OWNER, [THIS, LAST])
    assert not WEEKS.store(OWNER, token, THIS, Bucket(1, {A: b"a"}))
    assert timelines().keys("*") == []


@pytest.mark.parametrize("plant", ["set", "rpush"])
def test_garbage_in_place_of_the_lock_stops_nobody_for_ever(plant):
    getattr(timelines(), plant)(LOCK, "garbage")
    assert WEEKS.begin(OWNER) is not None


class Histories(RuleBasedStateMachine):
    """Everything that can happen to one owner's weeks, beside the truth. Hooks come late, in any order, or never."""

    IDS = tuple(id_in(week, number) for week in (THIS, LAST) for number in range(3))

    def __init__(self):
        super().__init__()
        timelines().flushdb()
        self.revision, self.truth, self.version = 0, {}, 0
        self.hooks: list[Change] = []
        self.token: str | None = None
        self.label: int | None = None
        self.loaded: dict[int, bytes] | None = None

    @rule(post_id=st.sampled_from(IDS), gone=st.booleans(), lost=st.booleans())
    def commit(self, post_id, gone, lost):
        self.version += 1
        value = b"" if gone else b"v%d" % self.version
        self.truth = {**self.truth, post_id: value} if value else {
            one: kept for one, kept in self.truth.items() if one != post_id
        }  # fmt: skip
        if not lost:
            self.hooks.append(Change(self.revision, self.revision + 1, post_id, value))
        self.revision += 1

    @precondition(lambda self: self.hooks)
    @rule(data=st.data(), in_order=st.booleans())
    def tell(self, data, in_order):
        hook = self.hooks[0] if in_order else data.draw(st.sampled_from(self.hooks))
        self.hooks.remove(hook)
        apply(WEEKS, [NEXT, THIS, LAST], hook)

    @rule()
    def begin(self):
        self.token = WEEKS.begin(OWNER) or self.token
        self.label = self.loaded = None

    @precondition(lambda self: self.token and self.label is None)
    @rule()
    def read_revision(self):
        self.label = self.revision

    @precondition(lambda self: self.label is not None and self.loaded is None)
    @rule()
    def load(self):
        self.loaded = dict(self.truth)

    @precondition(lambda self: self.loaded is not None)
    @rule(weeks=st.sampled_from([(THIS,), (LAST,), (THIS, LAST)]))
    def store(self, weeks):
        token, label = self.token or "", self.label or 0
        for week in weeks:
            WEEKS.store(OWNER, token, week, Bucket(label, self.of(week, self.loaded)))
        WEEKS.end(OWNER, token)
        self.token = self.label = self.loaded = None

    @rule(week=st.sampled_from([THIS, LAST]))
    def evict(self, week):
        timelines().delete(f"test:{{7}}:{week.name}")

    def of(self, week, values):
        return {one: value for one, value in values.items() if Week.of_id(one) == week}

    @invariant()
    def who_knows_the_revision_reads_the_truth_or_nothing(self):
        for week in (THIS, LAST):
            (bucket,) = WEEKS.read(OWNER, [week])
            if bucket is not None and bucket.revision >= self.revision:
                assert bucket == Bucket(self.revision, self.of(week, self.truth))


@pytest.mark.long
def test_whatever_happens_a_bucket_is_the_truth_or_a_miss():
    run_state_machine_as_test(
        Histories, settings=settings(max_examples=150, stateful_step_count=30, deadline=None)
    )


# --- sizes ---------------------------------------------------------------------------------------


def test_a_large_week_is_read_page_by_page():
    values = {id_in(THIS, number): b"x" * 100 for number in range(500)}
    build(values)
    pages, wholes = calls("hscan"), calls("hgetall")
    assert read().values == values
    assert calls("hscan") - pages >= 500 / PAGE_FIELDS - 1
    assert calls("hgetall") == wholes


def calls(command):
    return timelines().info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"]


@pytest.mark.parametrize(
    "values",
    [{id_in(THIS, number): b"x" for number in range(11)}, {A: b"x" * 600, B: b"x" * 401}],
    ids=["values", "bytes"],
)
def test_a_week_that_is_too_large_is_not_kept_when_built(values):
    small = replace(WEEKS, max_values=10, max_bytes=1000)
    assert not build(values, buckets=small)
    assert read(buckets=small) == Bucket(is_cached=False)
    assert 0 < timelines().ttl(KEY) <= TOO_LARGE_TTL_SECONDS
    assert timelines().hlen(KEY) == 1


@pytest.mark.parametrize(
    ("max_values", "max_bytes", "value"), [(1, 1000, b"b"), (9, 10, b"x" * 10)]
)
def test_a_week_that_becomes_too_large_is_dropped(max_values, max_bytes, value):
    small = replace(WEEKS, max_values=max_values, max_bytes=max_bytes)
    assert build({A: b"a"}, buckets=small)
    change(B, value, buckets=small)
    assert read(buckets=small) == Bucket(is_cached=False)
    assert 0 < timelines().ttl(KEY) <= TOO_LARGE_TTL_SECONDS
    change(C, b"c", old=2, buckets=small)
    assert read(buckets=small) == Bucket(is_cached=False)


def test_exactly_the_limit_is_kept():
    small = replace(WEEKS, max_values=2, max_bytes=4)
    build({A: b"aa"}, buckets=small)
    change(B, b"bb", buckets=small)
    assert read(buckets=small) == Bucket(2, {A: b"aa", B: b"bb"})
    change(B, b"b", old=2, buckets=small)
    change(A, b"aaa", old=3, buckets=small)
    assert read(buckets=small) == Bucket(4, {A: b"aaa", B: b"b"})


def test_a_bucket_is_never_read_half_old_and_half_new():
    """While it is read in pages, others change it."""
    ids = [id_in(THIS, number) for number in range(400)]
    build(dict.fromkeys(ids, b"-" * 80), revision=0)
    history = [dict.fromkeys(ids, b"-" * 80)]
    steps = 300
    for step in range(steps):
        history.append({**history[-1], ids[step * 7 % 400]: b"%d" % step * 20})

    def write():
        for step in range(steps):
            one = ids[step * 7 % 400]
            change(one, history[step + 1][one], old=step)

    writer = Thread(target=write)
    writer.start()
    whole = 0
    while writer.is_alive():
        bucket = read()
        if bucket is not None:
            whole += 1
            assert bucket.values == history[bucket.revision]
    writer.join()
    assert read().values == history[-1]


# --- garbage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [{"x": "y"}, {str(A): "a"}, {"~": "", str(A): "a"}, {"~": "x"}, {"~": "-5"}, {"~": "1.5"}],
)
def test_a_hash_that_is_no_bucket_is_a_miss_and_is_written_over(fields):
    timelines().hset(KEY, mapping=fields)
    assert read() is None
    build({A: b"a"})
    assert read() == Bucket(1, {A: b"a"})


def test_other_fields_are_passed_over():
    build({A: b"a"})
    timelines().hset(
        KEY, mapping={"0": "zero", "-5": "minus", "x": "y", "9" * 20: "long", "\xb2": "2"}
    )
    assert read() == Bucket(1, {A: b"a"})


@pytest.mark.parametrize("plant", ["set", "rpush"])
def test_another_type_is_a_miss_and_is_written_over(plant):
    build({OLD: b"o"}, week=LAST)
    getattr(timelines(), plant)(KEY, "garbage")
    assert WEEKS.read(OWNER, [THIS, LAST]) == [None, Bucket(1, {OLD: b"o"})]
    build({A: b"a"})
    assert read() == Bucket(1, {A: b"a"})


def test_a_change_that_meets_garbage_leaves_no_bucket_that_looks_new():
    build({OLD: b"o"}, week=LAST)
    timelines().set(KEY, "garbage")
    with pytest.raises(RedisError):
        change(A, b"a")
    assert read(LAST) == Bucket(1, {OLD: b"o"})


def test_a_garbled_size_leaves_no_bucket_that_looks_new():
    build({A: b"a"})
    timelines().hset(KEY, "#", "garbage")
    with pytest.raises(RedisError):
        change(B, b"b")
    assert read().revision == 1


def test_a_hash_without_end_is_a_miss_and_is_not_read_to_its_end():
    with timelines().pipeline() as pipeline:
        for number in range(20_000):
            pipeline.hset(KEY, str(first_id_at(THIS.start) + number), "x" * 70)
        pipeline.hset(KEY, "~", 1)
        pipeline.execute()
    before = calls("hscan")
    assert read() is None
    assert calls("hscan") - before < 20


def test_without_redis_the_caller_knows():
    with dead_redis(), pytest.raises(RedisError):
        read()
