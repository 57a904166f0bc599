import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache.structures.counters.records import (
    HEADER,
    IN_AUX,
    MAX_COUNT,
    REVISIONS,
    Field,
    Schema,
    is_newer,
    revision_after,
    revision_of,
)

FOUR = Schema("four", tuple(map(Field, "abcd")))
NARROW = Schema("narrow", (Field("a", width=2), Field("b", width=8), Field("c", width=3)))
counts = (
    st.integers(0, MAX_COUNT)
    | st.integers(0, 300)
    | st.sampled_from([65535, 65536, 2**32 - 1, 2**32, 10**15])
)
revisions = st.integers(0, 2**31 - 1)


@given(values=st.tuples(counts, counts, counts), revision=revisions)
def test_a_record_gives_back_what_went_in(values, revision):
    record, aux = NARROW.pack(values, revision)
    assert NARROW.unpack(record, aux) == values
    assert revision_of(record) == revision % REVISIONS


@given(values=st.tuples(counts, counts, counts), revision=revisions)
def test_only_what_goes_beyond_its_width_is_in_the_aux_dict(values, revision):
    record, aux = NARROW.pack(values, revision)
    limits = (65535, 10**15 - 1, 2**24 - 1)
    assert set(aux) == {i for i in range(3) if values[i] > limits[i]}
    assert bool(record[0] & IN_AUX) == bool(aux)


@given(old=st.tuples(counts, counts, counts), revision=revisions)
def test_a_field_that_was_added_later_reads_zero(old, revision):
    grown = Schema("narrow", (*NARROW.fields, Field("d"), Field("e", width=2)))
    assert grown.unpack(*NARROW.pack(old, revision)) == (*old, 0, 0)


@given(new=st.tuples(counts, counts, counts, counts), revision=revisions)
def test_older_code_reads_the_fields_it_knows(new, revision):
    grown = Schema("narrow", (*NARROW.fields, Field("d")))
    assert NARROW.unpack(*grown.pack(new, revision)) == new[:3]


@given(st.tuples(*[st.integers(0, 255)] * 4))
def test_small_counts_take_a_byte_each_at_most(values):
    assert len(FOUR.pack(values, 7).record) <= HEADER + 4


def test_zeros_take_nothing_but_the_header():
    assert len(FOUR.pack((0, 0, 0, 0), 65535).record) == HEADER
    assert FOUR.pack((0, 0, 0, 0), 0).aux == {}


def test_a_record_is_never_larger_than_its_fields_and_the_header():
    assert len(FOUR.pack((2**32 - 1,) * 4, 1).record) == HEADER + 16


@pytest.mark.parametrize("values", [(1, 2, 3), (1, 2, 3, -1), (1, 2, 3, MAX_COUNT + 1)])
def test_what_does_not_fit_the_schema_is_refused(values):
    with pytest.raises(ValueError, match="values|count"):
        FOUR.pack(values, 0)


@pytest.mark.parametrize(
    "fields",
    [
        (),
        tuple(Field(f"f{n}") for n in range(16)),
        (Field("a"), Field("a")),
        (Field("a", width=1),),
        (Field("a", width=9),),
    ],
)
def test_a_schema_that_records_cannot_hold_is_refused(fields):
    with pytest.raises(ValueError, match="field"):
        Schema("bad", fields)


def test_a_field_that_does_not_exist_has_no_index():
    assert FOUR.index("c") == 2
    with pytest.raises(KeyError):
        FOUR.index("z")


@given(revision=revisions, ahead=st.integers(1, REVISIONS // 2 - 1))
def test_the_nearer_way_round_the_circle_is_forward(revision, ahead):
    assert is_newer(revision + ahead, revision % REVISIONS)
    assert is_newer((revision + ahead) % REVISIONS, revision)
    assert not is_newer(revision, revision + ahead)
    assert not is_newer(revision, revision)


@given(revision=revisions, than=st.integers(0, REVISIONS - 1))
def test_a_repair_wins_against_what_redis_has(revision, than):
    after = revision_after(revision, than=than)
    assert revision < after <= revision + REVISIONS
    assert is_newer(after, than)


def test_a_repair_of_an_older_record_is_the_next_revision():
    assert revision_after(70_000, than=70_000 % REVISIONS) == 70_001
    assert revision_after(70_000, than=4_000) == 70_001
    assert revision_after(70_000, than=5_000) == REVISIONS + 5_001  # Redis is ahead
