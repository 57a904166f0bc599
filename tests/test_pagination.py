import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.errors import BadRequest
from apps.pagination import Cursor, Page, link_header, to_page
from feedcache.ids import MAX_ID, first_id_at


def test_an_empty_query_asks_for_the_newest_twenty():
    assert Cursor.from_query({}) == Cursor(limit=20)


@pytest.mark.parametrize(
    ("asked", "given_"), [("1", 1), ("0", 1), ("40", 40), ("41", 40), ("999999999", 40), ("", 20)]
)
def test_the_limit_is_clamped(asked, given_):
    assert Cursor.from_query({"limit": asked}).limit == given_


@pytest.mark.parametrize("name", ["max_id", "since_id", "min_id", "limit"])
@pytest.mark.parametrize("text", ["abc", "-5", "1e9", "9" * 30, "٣", " 7", "1;drop"])
def test_a_bad_cursor_is_refused(name, text):
    with pytest.raises(BadRequest):
        Cursor.from_query({name: text})


def read(ids, cursor):
    """What a store would answer: up to limit + 1 ids in reading order."""
    inside = [one for one in ids if cursor.admits(one)]
    return sorted(inside, reverse=not cursor.ascending)[: cursor.limit + 1]


ids = st.sets(st.integers(1, 500), max_size=80)


@given(ids, st.integers(1, 9))
def test_walking_down_gives_everything_once_newest_first(stored, limit):
    seen, cursor = [], Cursor(limit=limit)
    while True:
        page = to_page(read(stored, cursor), cursor, id_of=int)
        seen += page.items
        if page.older is None:
            break
        cursor = Cursor(max_id=page.older, limit=limit)
    assert seen == sorted(stored, reverse=True)


@given(ids, st.integers(1, 9))
def test_walking_up_from_zero_gives_everything_once(stored, limit):
    seen: list[int] = []
    newest: int | None = 0
    while True:
        cursor = Cursor(min_id=newest, limit=limit)
        page = to_page(read(stored, cursor), cursor, id_of=int)
        if not page.items:
            break
        assert page.items == sorted(page.items, reverse=True)
        seen = page.items + seen
        newest = page.newer
    assert seen == sorted(stored, reverse=True)


@given(ids, ids, st.integers(1, 9))
def test_a_walk_is_undisturbed_by_posts_that_come_and_go(stored, later, limit):
    """What was there before the walk and is there at its end appears exactly once."""
    stored, later = set(stored), {one + 500 for one in later}
    seen, cursor, store = [], Cursor(limit=limit), set(stored)
    while True:
        page = to_page(read(store, cursor), cursor, id_of=int)
        seen += page.items
        if page.older is None:
            break
        cursor = Cursor(max_id=page.older, limit=limit)
        store |= {later.pop()} if later else set()
        store -= {page.items[-1]}  # the cursor's own post is deleted
    assert seen == sorted(stored, reverse=True)


def test_the_link_header_names_next_first_and_keeps_other_parameters():
    page = Page([9, 5], older=5, newer=9)
    assert link_header("http://h/x", {"limit": ["2"], "max_id": ["12"]}, page) == (
        '<http://h/x?limit=2&max_id=5>; rel="next", <http://h/x?limit=2&min_id=9>; rel="prev"'
    )


def test_an_empty_page_has_no_links():
    assert link_header("http://h/x", {}, Page()) == ""


def test_the_link_header_keeps_all_values_of_a_parameter():
    header = link_header("/x", {"types[]": ["follow", "mention"]}, Page([9], older=9))
    assert header == '</x?types%5B%5D=follow&types%5B%5D=mention&max_id=9>; rel="next"'


DAY_AFTER = first_id_at(1_795_219_200)  # 2026-11-21T00:00:00Z


@pytest.mark.parametrize(
    ("query", "bound"),
    [
        ({"date": "2026-11-20"}, DAY_AFTER),
        ({"until": "2026-11-20T23:59:59Z"}, DAY_AFTER),
        ({"until": "2026-11-21T00:59:59.999+01:00"}, DAY_AFTER),
        ({"until": "2026-11-20T23:59:59"}, DAY_AFTER),
        ({"date": "2026-11-20", "max_id": "12345"}, 12345),
        ({"date": "2026-11-20", "max_id": str(DAY_AFTER + 1)}, DAY_AFTER),
        ({"date": "0001-01-01"}, 0),
        ({"date": "9999-12-31"}, MAX_ID),
    ],
)
def test_a_day_or_a_moment_is_an_upper_bound(query, bound):
    assert Cursor.from_query(query, by_time=True).max_id == bound


@pytest.mark.parametrize(
    "query",
    [
        {"date": "20.11.2026"},
        {"date": "2026-02-30"},
        {"until": "yesterday"},
        {"as_of": "2026-11-20"},
    ],
)
def test_what_is_no_day_is_refused(query):
    with pytest.raises(BadRequest):
        Cursor.from_query(query, by_time=True)


@pytest.mark.parametrize("name", ["date", "until", "as_of"])
def test_a_list_without_days_refuses_them(name):
    with pytest.raises(BadRequest):
        Cursor.from_query({name: "2026-11-20"})


def test_the_next_page_does_not_repeat_the_day():
    header = link_header(
        "/x", {"date": ["2026-11-20"], "limit": ["2"]}, Page([9, 8], older=8, newer=9)
    )
    assert "date" not in header
    assert "limit=2&max_id=8" in header
