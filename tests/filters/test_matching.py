"""Whether a filter finds something in a text."""

import time

import pytest

from apps.filters.matching import ActiveFilter, Keyword, filter_matches, fold


def is_in(keyword, text, *, whole):
    return Keyword(1, keyword, whole).is_in(fold(text))


@pytest.mark.parametrize(
    ("keyword", "text", "anywhere", "whole"),
    [
        ("tea", "A cup of TEA.", True, True),
        ("tea", "teatime", True, False),
        ("tea", "green_tea", True, False),
        ("tea", "#tea", True, True),
        ("green tea", "a green tea!", True, True),
        ("tea", "teatime tea", True, True),
        ("tea", "coffee", False, False),
        ("天气", "今天天气很好", True, True),
        ("tea", "喝tea吗", True, True),
        ("Ｔｅａ", "tea", True, True),
        ("straße", "STRASSE", True, True),
        ("c++", "I like c++17", True, True),
        (":)", "fine :)", True, True),
    ],
)
def test_words_and_parts_of_them(keyword, text, anywhere, whole):
    assert is_in(keyword, text, whole=False) == anywhere
    assert is_in(keyword, text, whole=True) == whole


def test_what_is_caught_says_by_what():
    words = [Keyword(1, "tea", whole_word=True), Keyword(2, "milk", whole_word=True)]
    drinks = ActiveFilter(7, "Drinks", {"home"}, hides=False, keywords=words, posts={5: 9})
    [found] = filter_matches([drinks], 5, ["TEA", "and sugar"])
    assert (found.filter.id, found.keywords, found.names_post) == (7, ("tea",), True)
    assert filter_matches([drinks], 6, ["coffee"]) == ()


@pytest.mark.waits("str.find looks through the text in C, where no steps can be counted")
def test_a_long_text_takes_no_time():
    began = time.thread_time()
    assert not is_in("a" * 200 + "b", "a" * 10_000, whole=True)
    assert time.thread_time() - began < 1
