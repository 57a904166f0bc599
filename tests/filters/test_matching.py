"""Whether a filter finds something in a text."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from apps.filters import matching
from apps.filters.matching import (
    FEW,
    MAX_CHARACTERS,
    ActiveFilter,
    Automaton,
    FilterMatch,
    Filters,
    Keyword,
    fold,
)

NOW = datetime.now(UTC)


def keyword(text, *, whole):
    return Keyword(text, fold(text), whole)


def looking_for(*keywords):
    return Filters([ActiveFilter(1, "", (), act="warn", keywords=keywords)])


def is_in(text_of_keyword, text, *, whole):
    return bool(looking_for(keyword(text_of_keyword, whole=whole)).matches(1, [text], NOW))


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
        ("고양이", "고양이가 좋아", True, True),
        ("ไทย", "ภาษาไทยดี", True, True),
        ("བོད", "བོད་ཡིག", True, True),
        ("foo bar", "a foo  bar!", True, True),
        ("foo bar", "foo\nbar", True, True),
        ("foo\u3000bar", "foo bar", True, True),
        ("foo bar", "foobar", False, False),
    ],
)
def test_words_and_parts_of_them(keyword, text, anywhere, whole):
    assert is_in(keyword, text, whole=False) == anywhere
    assert is_in(keyword, text, whole=True) == whole


def test_a_keyword_is_in_one_text():
    assert looking_for(keyword("foo bar", whole=False)).matches(1, ["a foo", "bar b"], NOW) == ()


def test_what_is_caught_says_by_what():
    words = [keyword("tea", whole=True), keyword("milk", whole=True)]
    drinks = ActiveFilter(7, "Drinks", {"home"}, act="warn", keywords=words, posts={5: 9})
    named = ActiveFilter(8, "Named", {"home"}, act="warn", posts={6: 9})
    filters = Filters([drinks, named])
    assert filters.matches(5, ["TEA", "and sugar"], NOW) == (
        FilterMatch(drinks, ("tea",), names_post=True),
    )
    assert filters.matches(6, ["coffee"], NOW) == (FilterMatch(named, (), names_post=True),)
    assert filters.matches(7, ["coffee"], NOW) == ()
    assert not Filters()


@pytest.mark.parametrize("whole", [True, False])
def test_keywords_that_begin_and_end_inside_others_are_found(whole):
    texts = ("a b c d", "b c", "b", "c d e", "a b x")
    others = (keyword(f"k{n}", whole=True) for n in range(FEW))
    every = looking_for(*(keyword(text, whole=whole) for text in texts), *others)
    [found] = every.matches(1, ["a b c e"], NOW)
    assert found.keywords == ("b c", "b")


def test_a_few_keywords_say_why():
    every = looking_for(*(keyword(f"{n}", whole=False) for n in range(20)))
    [found] = every.matches(1, ["0123456789 10 11 12"], NOW)
    assert found.keywords == tuple("0123456789")


def told(filters, *, post_id=1):
    return [match.filter.id for match in Filters(filters).matches(post_id, ["a tea"], NOW)]


def test_a_few_filters_say_why():
    words = [keyword("tea", whole=True)]
    alike = [ActiveFilter(n, "", {"home"}, act="warn", keywords=words) for n in range(1, 50)]
    assert told(alike) == [1, 2]
    over = datetime(2000, 1, 1, tzinfo=UTC)
    assert told([replace(alike[0], expires_at=over), *alike[1:]]) == [2, 3]
    named = [*alike[:20], ActiveFilter(99, "", {"home"}, act="warn", posts={7: 1})]
    assert told(named[::-1], post_id=7) == [99, 20]
    assert told(named[::-1], post_id=8) == [20, 19]


def test_a_filter_that_acts_elsewhere_or_otherwise_is_told_however_many_there_are():
    """Programs hide and warn by what they are told."""
    words = [keyword("tea", whole=True)]
    alike = [ActiveFilter(n, "", {"home"}, act="warn", keywords=words) for n in range(1, 50)]
    hiding = ActiveFilter(60, "", {"home"}, act="hide", keywords=words)
    elsewhere = ActiveFilter(61, "", {"home", "thread"}, act="warn", keywords=words)
    again = replace(elsewhere, id=62)
    assert told([*alike, hiding, elsewhere, again]) == [1, 2, 60, 61]


LETTER = regex.compile(
    r"[[\p{L}\p{M}\p{N}_]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]",
    regex.V1,
)


def plainly(wanted, whole, text):
    """Whether a folded text contains a folded keyword, as one would say it."""

    def same_word(left, right):
        return bool(LETTER.fullmatch(left) and LETTER.fullmatch(right))

    for start in range(len(text) - len(wanted) + 1):
        end = start + len(wanted)
        if text[start:end] == wanted:
            opens = start == 0 or not same_word(text[start - 1], wanted[0])
            closes = end == len(text) or not same_word(wanted[-1], text[end])
            if not whole or (opens and closes):
                return True
    return False


SMALL = st.text("ab", max_size=8) | st.text("aA b_é\u0301茶テ.ß\ufdfa", max_size=12)
ANY = SMALL | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12
)


@pytest.mark.slow
@given(
    st.lists(st.tuples(ANY.filter(fold), st.booleans()), max_size=8),
    st.lists(ANY, max_size=3),
    st.booleans(),
)
def test_finds_what_a_plain_search_finds(wanted, texts, many):
    others = [keyword(f"no text has this {n}", whole=False) for n in range(FEW + 1)]
    keywords = [keyword(text, whole=whole) for text, whole in wanted]
    every = looking_for(*keywords, *(others if many else ()))
    folded = fold("\n".join(texts))
    expected = tuple(text for text, whole in wanted if plainly(fold(text), whole, folded))
    found = every.matches(1, texts, NOW)
    assert (found[0].keywords if found else ()) == expected


def test_each_text_is_folded_once_and_no_keyword(monkeypatch):
    every = looking_for(*(keyword(f"k{n}", whole=True) for n in range(50)))
    folded: list[str] = []

    def counted(text):
        folded.append(text)
        return fold(text)

    monkeypatch.setattr(matching, "fold", counted)
    for _reader in range(3):
        for post_id in range(20):
            every.matches(post_id, [f"the text of post {post_id}"], NOW)
    assert len(folded) == len(set(folded)) == 20


def test_each_text_is_looked_through_once(monkeypatch):
    every = looking_for(
        keyword("tea", whole=True), *(keyword(f"k{n}", whole=False) for n in range(FEW))
    )
    walked: list[str] = []
    found_in = Automaton.found_in

    def counted(automaton, text):
        walked.append(text)
        return found_in(automaton, text)

    monkeypatch.setattr(Automaton, "found_in", counted)
    for _page in range(2):
        assert [len(every.matches(1, [text], NOW)) for text in ("tea", "milk", "tea.")] == [1, 0, 1]
    assert len(walked) == 2 * 3  # words, and pieces
    monkeypatch.setattr(matching, "MAX_REMEMBERED", 3)
    every.matches(1, ["another"], NOW)
    assert len(every._found) == 1


def test_only_the_beginning_of_texts_that_grow_is_looked_at():
    grows = "\ufdfa" * (MAX_CHARACTERS // 18)
    assert is_in("tea", f"tea {grows}", whole=True)
    assert not is_in("tea", f"{grows} {grows} tea", whole=True)


class Counted(dict[Any, Any]):
    """A step of an automaton that counts how often it is asked."""

    asked = 0

    def get(self, key, default=None):
        Counted.asked += 1
        return super().get(key, default)


@pytest.mark.parametrize("text", ["a" * 2_000, "ab" * 1_000, "a" * 99 + "b" * 1_901])
def test_the_work_for_a_text_does_not_depend_on_the_keywords(text):
    """Keywords that occur everywhere, and nearly everywhere."""
    keywords = ["a" * n + tail for n in range(1, 200) for tail in ("", "b", "c")]
    automaton = Automaton(zip(keywords, keywords, strict=True))
    automaton._next = [Counted(step) for step in automaton._next]
    Counted.asked = 0
    automaton.found_in(text)
    assert Counted.asked <= 2 * len(text)
