"""A filter never says "no" to what was marked, keeps its promised rate, and knows when it was lost."""

import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache import connections
from feedcache.connections import RedisError, existence
from feedcache.ids import compose, first_id_at
from feedcache.structures import bloom
from feedcache.structures.bloom import (
    CHUNK_BYTES,
    DAY,
    POSITIONS,
    Marks,
    Sizing,
    _states,
    check_many,
    delete_chunks,
    fills,
    mark_many,
    positions_of,
    record_of,
    records_in,
)
from runner.services.redis import PERSISTENCE, Redis
from runner.services.service import restart
from tests.support.faults import dead_redis
from tests.support.services import running
from tests.support.threads import together

SIZING = Sizing(segment_records=50_000)
ROWS = Marks("rows", 90, has_rows=True, sizing=SIZING)
LOSSY = Marks("lossy", 30, has_rows=False, sizing=SIZING)
FIXED = 1_790_000_000  # for what is measured: the same pairs in every run
CENTURY = 36_500
NOW = int(time.time())  # one moment: the same post has the same id in the whole run
MODES = [(1.2, 0, 7, 0.011), (1.8, 0, 10, 0.0012), (1.2, 3, 3, 0.0205)]


@pytest.fixture(autouse=True)
def _nothing_known():
    _states.clear()


def post(number, *, age=0, author=5):
    """A post's id, `age` seconds old."""
    return compose(NOW - age, author, 0) + (number << 4)


def live(marks=ROWS) -> bloom.Generation:
    """The filter that is believed."""
    found = bloom.read_state(marks.name).live
    assert found is not None
    return found


def builder_of(marks=ROWS) -> str:
    """The name of the only builder."""
    builder = bloom.acquire_rebuild(marks.name)
    assert builder is not None
    return builder


def is_fresh(marks=ROWS):
    """A kind whose filter is whole, as after a rebuild of empty tables."""
    bloom.start_filter(marks.name)
    return marks


def ask(marks, user_id, post_ids):
    return check_many(user_id, {marks: post_ids})[marks]


def chunk_keys():
    return [
        key for key in existence().scan_iter("phantom:1:*") if existence().type(key) == b"string"
    ]


def commands_of(work):
    """How many commands from clients, and how many reads from the socket, a piece of work costs."""
    before = existence().info("stats")["total_reads_processed"]
    work()
    return existence().info("stats")["total_reads_processed"] - before - 1  # INFO itself


# --- what a filter says ---------------------------------------------------------------------------


def test_what_was_marked_is_found_and_what_was_not_is_certainly_not_there():
    marks = is_fresh()
    assert mark_many(marks, [(1, post(1)), (1, post(2))]) == {(1, post(1)), (1, post(2))}
    found = ask(marks, 1, [post(1), post(2), post(3)])
    assert (found.perhaps, found.unknown) == ({post(1), post(2)}, set())
    assert ask(marks, 2, [post(1)]).perhaps == set()


def test_only_what_is_new_is_said_to_be_new():
    marks = is_fresh(LOSSY)
    assert mark_many(marks, [(1, post(1))]) == {(1, post(1))}
    assert mark_many(marks, [(1, post(1)), (1, post(2))]) == {(1, post(2))}


def test_sixteen_equal_marks_at_once_are_new_once():
    post_id = post(1)
    new = together(16, lambda _index: mark_many(LOSSY, [(1, post_id)]))
    assert sum(map(len, new)) == 1


def test_kinds_do_not_mix():
    other = Marks("other", 30, has_rows=False, sizing=SIZING)
    mark_many(LOSSY, [(1, post(1))])
    found = check_many(1, {LOSSY: [post(1)], other: [post(1)]})
    assert (found[LOSSY].perhaps, found[other].perhaps) == ({post(1)}, set())


@given(
    pairs=st.lists(
        st.tuples(st.integers(1, 50), st.integers(0, 40 * DAY), st.integers(0, 2**20)), max_size=60
    ),
    cuts=st.lists(st.integers(0, 60), max_size=4),
)
def test_nothing_that_was_marked_is_ever_denied(pairs, cuts):
    marks = is_fresh()
    wanted = [(user, post(number, age=age)) for user, age, number in pairs]
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(wanted)], strict=True):
        mark_many(marks, wanted[start:end])
        _states.clear()  # as another process
        for user, post_id in wanted[:end]:
            found = ask(marks, user, [post_id])
            assert post_id in found.perhaps | found.unknown
            assert not found.unknown


@pytest.mark.long
def test_no_false_negative_while_a_segment_grows_through_its_layers():
    """A tiny segment: it is marked by many threads far beyond its capacity."""
    marks = is_fresh(Marks("rows", CENTURY, has_rows=True, sizing=Sizing(1.2, segment_records=1)))
    second = FIXED

    def pairs_of(index):
        return [(index + 1, compose(second, 7, 0) + (number << 4)) for number in range(12_000)]

    def write(index):
        pairs = pairs_of(index)
        for at in range(0, len(pairs), 500):
            mark_many(marks, pairs[at : at + 500])

    together(6, write)
    layers = live(marks).layers
    assert list(layers.values()) == [2]
    for index in range(6):
        pairs = pairs_of(index)
        found = ask(marks, index + 1, [post_id for _user, post_id in pairs])
        assert found.perhaps == {post_id for _user, post_id in pairs}
    absent = range(10**6, 10**6 + 60_000)
    wrong = ask(marks, 99, [compose(second, 7, 0) + (number << 4) for number in absent]).perhaps
    assert len(wrong) / len(absent) <= 0.011


@pytest.mark.long
@pytest.mark.parametrize(("size", "hashes", "k", "maximum"), MODES)
def test_the_promised_rate_holds_at_the_design_load(size, hashes, k, maximum):
    """Fixed pairs: the measured rates are the same in every run."""
    sizing = Sizing(size, hashes, segment_records=100_000)
    assert sizing.first_hashes == k
    marks = is_fresh(Marks("rate", CENTURY, has_rows=True, sizing=sizing))
    first = compose(FIXED, 1, 0)
    ids = [first + (number << 4) for number in range(sizing.capacity)]
    for at in range(0, len(ids), 500):
        mark_many(marks, [(3, one) for one in ids[at : at + 500]])
    probes = [first + (number << 4) for number in range(10**6, 10**6 + 150_000)]
    wrong = sum(
        len(ask(marks, 3, probes[at : at + 5000]).perhaps) for at in range(0, 150_000, 5000)
    )
    assert wrong / len(probes) <= maximum
    assert wrong / len(probes) >= sizing.rate * 0.85  # and is not better than arithmetic allows
    (segment,) = fills(marks, live(marks))
    assert segment.records == pytest.approx(len(ids), rel=0.02)
    assert segment.rate == pytest.approx(wrong / len(probes), rel=0.25)


def test_rates_are_those_of_the_articles():
    assert Sizing(1.2).rate == pytest.approx(0.01, rel=0.01)
    assert Sizing(1.8).rate == pytest.approx(0.001, rel=0.02)
    assert Sizing(1.2, hashes=3).rate == pytest.approx(0.0193, rel=0.01)


@pytest.mark.parametrize("size", [1.2, 1.8])
def test_a_record_costs_the_bytes_it_was_given(size):
    sizing = Sizing(size, segment_records=100_000)
    is_fresh(marks := Marks("bytes", 90, has_rows=True, sizing=sizing))
    mark_many(marks, [(1, post(1))])
    used = sum(existence().memory_usage(key) or 0 for key in chunk_keys())
    assert len(chunk_keys()) == sizing.chunks
    assert used / sizing.capacity <= size * 1.01  # a key of 65, a packed counter of 9


def test_the_hash_is_the_same_for_ever():
    """A change of these numbers needs a new name for the filters."""
    record = record_of("like", 7, 5_000_000_000_000_000_001)
    assert (record.start, record.stride) == (record.start % POSITIONS, record.stride % POSITIONS)
    assert positions_of([record], 3) == HASHED


HASHED = [239164, 235677, 232190]


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.integers(1, 32))
def test_a_record_has_as_many_different_bits_as_hashes(user, post_id, hashes):
    bits = positions_of([record_of("like", user, post_id)], hashes)
    assert len(set(bits)) == hashes
    assert 0 <= min(bits) <= max(bits) < POSITIONS < CHUNK_BYTES * 8


# --- segments -------------------------------------------------------------------------------------


def test_a_page_is_one_round_trip_whatever_its_size():
    marks, other = is_fresh(), is_fresh(Marks("other", 90, has_rows=True, sizing=SIZING))
    ids = [post(n, age=n * DAY) for n in range(20)]
    mark_many(marks, [(1, one) for one in ids])
    mark_many(LOSSY, [(1, one) for one in ids])
    kinds = dict.fromkeys((marks, other, LOSSY), ids)
    check_many(1, kinds)
    trips = commands_of(lambda: check_many(1, kinds))
    assert trips == commands_of(lambda: check_many(1, {marks: ids[:1]})) == 1
    assert commands_of(lambda: mark_many(LOSSY, [(1, ids[0])])) == 1


def test_what_was_never_marked_costs_no_bytes():
    is_fresh()
    for number in range(10):
        found = ask(ROWS, number + 1, [post(n, age=n % 80 * DAY) for n in range(1000)])
        assert (found.perhaps, found.unknown) == (set(), set())
    assert list(existence().scan_iter("*phantom*")) == [bloom.META.encode()]


def test_a_segment_goes_whole():
    is_fresh()
    mark_many(ROWS, [(1, post(1)), (1, post(2, age=40 * DAY))])
    ends = {existence().expiretime(key) for key in chunk_keys()}
    assert len(ends) == 2
    week, now_ = SIZING.segment_seconds, NOW
    assert all(now_ + 50 * DAY < end <= now_ + 91 * DAY + week for end in ends)
    assert -1 not in ends


def test_posts_beyond_the_horizon_are_left_to_the_rows():
    is_fresh()
    old, lossy_old = post(1, age=91 * DAY), post(1, age=31 * DAY)
    assert mark_many(ROWS, [(1, old)]) == set()
    assert mark_many(LOSSY, [(1, lossy_old)]) == set()
    assert chunk_keys() == []
    assert ask(ROWS, 1, [old, 5, first_id_at(2**31)]).unknown >= {old, 5}
    assert ask(LOSSY, 1, [lossy_old]) == ask(LOSSY, 1, [5])


def test_clocks_that_differ_do_not_hide_a_mark_at_the_horizon(monkeypatch):
    """Whoever marks is ahead, and takes the post for one that is never asked for; whoever asks is behind."""
    is_fresh()
    edge = post(1, age=90 * DAY - 60)
    monkeypatch.setattr("feedcache.structures.bloom.time.time", lambda: NOW + 300)
    mark_many(ROWS, [(1, edge)])
    monkeypatch.setattr("feedcache.structures.bloom.time.time", lambda: NOW - 300)
    found = ask(ROWS, 1, [edge])
    assert edge in found.perhaps | found.unknown


def test_redis_cli_reads_a_filter_with_plain_commands():
    marks = is_fresh()
    pair = (1, post(1))
    mark_many(marks, [pair])
    (key,) = chunk_keys()
    server = running().redis
    assert server is not None
    socket, program = server.socket, server.program
    program = program.with_name(program.name.replace("server", "cli"))
    if not program.exists():
        pytest.skip("no redis-cli beside the server")

    def cli(*words):
        command = [str(program), "-s", str(socket), *map(str, words)]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode().strip()

    for position in positions_of([record_of("rows", *pair)], 7):
        assert cli("GETBIT", key.decode(), position) == "1"
    assert cli("BITCOUNT", key.decode()) == "8"
    assert cli("STRLEN", key.decode()) == str(CHUNK_BYTES)
    assert "token" in cli("HGET", bloom.META, f"{marks.name}:live")


# --- loss -----------------------------------------------------------------------------------------


def test_before_a_filter_is_whole_nothing_is_certain():
    assert ask(ROWS, 1, [post(1)]).unknown == {post(1)}
    assert mark_many(ROWS, [(1, post(1))]) == set()
    assert list(existence().scan_iter("*phantom*")) == []  # the rebuild will find the row


def test_a_flush_makes_everything_unknown_at_once():
    is_fresh()
    mark_many(ROWS, [(1, post(1))])
    assert ask(ROWS, 1, [post(1)]).perhaps
    existence().flushdb()
    found = ask(ROWS, 1, [post(1), post(2)])
    assert (found.perhaps, found.unknown) == (set(), {post(1), post(2)})
    assert not ask(LOSSY, 1, [post(1)]).unknown  # there is nobody to ask


def test_marks_after_a_flush_do_not_make_a_lost_filter_believable():
    is_fresh()
    mark_many(ROWS, [(1, post(1))])
    existence().flushdb()
    mark_many(ROWS, [(1, post(2))])
    assert ask(ROWS, 1, [post(1), post(2), post(3)]).unknown == {post(1), post(2), post(3)}


@pytest.mark.parametrize("then", ["read", "mark"])
def test_a_chunk_that_was_evicted_is_noticed(then):
    """Also when something marks the same chunk before anybody looks."""
    is_fresh()
    mark_many(ROWS, [(1, post(1))])
    existence().delete(*chunk_keys())
    if then == "mark":
        mark_many(ROWS, [(1, post(2))])
    assert ask(ROWS, 1, [post(1)]).unknown == {post(1)}
    assert bloom.read_state(ROWS.name).live is None
    assert chunk_keys() == []


def test_a_lost_chunk_of_marks_without_rows_begins_anew():
    mark_many(LOSSY, [(1, post(1))])
    existence().delete(*chunk_keys())
    assert ask(LOSSY, 1, [post(1)]).perhaps == set()
    assert mark_many(LOSSY, [(1, post(1))]) == {(1, post(1))}
    assert ask(LOSSY, 1, [post(1)]).perhaps == {post(1)}


@pytest.mark.parametrize("change", [{"horizon_days": 91}, {"sizing": Sizing(1.8)}])
def test_a_filter_of_other_settings_is_not_believed(change):
    is_fresh()
    mark_many(ROWS, [(1, post(1))])
    fields = {"kind": "rows", "horizon_days": 90, "has_rows": True, "sizing": SIZING, **change}
    assert ask(Marks(**fields), 1, [post(1)]).unknown == {post(1)}


def test_a_dead_redis_is_unknown_and_a_mark_says_that_it_failed():
    is_fresh()
    mark_many(ROWS, [(1, post(1))])
    with dead_redis():
        assert ask(ROWS, 1, [post(1)]).unknown == {post(1)}
        assert ask(LOSSY, 1, [post(1)]).unknown == set()
        with pytest.raises(RedisError):
            mark_many(ROWS, [(1, post(2))])


def test_garbage_about_filters_is_nothing():
    for garbage in ("", "{", "[]", '{"token": 1}', '{"token": "x", "layers": {"a": "b"}}'):
        existence().hset(bloom.META, f"{ROWS.name}:live", garbage)
        assert ask(ROWS, 1, [post(1)]).unknown == {post(1)}


def test_a_forgotten_script_is_sent_again():
    is_fresh()
    mark_many(ROWS, [(1, post(1))])
    existence().script_flush()
    assert ask(ROWS, 1, [post(1)]).perhaps == {post(1)}
    existence().script_flush()
    assert mark_many(ROWS, [(1, post(2))]) == {(1, post(2))}


def test_a_restart_keeps_the_answers(tmp_path, monkeypatch, cache_settings):
    """With an append-only file, also after a kill: every answered write was handed to the system."""
    sockets, log = tmp_path / "s", tmp_path / "l"
    sockets.mkdir()
    log.mkdir()
    server = Redis(tmp_path / "d", sockets, log, persistence=PERSISTENCE)
    server.start()
    try:
        cache_settings.existence_url = f"unix://{server.socket}?db=0"
        connections.forget_clients()
        is_fresh()
        mark_many(ROWS, [(1, post(1))])
        restart(server)
        assert ask(ROWS, 1, [post(1), post(2)]).perhaps == {post(1)}
        assert not ask(ROWS, 1, [post(2)]).unknown
        mark_many(ROWS, [(1, post(2))])
        assert server.child is not None
        server.child.kill()
        restart(server)
        assert ask(ROWS, 1, [post(1), post(2)]).perhaps == {post(1), post(2)}
    finally:
        server.stop()
        connections.forget_clients()


# --- building -------------------------------------------------------------------------------------


def test_marks_go_to_the_filter_that_is_being_built_too():
    is_fresh()
    mark_many(ROWS, [(1, post(1))])
    builder = builder_of()
    fresh, abandoned = bloom.begin_rebuild(ROWS.name)
    assert abandoned == []
    mark_many(ROWS, [(1, post(2))])
    assert ask(ROWS, 1, [post(1), post(2)]).perhaps == {post(1), post(2)}
    done, old = bloom.finish_rebuild(ROWS.name, fresh, builder)
    assert done
    assert old is not None
    delete_chunks(ROWS, [old])
    assert ask(ROWS, 1, [post(1), post(2)]).perhaps == {post(2)}  # the builder had not read post 1
    assert len(chunk_keys()) == 1


def test_a_flush_during_a_rebuild_is_noticed():
    builder = builder_of()
    fresh, _ = bloom.begin_rebuild(ROWS.name)
    assert bloom.save_progress(ROWS.name, fresh, builder, "rows 5")
    existence().flushdb()
    assert not bloom.save_progress(ROWS.name, fresh, builder, "rows 6")
    assert bloom.finish_rebuild(ROWS.name, fresh, builder) == (False, None)
    assert bloom.read_state(ROWS.name).live is None


def test_a_chunk_lost_during_a_rebuild_is_noticed():
    builder = builder_of()
    fresh, _ = bloom.begin_rebuild(ROWS.name)
    mark_many(ROWS, [(1, post(1))])
    existence().delete(*chunk_keys())
    mark_many(ROWS, [(1, post(2))])
    assert bloom.finish_rebuild(ROWS.name, fresh, builder) == (False, None)


def test_there_is_one_builder_and_a_dead_one_is_replaced():
    first = builder_of()
    assert bloom.acquire_rebuild(ROWS.name) is None
    fresh, _ = bloom.begin_rebuild(ROWS.name)
    existence().delete(f"{bloom.META}:lock:{ROWS.name}")  # as time would
    second = builder_of()
    assert not bloom.save_progress(ROWS.name, fresh, first, "rows 1")
    assert bloom.finish_rebuild(ROWS.name, fresh, first) == (False, None)
    bloom.release_rebuild(ROWS.name, first)
    assert bloom.acquire_rebuild(ROWS.name) is None
    assert bloom.finish_rebuild(ROWS.name, fresh, second)[0]


def test_what_is_dropped_by_token_is_only_that_filter():
    is_fresh()
    assert bloom.drop_filters(ROWS.name, token="another") == []
    assert bloom.read_state(ROWS.name).live is not None
    mark_many(ROWS, [(1, post(1))])
    delete_chunks(ROWS, bloom.drop_filters(ROWS.name))
    assert (chunk_keys(), ask(ROWS, 1, [post(1)]).unknown) == ([], {post(1)})


def test_segments_that_are_gone_are_forgotten(monkeypatch):
    is_fresh()
    mark_many(ROWS, [(1, post(1, age=80 * DAY))])
    assert len(live().layers) == 1
    later = time.time() + 60 * DAY
    monkeypatch.setattr("feedcache.structures.bloom.time.time", lambda: later)
    mark_many(ROWS, [(1, compose(int(later), 5, 0))])
    assert len(live().layers) == 1


def test_the_estimate_of_records_is_the_inverse_of_filling():
    bits = round(POSITIONS * (1 - (1 - 1 / POSITIONS) ** (7 * 30_000)))
    assert records_in(bits, 7) == pytest.approx(30_000, rel=0.001)


@pytest.mark.parametrize("wrong", [(0.1, 0), (9, 0), (1.2, 33), (1.2, -1)])
def test_a_sizing_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match="bytes a record"):
        Sizing(*wrong)
    with pytest.raises(ValueError, match="at least one"):
        Sizing(segment_records=0)
