import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from feedcache import ids

seconds = st.integers(ids.FIRST_SECOND, ids.LAST_SECOND)
authors = st.integers(1, ids.MAX_AUTHOR_ID)
sequences = st.integers(0, ids.MAX_SEQUENCE)
parts = st.tuples(seconds, authors, sequences)


@given(parts)
def test_parts_are_read_off_the_id(part):
    post_id = ids.compose(*part)
    assert (ids.second_of(post_id), ids.author_of(post_id), ids.sequence_of(post_id)) == part


@example([(ids.FIRST_SECOND, 1, 1), (ids.FIRST_SECOND, 2, 0), (ids.FIRST_SECOND + 1, 1, 0)])
@given(st.lists(parts, min_size=2, max_size=50))
def test_ids_sort_by_time_author_sequence_as_number_and_as_text(many):
    made = [ids.compose(*part) for part in many]
    assert sorted(made) == [ids.compose(*part) for part in sorted(many)]
    assert sorted(map(str, made)) == [str(post_id) for post_id in sorted(made)]
    assert sorted(map(ids.to_base36, made)) == [ids.to_base36(post_id) for post_id in sorted(made)]


@given(parts)
def test_texts_are_read_back(part):
    post_id = ids.compose(*part)
    assert len(str(post_id)) == 19
    assert ids.parse_id(str(post_id)) == post_id
    assert ids.from_base36(ids.to_base36(post_id)) == post_id


@given(
    authors,
    st.lists(seconds.filter(lambda second: second < ids.LAST_SECOND - 60), min_size=1, max_size=60),
)
def test_an_authors_ids_increase_strictly_whatever_the_clock_does(author, clock):
    last = 0
    for now in clock:
        following = ids.next_post_id(author, last_id=last, now=now)
        assert following > last
        assert ids.author_of(following) == author
        last = following


def test_the_clock_going_back_ten_seconds_keeps_the_order():
    now = 1_800_000_000
    first = ids.next_post_id(7, last_id=0, now=now)
    assert ids.next_post_id(7, last_id=first, now=now - 10) == first + 1


def test_the_seventeenth_post_of_a_second_borrows_the_next():
    now, last = 1_800_000_000, 0
    for _ in range(16):
        last = ids.next_post_id(7, last_id=last, now=now)
    assert ids.second_of(last) == now
    borrowed = ids.next_post_id(7, last_id=last, now=now)
    assert (ids.second_of(borrowed), ids.sequence_of(borrowed)) == (now + 1, 0)


@given(seconds.filter(lambda second: second < ids.LAST_SECOND), authors, sequences)
def test_the_ids_of_a_second_lie_between_its_bounds(second, author, sequence):
    assert (
        ids.first_id_at(second)
        <= ids.compose(second, author, sequence)
        < ids.first_id_at(second + 1)
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "+5",
        " 5",
        "5 ",
        "1_000",
        "٣",
        "５",
        "9" * 20,
        "9223372036854775808",
        "1e5",
        "5\n",
        "0x1f",
    ],
)
def test_anything_but_a_canonical_decimal_is_no_id(text):
    with pytest.raises(ValueError, match="not an id"):
        ids.parse_id(text)


@pytest.mark.parametrize(
    "part",
    [(ids.LAST_SECOND + 1, 1, 0), (ids.FIRST_SECOND - 1, 1, 0), (ids.FIRST_SECOND, 0, 0),
     (ids.FIRST_SECOND, ids.MAX_AUTHOR_ID + 1, 0), (ids.FIRST_SECOND, 1, 16), (ids.FIRST_SECOND, 1, -1)],
)  # fmt: skip
def test_parts_out_of_range_are_refused(part):
    with pytest.raises(ValueError, match="outside"):
        ids.compose(*part)


@pytest.mark.parametrize("text", ["", "0" * 13, "a" * 14, "00000000000000 "])
def test_anything_else_is_no_base36_id(text):
    with pytest.raises(ValueError, match=r"base-36|outside"):
        ids.from_base36(text)
