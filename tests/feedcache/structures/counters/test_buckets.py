import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedcache.ids import EPOCH, LAST_SECOND, MAX_AUTHOR_ID, MAX_ID, first_id_at
from feedcache.structures.counters.buckets import IdBuckets, TimeBuckets, parse_buckets

ids = st.integers(0, MAX_ID) | st.builds(
    lambda second, author, sequence: first_id_at(second) + (author << 4) + sequence,
    st.integers(EPOCH, LAST_SECOND),
    st.integers(1, MAX_AUTHOR_ID) | st.integers(1, 1000),
    st.integers(0, 15),
)
KINDS = [TimeBuckets(1), TimeBuckets(3600), TimeBuckets(97, 8), TimeBuckets(1, 128), TimeBuckets(64, 1 << 16),
          IdBuckets(), IdBuckets(7)]  # fmt: skip
every_kind = pytest.mark.parametrize("buckets", KINDS, ids=lambda one: one.name)


@every_kind
@given(id_=ids)
def test_a_place_leads_back_to_the_id(buckets, id_):
    assert buckets.id_at(buckets.place(id_)) == id_


@every_kind
@given(id_=ids)
def test_a_name_never_begins_with_a_zero_byte(buckets, id_):
    assert buckets.place(id_)[1][:1] != b"\0"


@every_kind
@given(id_=ids, other=ids)
def test_the_span_of_a_bucket_holds_its_ids_and_no_others(buckets, id_, other):
    bucket = buckets.place(id_)[0]
    span = buckets.span(bucket)
    for one in (id_, other):
        inside = span.low <= one <= span.high and one & span.mask == span.value
        assert inside == (buckets.place(one)[0] == bucket)


@given(id_=ids, later=st.integers(0, 10**8))
def test_newer_seconds_are_in_higher_buckets(id_, later):
    buckets = TimeBuckets(100, 4)
    second = (id_ >> 32) + EPOCH
    assert buckets.at(second) <= buckets.place(id_)[0] < buckets.at(second + 100)
    assert buckets.at(second) <= buckets.at(second + later)


def test_a_small_site_has_short_names():
    assert len(TimeBuckets(100).place(first_id_at(1_790_000_000) + (50_000 << 4))[1]) <= 3


@every_kind
def test_buckets_are_found_by_their_name(buckets):
    assert parse_buckets(buckets.name) == buckets


@pytest.mark.parametrize("name", ["", "t5", "x5", "i1/2", "tx/y"])
def test_other_names_are_nobodys(name):
    with pytest.raises(ValueError, match="no buckets|invalid literal"):
        parse_buckets(name)


@pytest.mark.parametrize(("seconds", "split"), [(0, 1), (1, 0), (1, 3), (1, 1 << 17)])
def test_ranges_that_are_none_are_refused(seconds, split):
    with pytest.raises(ValueError, match="bucket"):
        TimeBuckets(seconds, split)


def test_an_account_is_never_cold():
    assert IdBuckets().at(LAST_SECOND) == 0
