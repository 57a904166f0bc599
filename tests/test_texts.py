"""Texts before they are parsed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.texts import is_visible, normalise, without_control_characters


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("a\x01b", "ab"), ("a\x10b\x1f", "ab"), ("a\x7fb\x9f", "ab"), ("a\x00b", "ab"), ("a\ufffeb\uffff", "ab"),
        ("a\ufdd0b\U0001fffe", "ab"), ("a\ud800b", "ab"), ("\ufeffa", "a"), ("a\x0bb\x0cc", "a\nb\nc"),
        ("a\x85b\u2028c\u2029d", "a\nb\nc\nd"), ("tab\tline\r\nend", "tab\tline\r\nend"),
        ("می‌خواهم 👩‍🚀", "می‌خواهم 👩‍🚀"),
    ],
)  # fmt: skip
def test_controls_are_left_out_and_line_ends_stay(text, carried):
    assert without_control_characters(text) == carried


FILLERS = ["\u3164", "\u115f", "\uffa0", "\u2800", "\ufe0f", "\u034f", "\u200b", "\u200c", "\u200d", "\u180e",
           "\U000e0041", "\u2066\u2069", "\u202e", "\u00ad", "\u3000", " \n\t"]  # fmt: skip


@pytest.mark.parametrize("text", ["", *FILLERS, "".join(FILLERS)])
def test_nothing_is_to_be_seen(text):
    assert not is_visible(text)


@pytest.mark.parametrize("text", ["a", "。", "字", "❤️", "\u200bก็", "\U0001fae8", "ㅤ.", "-"])
def test_something_is_to_be_seen(text):
    assert is_visible(text)


def test_lines_of_nothing_are_blank_lines():
    assert normalise("one" + "\n\u200b" * 240 + "\ntwo") == "one\n\ntwo"
    assert normalise("\u3164\n\none\n\u2800\n") == "one"
    assert normalise("❤️\n👩‍🚀") == "❤️\n👩‍🚀"


@given(st.text())
def test_normal_texts_are_carriable(text):
    once = normalise(text)
    assert normalise(once) == once == without_control_characters(once)
