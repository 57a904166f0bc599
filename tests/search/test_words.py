"""Texts as words: what is indexed, and what is asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.search.query_parser import parse_query
from apps.search.words import MAX_POSITION, runs, tsquery, tsvector
from feedcache.ids import first_id_at


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Green Tea, naïve & Ünïcode!", ["green", "tea", "naive", "unicode"]),
        ("天气很好", ["天气", "气很", "很好", "好"]),
        ("喝tea吗", ["喝", "tea", "吗"]),
        ("茶", ["茶"]),
        ("ｗｉｄｅ ＨＡＬＦ", ["wide", "half"]),
        ("snake_case 2026", ["snake_case", "2026"]),
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย", "ย"]),
        ("ខ្មែរ។", ["ខ្", "្ម", "មែ", "ែរ", "រ"]),
        ("zero\u200bwidth soft\u00adhyphen", ["zerowidth", "softhyphen"]),
        ("ไทย\u200bดี", ["ไท", "ทย", "ยด", "ดี", "ี"]),
        ("IĞDIR ığdır İstanbul", ["igdir", "igdir", "istanbul"]),
        ("نرم\u200cافزار", ["نرم", "افزار"]),
        ("", []),
        ("!!! 😀", []),
    ],
)
def test_words_of_a_text(text, words):
    assert [word for run in runs(text) for word in run.words()] == words


def test_places_are_kept_and_bounded():
    assert tsvector("tea and tea") == "'tea':1,3 'and':2"
    long = tsvector("a b " * 20_000)
    assert (
        max(int(place) for part in long.split() for place in part.split(":")[1].split(","))
        <= MAX_POSITION
    )


@pytest.mark.parametrize(
    ("phrases", "expected"),
    [
        (["green", "te"], "('green') & ('te':*)"),
        (["green tea", "milk"], "('green' <-> 'tea') & ('milk':*)"),
        (["天气很好"], "('天气' <-> '气很' <-> '很好')"),
        (["茶"], "('茶':*)"),
        (["绿茶 Tea"], "('绿茶' <-> '茶' <-> 'tea':*)"),
        (["!!!", ""], ""),
    ],
)
def test_queries(phrases, expected):
    assert tsquery(phrases) == expected


@given(st.text(max_size=200))
def test_nothing_but_words_gets_into_a_query(text):
    for run in runs(text):
        assert not set(run.text) & set("'\\:*&|!() ")


def test_operators():
    found = parse_query(
        'tea from:@Alice "green leaves" before:2026-11-01 after:2026-10-01 has:image is:reply lang:ZH what:ever'
    )
    assert found.phrases == ["tea", "green leaves", "what:ever"]
    assert (found.author, found.language) == ("alice", "zh")
    assert (found.with_pictures, found.only_replies) == (True, True)
    assert found.below == first_id_at(1_793_491_200)
    assert found.above == first_id_at(1_790_899_200) - 1


@pytest.mark.parametrize("text", ["before:never", "from:", ":", "before:9999-99-99", '"', "before:0001-01-01",
                                  "x" * 10_000])  # fmt: skip
def test_nothing_is_wrong_to_ask(text):
    found = parse_query(text)
    assert found.above == 0 or found.below == 0 or found.phrases or found == parse_query("")
