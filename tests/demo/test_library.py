import re
import shutil
from pathlib import Path
from random import Random

import pytest

from apps.demo.library import CONTENT, library, read
from apps.demo.parts import LibraryError
from apps.demo.seeding.wording import Wording
from apps.posts.text import length, mentioned_handles, tags


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(CONTENT, tmp_path / "content")


def change(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_library_is_large_enough_in_both_languages():
    found = library()
    posts = [line for line in found.lines if not line.is_repost]
    assert len(found.people) >= 40
    assert len(posts) >= 260
    assert sum(len(conversation.replies) for conversation in found.conversations) >= 60
    assert sum(len(lines) for lines in found.passages.values()) >= 300
    for language in ("en", "zh"):
        assert sum(line.language == language for line in posts) >= 120


def test_library_has_something_of_every_kind():
    lines = library().lines
    assert {line.visibility for line in lines} == {"public", "unlisted", "followers"}
    assert any(line.warning for line in lines)
    assert any(line.is_repost for line in lines)
    assert any(line.source and not line.is_repost for line in lines)
    named = {tag for line in lines for tag in tags(line.text)}
    assert {"山水之间", "hybridfeeds", "今天吃什么"} <= named


def test_library_has_the_accounts_that_can_sign_in():
    fixed = {person.handle: person.staff for person in library().people.values() if person.fixed}
    assert fixed == {"alice": False, "bob": False, "carol": False, "admin": True}


def test_every_mention_is_somebody_of_the_cast():
    found = library()
    replies = [reply.line for conversation in found.conversations for reply in conversation.replies]
    named = {handle for line in [*found.lines, *replies] for handle in mentioned_handles(line.text)}
    assert named
    assert named <= set(found.people)


def test_every_picture_has_a_description_in_the_language_of_its_post():
    for line in library().lines:
        for picture in line.pictures:
            is_chinese = any("\u4e00" <= character <= "\u9fff" for character in picture.alt)
            assert is_chinese == (line.language == "zh")


@pytest.mark.parametrize(
    ("name", "old", "new", "slip"),
    [
        ("posts.en.toml", 'by = "mara"', 'by = "nobody"', "unknown author"),
        ("posts.en.more.toml", "@hana_k", "@hana_l", "mentions unknown @hana_l"),
        ("posts.en.toml", "Basil forgives.", "Basil forgives. " * 60, "characters are too long"),
        ("posts.en.toml", 'quote = "cursor"', 'quote = "curser"', "unknown source 'curser'"),
        ("posts.en.toml", 'scene = "letter"', 'scene = "lettre"', "unknown scene 'lettre'"),
        ("posts.en.toml", 'hour = "dawn"', 'hour = "down"', "unknown hour 'down'"),
        ("posts.en.toml", 'visibility = "followers"', 'visibility = "some"', "unknown visibility"),
        ("posts.en.toml", 'key = "jitter"', 'key = "door"', "the key 'door' is used twice"),
        ("people.toml", 'handle = "theo"', 'handle = "Theo"', "not a handle"),
        ("conversations.toml", 'under = "cello"', 'under = "viola"', "under unknown 'viola'"),
        ("conversations.toml", "to = 0", "to = 9", "answers a later reply"),
        ("passages.en.toml", "{moved} {where}", "{went} {where}", "do not agree"),
        ("posts.zh.toml", 'by = "xiaoman"', "by = ", "content"),
    ],
)
def test_a_slip_is_named(folder, name, old, new, slip):
    change(folder, name, old, new)
    with pytest.raises(LibraryError, match=re.escape(slip)):
        read(folder)


def test_generated_texts_are_whole_short_and_the_same_for_the_same_seed():
    def texts(seed: int) -> list[str]:
        wording = Wording(library(), Random(seed))
        return [wording.text(language) for _ in range(400) for language in ("en", "zh")]

    first = texts(3)
    assert first == texts(3)
    assert first != texts(4)
    assert len(set(first)) == len(first)
    assert all(text and "{" not in text and length(text) <= 500 for text in first)
