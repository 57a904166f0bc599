from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache.ids import MAX_ID
from feedcache.structures.id_vector import (
    MAX_CHANGES,
    MAX_LENGTH,
    REPLY,
    UNKNOWN,
    IdVector,
    added,
    decode,
    decode_many,
    entry,
    forgotten,
    reached,
    removed,
    unchanged,
)

IDS = st.integers(1, MAX_ID)
ENTRIES = st.dictionaries(IDS, st.booleans(), max_size=40).map(
    lambda kinds: [entry(one, is_reply=kinds[one]) for one in sorted(kinds, reverse=True)]
)
BOUNDS = st.integers(0, MAX_ID)


@st.composite
def histories(draw):
    """All entries of an author, newest first, and bounds, mostly at or beside one of them."""
    entries = draw(ENTRIES)
    near = [one + step for one in bare(entries) for step in (-1, 0, 1) if one + step <= MAX_ID]
    bounds = st.one_of(BOUNDS, st.sampled_from(near)) if near else BOUNDS
    return entries, draw(bounds), draw(st.none() | bounds)


def bare(entries):
    return [one & MAX_ID for one in entries]


def vector(entries, *, revision=7, complete=True):
    return IdVector.of(entries, revision=revision, complete=complete)


def state(one):
    return one.entries.tolist(), one.revision, one.complete


@given(ENTRIES, st.integers(0, 2**32 - 1), st.booleans())
def test_what_is_encoded_is_decoded(entries, revision, complete):
    written = vector(entries, revision=revision, complete=complete).encode()
    assert state(decode(written)) == (entries, revision, complete)
    assert decode(written).encode() == written
    assert decode(written).ids.tolist() == bare(entries)


@pytest.mark.parametrize(("count", "size"), [(0, 8), (200, 1_608), (2_000, 16_008)])
def test_an_id_costs_eight_bytes_and_a_list_eight_more(count, size):
    assert len(vector(range(count, 0, -1)).encode()) == size


@given(st.binary(max_size=100))
def test_garbage_is_refused_or_is_what_encode_writes(data):
    try:
        found = decode(data)
    except ValueError:
        return
    assert found.encode() == data


@given(ENTRIES.filter(lambda entries: len(entries) > 0), st.integers(0, 400), st.integers(1, 255))
def test_a_changed_byte_is_refused_or_is_another_vector(entries, place, change):
    data = bytearray(vector(entries).encode())
    data[place % len(data)] ^= change
    try:
        found = decode(bytes(data))
    except ValueError:
        return
    assert found.encode() == bytes(data)
    assert found.ids.tolist() == sorted(set(found.ids.tolist()), reverse=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:7],
        lambda data: data[:-1],
        lambda data: data[:-8],
        lambda data: data + b"\0",
        lambda data: data + bytes(8),
        lambda data: b"\0" + data[1:],
        lambda data: b"\3" + data[1:],
        lambda data: data[:1] + b"\2" + data[2:],
        lambda data: data[:8] + data[16:] + data[8:16],
        lambda data: data[:8] + data[8:16] * 3,
        lambda data: data[:-8] + bytes(8),
    ],
    ids=["nothing", "half a header", "a byte short", "an id short", "a byte long", "an id long", "format 0", "format 3",
         "flag", "order", "twice", "zero"],
)  # fmt: skip
def test_a_damaged_vector_is_refused(change):
    with pytest.raises(ValueError, match="."):
        decode(change(vector([3, 2 | REPLY, 1]).encode()))


@given(
    st.lists(st.binary(max_size=40) | ENTRIES.map(lambda some: vector(some).encode()), max_size=12)
)
def test_many_are_decoded_as_each_alone(values):
    def alone(data):
        try:
            return state(decode(data))
        except ValueError:
            return None

    found = [None if one is None else state(one) for one in decode_many(values)]
    assert found == list(map(alone, values))


@given(st.lists(ENTRIES, min_size=1, max_size=5), st.integers(0, 400), st.integers(1, 255))
def test_a_changed_byte_among_many_spoils_nothing_else(lists, place, change):
    values = [vector(entries).encode() for entries in lists]
    spoiled = bytearray(values[0])
    spoiled[place % len(spoiled)] ^= change
    found = decode_many([bytes(spoiled), *values[1:]])
    assert [state(one)[0] for one in found[1:]] == lists[1:]
    assert found[0] is None or found[0].encode() == bytes(spoiled)


def test_entries_out_of_order_make_no_vector():
    for entries in ([1, 2], [2, 2], [2, 2 | REPLY], [1 | REPLY, 2], [0]):
        with pytest.raises(ValueError, match="strictly"):
            vector(entries)


def test_a_vector_has_a_longest_length():
    longest = vector(range(MAX_LENGTH, 0, -1))
    assert len(decode(longest.encode())) == MAX_LENGTH
    with pytest.raises(ValueError, match="more than"):
        longest.prepend(MAX_ID, revision=8).encode()


@given(histories(), st.booleans())
def test_a_range_is_what_a_plain_list_gives(history, replies):
    entries, oldest, newest = history
    expected = [
        one & MAX_ID
        for one in entries
        if one & MAX_ID > oldest
        and (newest is None or one & MAX_ID < newest)
        and (replies or one < REPLY)
    ]
    found = vector(entries).between(oldest=oldest, newest=newest, replies=replies)
    assert bare(found.tolist()) == expected


@given(histories(), st.integers(0, 45))
def test_a_head_reaches_what_nothing_is_missing_above(history, length):
    entries, oldest, _newest = history
    head = vector(entries).trim(length)
    assert state(head) == (entries[:length], 7, len(entries) <= length)
    if head.reaches(oldest):
        above = [one for one in bare(entries) if one > oldest]
        assert bare(head.between(oldest=oldest, newest=None).tolist()) == above
    if len(entries) <= length or (length and bare(entries)[length - 1] <= oldest):
        assert head.reaches(oldest)


FATES = ["appended", "appended twice", "late", "lost", "read again"]


@st.composite
def changes(draw, fates):
    """What an author does: publications, edits and deletions of a random post that is there; and what becomes of it."""
    what = st.sampled_from(["publish", "edit", "delete"])
    one = st.tuples(what, st.integers(0, 10**6), st.booleans(), st.sampled_from(fates))
    return draw(st.lists(one, max_size=60))


def histories_of(steps, length):
    """After each step the truth, its revision, and the vector that appending has made."""
    truth: list[int] = []
    value, late = vector([], revision=0).encode(), b""
    for revision, (what, number, is_reply, fate) in enumerate(steps, start=1):
        if what == "publish" or not truth:
            truth.insert(0, entry(revision * 10, is_reply=is_reply))
            change = added(truth[0], revision=revision)
        elif what == "edit":
            change = unchanged(revision=revision)
        else:
            gone = truth.pop(number % len(truth))
            change = removed(gone & MAX_ID, revision=revision)
        value, late = value + late, b""
        if fate == "read again":  # before or after the writer has appended to what was there
            value = vector(truth, revision=revision).trim(length).encode() + change * is_reply
        elif fate == "late":
            late = change
        else:
            value += change * {"lost": 0, "appended": 1, "appended twice": 2}[fate]
        yield truth, revision, decode(value)


@given(changes(["appended", "appended twice", "read again"]), st.integers(1, 12))
def test_a_vector_kept_by_changes_is_a_head_of_the_truth(steps, length):
    for truth, revision, found in histories_of(steps, length):
        assert found.revision == revision
        assert found.entries.tolist() == truth[: len(found)]
        assert not found.complete or len(found) == len(truth)


@given(changes(FATES), st.integers(1, 12))
def test_a_vector_is_never_wrong_at_the_revision_it_says(steps, length):
    for truth, revision, found in histories_of(steps, length):
        assert found.revision <= revision
        if found.revision == revision:
            assert found.entries.tolist() == truth[: len(found)]
            assert not found.complete or len(found) == len(truth)


def test_too_many_changes_are_read_again_from_the_source():
    value = vector([], revision=0).encode()
    value += b"".join(unchanged(revision=number) for number in range(1, MAX_CHANGES + 1))
    assert state(decode(value)) == ([], MAX_CHANGES, True)
    longer = decode(value + unchanged(revision=MAX_CHANGES + 1))
    assert longer.is_unknown
    assert longer.revision == MAX_CHANGES + 1


@given(changes(FATES), st.integers(1, 12))
def test_a_vector_knows_how_far_the_list_is_whatever_it_missed(steps, length):
    said = UNKNOWN
    for _truth, revision, found in histories_of(steps, length):
        told = decode(found.encode() + reached(revision=revision))
        missed = found.is_unknown or found.revision < revision
        assert (told.is_unknown, told.revision) == (missed, revision)
        said += unchanged(revision=revision)
        assert decode(said).is_unknown
        assert decode(said).revision == revision


def test_changes_count_in_the_order_of_their_revisions():
    value = vector([9, 5], revision=1).encode()
    three = [added(12, revision=2), removed(9, revision=3), added(15, revision=4)]
    for order in permutations(three):
        assert state(decode(value + b"".join(order))) == ([15, 12, 5], 4, True)
    assert decode(value + three[1] + three[2]).is_unknown
    assert decode(value + b"".join(three) + forgotten()).is_unknown


def test_a_change_that_nobody_wrote_is_refused():
    value = vector([9, 5], revision=1).encode()
    change = added(12, revision=2)
    for spoiled in (bytes(15), change[:4] + bytes(12), change + bytes(8), change[8:] + change[:8]):
        with pytest.raises(ValueError, match=r"changes|unknown"):
            decode(value + spoiled)


def test_what_is_not_newer_is_not_prepended():
    kept = vector([5 | REPLY, 3])
    for late in (5, 4, 5 | REPLY, 4 | REPLY):
        with pytest.raises(ValueError, match="not newer"):
            kept.prepend(late, revision=8)


def test_what_should_be_there_and_is_not_cannot_be_removed():
    for missing in (9, 4, 1):
        with pytest.raises(ValueError, match="missing"):
            vector([5, 3]).remove(missing, revision=8)
    short = vector([5, 3], complete=False)
    with pytest.raises(ValueError, match="missing"):
        short.remove(4, revision=8)
    assert state(short.remove(2, revision=8)) == ([5, 3], 8, False)
    assert state(vector([], complete=False).remove(2, revision=8)) == ([], 8, False)


def test_a_decoded_vector_cannot_be_written_to():
    read = decode(vector([2, 1]).encode())
    with pytest.raises(ValueError, match="read-only"):
        read.entries[0] = np.uint64(9)
