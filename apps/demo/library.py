"""The written part of the demo, read from `content/*.toml`; `checks` looks for slips before anything is made."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from apps.demo.checks import check
from apps.demo.parts import (
    LANGUAGES,
    Avatar,
    Caption,
    Conversation,
    Library,
    LibraryError,
    Line,
    Names,
    Pattern,
    Person,
    Picture,
    Reply,
)
from apps.demo.pictures import Sketch

CONTENT = Path(__file__).parent / "content"
POST_FILES = {
    "posts.en.toml": "en",
    "posts.en.more.toml": "en",
    "posts.zh.toml": "zh",
    "posts.zh.more.toml": "zh",
}

PATTERN_FIELDS = {"frame", "tags", "opens", "follows"}
Table = Mapping[str, Any]


@cache
def library() -> Library:
    """Everything that is written, checked; LibraryError names the slip."""
    return read(CONTENT)


def read(folder: Path) -> Library:
    """Read and check a folder of content."""
    try:
        found = _assembled(folder)
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise LibraryError(f"{folder.name}: {error!r}") from error
    check(found)
    return found


def _assembled(folder: Path) -> Library:
    people = {table["handle"]: _person(table) for table in _tables(folder, "people.toml", "person")}
    passages = {language: _load(folder, f"passages.{language}.toml") for language in LANGUAGES}
    return Library(
        people=people,
        lines=tuple(_lines(folder)),
        conversations=tuple(
            _conversation(table) for table in _tables(folder, "conversations.toml", "conversation")
        ),
        passages={language: tuple(passages[language]["lines"]) for language in LANGUAGES},
        patterns={
            language: tuple(_pattern(table) for table in passages[language]["pattern"])
            for language in LANGUAGES
        },
        captions=tuple(_caption(table) for table in _tables(folder, "captions.toml", "caption")),
        names=_names(_load(folder, "names.toml")),
    )


def _load(folder: Path, name: str) -> dict[str, Any]:
    with (folder / name).open("rb") as file:
        return tomllib.load(file)


def _tables(folder: Path, name: str, kind: str) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = _load(folder, name)[kind]
    return tables


def _person(table: Table) -> Person:
    fields = dict(table)
    if avatar := fields.pop("avatar", None):
        x, y, side = avatar["focus"]
        fields["avatar"] = Avatar(Sketch(avatar["scene"], avatar["seed"], "square"), (x, y, side))
    for name in ("follows", "likes", "bookmarks"):
        fields[name] = tuple(fields.get(name, ()))
    return Person(**fields)


def _lines(folder: Path) -> Iterable[Line]:
    for name, language in POST_FILES.items():
        tables = _load(folder, name)
        yield from (_line(table, language) for table in tables["post"])
        for table in tables.get("repost", ()):
            yield Line(table["by"], "", "", source=table["of"], ago=table.get("ago"))


def _line(table: Table, language: str) -> Line:
    fields = {"language": language, **table}
    fields["text"] = fields["text"].strip()
    fields["source"] = fields.pop("quote", "")
    fields["pictures"] = tuple(
        Picture(Sketch(one["scene"], one["seed"], one.get("shape", "wide")), one["alt"])
        for one in fields.get("pictures", ())
    )
    return Line(**fields)


def _conversation(table: Table) -> Conversation:
    replies = []
    for number, one in enumerate(table["reply"]):
        fields = dict(one)
        to = fields.pop("to", number)
        fields.setdefault("language", _language_of(fields["text"]))
        replies.append(Reply(_line(fields, fields["language"]), to))
    return Conversation(table["under"], tuple(replies))


def _language_of(text: str) -> str:
    # people answer in the language they are addressed in; a quoted character or two does not count
    return (
        "zh"
        if sum("\u4e00" <= character <= "\u9fff" for character in text) * 4 > len(text)
        else "en"
    )


def _pattern(table: Table) -> Pattern:
    slots = {name: tuple(words) for name, words in table.items() if name not in PATTERN_FIELDS}
    return Pattern(
        table["frame"],
        slots,
        tags=tuple(table.get("tags", ())),
        opens=table.get("opens", False),
        follows=table.get("follows", False),
    )


def _caption(table: Table) -> Caption:
    return Caption(
        table["scene"],
        {language: tuple(table[language]) for language in LANGUAGES},
        {language: table[f"alt_{language}"] for language in LANGUAGES},
    )


def _names(table: Table) -> dict[str, Names]:
    found = {}
    for language in LANGUAGES:
        parts = {
            part: tuple(
                (name, name.lower()) if isinstance(name, str) else tuple(name)
                for name in table[language][part]
            )
            for part in ("given", "family")
        }
        found[language] = Names(parts["given"], parts["family"], tuple(table["bios"][language]))
    return found
