"""Reads the TOML files in this folder; `tests/demo/test_content.py` checks them."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "zh")
POST_FILES = {
    "posts.en.toml": "en",
    "posts.en.more.toml": "en",
    "posts.zh.toml": "zh",
    "posts.zh.more.toml": "zh",
}
PATTERN_FIELDS = {"frame", "tags", "opens", "follows"}
Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Person:
    """One of the cast, the people with hand-written (not generated) profiles and posts.

    The higher the `weight`, the more followers the account gets; `fixed` users can log in.
    """

    handle: str
    name: str
    bio: str
    language: str
    weight: float = 1
    fixed: bool = False
    staff: bool = False
    avatar: str = ""  # a file in `images/avatars`
    follows: tuple[str, ...] = ()
    likes: tuple[str, ...] = ()
    bookmarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """A file in `images`, and its description in the language of the post."""

    image: str
    alt: str


@dataclass(frozen=True, slots=True)
class WrittenPost:
    """A post by one of the cast. `ago` is its age in minutes; without it, `hour` may name a part of the day.

    `appeal` multiplies its chance of being liked. `source` is the key of the quoted post, or of the reposted post if
    there is no text.
    """

    by: str
    text: str
    language: str
    key: str = ""
    ago: float | None = None
    hour: str = ""
    warning: str = ""
    visibility: str = "public"
    source: str = ""
    pictures: tuple[Picture, ...] = ()
    appeal: float = 1

    @property
    def is_repost(self) -> bool:
        return bool(self.source) and not self.text


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply in a conversation. `to` is the number of the reply that it answers, from 1 on; 0 is the post itself."""

    post: WrittenPost
    to: int


@dataclass(frozen=True, slots=True)
class Conversation:
    under: str
    replies: tuple[Reply, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A sentence with slots that reads well with every combination of words.

    A text of two sentences is a pattern with `opens` (for example, about rain), then one with `follows` (about a meal).
    """

    frame: str
    slots: Mapping[str, tuple[str, ...]]
    tags: tuple[str, ...] = ()
    opens: bool = False
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Caption:
    """Pictures that look alike, with post texts and a description in each language."""

    images: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]]
    alt: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Names:
    """Names and short bios in one language. A given or family name is a pair (written, romanised)."""

    given: tuple[tuple[str, str], ...]
    family: tuple[tuple[str, str], ...]
    bios: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """The written content: the cast with its posts, and material for generated accounts."""

    people: Mapping[str, Person]
    posts: tuple[WrittenPost, ...]
    conversations: tuple[Conversation, ...]
    passages: Mapping[str, tuple[str, ...]] = field(repr=False)
    patterns: Mapping[str, tuple[Pattern, ...]] = field(repr=False)
    captions: tuple[Caption, ...]
    names: Mapping[str, Names] = field(repr=False)


@cache
def load_content() -> Content:
    passages = {language: _load(f"passages.{language}.toml") for language in LANGUAGES}
    return Content(
        people={table["handle"]: _person(table) for table in _load("people.toml")["person"]},
        posts=tuple(_posts()),
        conversations=tuple(
            _conversation(table) for table in _load("conversations.toml")["conversation"]
        ),
        passages={language: tuple(passages[language]["lines"]) for language in LANGUAGES},
        patterns={
            language: tuple(_pattern(table) for table in passages[language]["pattern"])
            for language in LANGUAGES
        },
        captions=tuple(_caption(table) for table in _load("captions.toml")["caption"]),
        names=_names(_load("names.toml")),
    )


def _load(name: str) -> dict[str, Any]:
    with (FOLDER / name).open("rb") as file:
        return tomllib.load(file)


def _person(table: Table) -> Person:
    lists = {name: tuple(table.get(name, ())) for name in ("follows", "likes", "bookmarks")}
    return Person(**{**table, **lists})


def _posts() -> Iterator[WrittenPost]:
    for name, language in POST_FILES.items():
        tables = _load(name)
        yield from (_post(table, language) for table in tables["post"])
        for table in tables.get("repost", ()):
            yield WrittenPost(table["by"], "", "", source=table["of"], ago=table.get("ago"))


def _post(table: Table, language: str) -> WrittenPost:
    fields = {"language": language, **table}
    fields["text"] = fields["text"].strip()
    fields["source"] = fields.pop("quote", "")
    fields["pictures"] = tuple(Picture(**picture) for picture in fields.get("pictures", ()))
    return WrittenPost(**fields)


def _conversation(table: Table) -> Conversation:
    replies = []
    for number, reply in enumerate(table["reply"]):
        fields = dict(reply)
        to = fields.pop("to", number)
        fields.setdefault("language", _language_of(fields["text"]))
        replies.append(Reply(_post(fields, fields["language"]), to))
    return Conversation(table["under"], tuple(replies))


def _language_of(text: str) -> str:
    # decides by the share of Chinese characters, so that an English reply may quote a character or two
    chinese = sum("\u4e00" <= character <= "\u9fff" for character in text)
    return "zh" if chinese * 4 > len(text) else "en"


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
        tuple(table["images"]),
        {language: tuple(table[language]) for language in LANGUAGES},
        {language: table[f"alt_{language}"] for language in LANGUAGES},
    )


def _names(table: Table) -> dict[str, Names]:
    return {
        language: Names(
            _name_pairs(table[language]["given"]),
            _name_pairs(table[language]["family"]),
            tuple(table["bios"][language]),
        )
        for language in LANGUAGES
    }


def _name_pairs(names: list[str | list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, name.lower()) if isinstance(name, str) else (name[0], name[1]) for name in names
    )
