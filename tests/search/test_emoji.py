"""Emoji by name, and the files that they come from."""

import gzip

import orjson
import pytest
from django.conf import settings
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from apps.search.emoji import emoji_beginning
from apps.web.timelines.suggest import EMOJI_GROUPS

FILES = sorted((settings.BASE_DIR / "static" / "emoji").glob("*.json"))


def characters(text, maximum=8):
    return [one.text for one in emoji_beginning(text, maximum=maximum)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("smile", "😄"), ("SMILE", "😄"), ("heart", "❤️"), ("tada", "🎉"), ("thumbsup", "👍️"), ("thumbs_up", "👍️"),
        ("party popper", "🎉"), ("red_heart", "❤️"), ("flag_china", "🇨🇳"), ("cote", "🇨🇮"),
        ("大笑", "😄"), ("喷泉", "⛲️"),
    ],
)  # fmt: skip
def test_the_whole_name_comes_first(text, first):
    assert characters(text)[0] == first


@pytest.mark.slow
def test_beginnings_and_words_inside():
    assert characters("smil")[:2] == ["😃", "😄"]  # in Unicode's order, by the short names
    assert characters("sm")[:2] == ["😃", "😄"]  # not the flag of San Marino, whose keyword it is
    assert "🤣" in characters("laughing", 20)  # rolling on the floor
    assert "👨‍⚖️" in characters("法官")  # 男法官
    assert "🇨🇳" in characters("中国")
    assert len(characters("a", 5)) == 5
    for nothing in ("", "_", "!!", "qqqq"):
        assert characters(nothing) == []


def test_names_are_in_the_language_of_the_page():
    for language, name in (("en", "party popper"), ("zh-hans", "拉炮彩带")):
        with translation.override(language):
            assert emoji_beginning("tada", maximum=1)[0].name == name


@given(st.text(max_size=60))
def test_whatever_is_typed(text):
    found = emoji_beginning(text, maximum=8)
    assert len(found) == len({one.text for one in found}) <= 8


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_small_and_complete(path):
    groups = orjson.loads(path.read_bytes())
    assert len(groups) == len(EMOJI_GROUPS)
    lines = [line.split("|") for group in groups for line in group]
    assert len(lines) == len({line[0] for line in lines}) > 1900
    assert all(character and name for character, name, _short_name, *_keywords in lines)
    assert len(gzip.compress(path.read_bytes(), 9)) < 40 * 1024


def test_the_files_have_the_same_emoji_for_every_language():
    assert [path.stem for path in FILES] == sorted(code for code, _name in settings.LANGUAGES)
    found = [
        [[line.split("|")[0] for line in group] for group in orjson.loads(path.read_bytes())]
        for path in FILES
    ]
    assert all(one == found[0] for one in found)
