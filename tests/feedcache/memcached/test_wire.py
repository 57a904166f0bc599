"""The text protocol as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache.memcached_node import (
    Incomplete,
    Item,
    Kind,
    ProtocolError,
    flags_of,
    get_request,
    read_answer,
    store_request,
)

keys = st.binary(min_size=1, max_size=30).map(lambda raw: raw.hex().encode())
items = st.builds(Item, st.binary(max_size=300), st.integers(0, 2**32 - 1), st.integers(1, 2**63))


def answered(lines, values):
    told = b"".join(line + b"\r\n" for line in lines)
    for key, item in values.items():
        told += b"VALUE %s %d %d %d\r\n%s\r\n" % (
            key,
            item.flags,
            len(item.data),
            item.token,
            item.data,
        )
    return told + b"END\r\n"


@given(
    st.lists(st.sampled_from([b"STORED", b"NOT_STORED", b"EXISTS"])),
    st.dictionaries(keys, items, max_size=5),
)
def test_an_answer_is_read_whole_or_not_at_all(lines, values):
    data = answered(lines, values)
    answer, end = read_answer(data, 0, len(lines))
    assert (answer.lines, answer.items, end) == (lines, values, len(data))
    for cut in {0, 1, len(data) // 3, len(data) // 2, len(data) - 1}:
        with pytest.raises((Incomplete, ProtocolError)):
            read_answer(data[:cut], 0, len(lines))


@given(st.dictionaries(keys, items, max_size=3), st.dictionaries(keys, items, max_size=3))
def test_answers_are_read_one_after_another(first, second):
    data = answered([], first) + answered([b"STORED"], second)
    answer, at = read_answer(data, 0, 0)
    assert answer.items == first
    answer, at = read_answer(data, at, 1)
    assert (answer.lines, answer.items, at) == ([b"STORED"], second, len(data))


@given(st.binary(max_size=200))
def test_anything_else_is_an_error_and_never_a_crash(data):
    try:
        answer, _at = read_answer(data, 0, 0)
    except (Incomplete, ProtocolError):
        return
    assert answer.items == {} or b"VALUE" in data


@pytest.mark.parametrize(
    "line",
    [
        b"ERROR",
        b"SERVER_ERROR out of memory",
        b"VALUE a 0 x 1",
        b"VALUE a 0 1 1 1",
        b"HTTP/1.1 400",
    ],
)
def test_errors_of_the_server_are_no_values(line):
    with pytest.raises(ProtocolError):
        read_answer(line + b"\r\nEND\r\n", 0, 0)


def test_requests():
    assert get_request([b"a", b"b"]) == b"gets a b\r\n"
    one = [(b"k", Item(b"v\r\n", 5, 9))]
    assert (
        store_request(b"set", one, ttl_seconds=7, noreply=True)
        == b"set k 5 7 3 noreply\r\nv\r\n\r\n"
    )
    assert store_request(b"cas", one, ttl_seconds=7, noreply=False) == b"cas k 5 7 3 9\r\nv\r\n\r\n"


@given(st.sampled_from(Kind), st.integers(1577836801, 1577836800 + 2**30 - 1))
def test_flags_keep_kind_and_end(kind, ends):
    item = Item(b"", flags_of(kind, ends))
    assert (item.kind, item.ends) == (kind, ends)
    assert 0 <= item.flags < 2**32


def test_flags_of_an_end_before_their_era_say_that_it_is_unknown():
    assert Item(b"", flags_of(Kind.VALUE, 0)).ends == 0
