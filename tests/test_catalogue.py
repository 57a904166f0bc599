"""The words of the Chinese catalogue: one for each thing, as its first lines say."""

import re

import pytest

from runner.checkout import ROOT
from tools.lint.translations import read, translations

CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
# What Bloom filters do is no rule of anybody's.
OTHER_FILTERS = {"Filters that show which actions somebody has never taken"}


def entries():
    return [(entry.msgid, "".join(translations(entry))) for entry in read(CATALOGUE)]


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize(
    ("word", "ours", "others"),
    [
        (r"\b(un)?mut(e|es|ed|ing)\b", "静音", "隐藏"),
        (r"\b(un)?block(s|ed|ing)?\b", "屏蔽", "拉黑"),
        (r"\b(hash)?tags?\b", "话题", "标签(?!页)"),
        (r"\bfilters?\b", "过滤规则", "过滤词|过滤器"),
        (r"\bfollowers?\b", "粉丝", "(?<![被按])关注者"),
        (r"\barchives?\b", "存档", "归档"),
    ],
)
def test_one_thing_has_one_word(word, ours, others):
    assert ours in CATALOGUE.read_text().partition("msgid")[0]
    wrong = []
    for english, chinese in entries():
        if english in OTHER_FILTERS or not re.search(word, english, re.IGNORECASE):
            continue
        if re.search(others, chinese) and not re.search(r"\b(hid|label)", english, re.IGNORECASE):
            wrong.append((english, chinese))
    assert wrong == []
    assert sum(ours in chinese for _english, chinese in entries()) > 10
