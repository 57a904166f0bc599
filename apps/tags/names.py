"""The names of tags. Two spellings are the same tag when their normalized forms are equal. Pure."""

import unicodedata
from urllib.parse import quote

import regex

NAME_MAX_CHARACTERS = 100
MAX_ROUNDS = 4  # more than Unicode needs for normalization to become stable
_OTHER = regex.compile(r"[^\p{L}\p{M}\p{N}_]+")
_LETTER = regex.compile(r"[\p{L}_]")


def normalize(name: str) -> str | None:
    """The stored form of a name, NFKC and case-folded; None if it cannot name a tag.

    A name has at most 100 letters, digits and underscores, before and after normalization, and is not a number.
    """
    bare = name.removeprefix("#").removesuffix("#")
    if not 0 < len(bare) <= NAME_MAX_CHARACTERS or _OTHER.search(bare):
        return None
    for _round in range(MAX_ROUNDS):
        again = _OTHER.sub("", unicodedata.normalize("NFKC", bare).casefold())
        if again == bare:
            break
        bare = again
    return bare if len(bare) <= NAME_MAX_CHARACTERS and _LETTER.search(bare) else None


def tag_address(name: str) -> str:
    return f"/tags/{quote(name, safe='')}"
