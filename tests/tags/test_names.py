"""Names of tags: what is one, and when two are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.tags.names import NAME_MAX_CHARACTERS, normalize, tag_address


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Tea", "tea"),
        ("#Tea", "tea"),
        ("#话题#", "话题"),
        ("Ｔｅａ", "tea"),
        ("Straße", "strasse"),
        ("ﾃｽﾄ", "テスト"),
        ("हिन्दी", "हिन्दी"),
        ("_", "_"),
        ("＃Tea＃", "tea"),
        ("İstanbul", "istanbul"),
        ("نرم\u200cافزار", "نرم\u200cافزار"),
        ("il·lusió", "il·lusió"),
        ("iŀlusió", "il·lusió"),
        ("ｼﾞｬﾝ･ﾚﾉ", "ジャン・レノ"),
        ("メ～テレ", "メ〜テレ"),
        ("葛\U000e0100城", "葛城"),
        ("云〃", "云〃"),
        ("2026tea", "2026tea"),
    ],
)
def test_one_name_for_all_ways_to_write_it(written, name):
    assert normalize(written) == name


@pytest.mark.parametrize("text", ["", "#", "2026", "٣٤", "a b", "a/b", "a-b", "a#b", "x" * 101, "\u202ea", "ﷺ" * 90,
                                  "\u0301", "\u0301a", "\u3164", "·a", "a·", "a\u200cb", "a··b"])  # fmt: skip
def test_what_is_no_name(text):
    assert normalize(text) is None


@given(st.text(max_size=120))
def test_the_normal_form_is_its_own_and_short(text):
    name = normalize(text)
    if name is not None:
        assert normalize(name) == name
        assert 0 < len(name) <= NAME_MAX_CHARACTERS


def test_where_a_tag_is_read():
    assert tag_address("茶") == "/tags/%E8%8C%B6"
