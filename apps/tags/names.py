"""The names of tags. Two ways to write a name are one tag when their normal forms are equal. Pure."""

import unicodedata
from urllib.parse import quote

import regex

NAME_MAX_CHARACTERS = 100
ROUNDS = 4  # more than the tables of Unicode ever need until nothing changes any more
_OTHER = regex.compile(r"[^\p{L}\p{M}\p{N}_]+")
_SOMETHING = regex.compile(r"[\p{L}_]")


def normal(name: str) -> str | None:
    """The form under which a tag is kept: compatible forms made one, no case; None when it is not a tag's name.

    A name is at most 100 letters, digits and underscores, before and after, and not a number.
    """
    bare = name.removeprefix("#").removesuffix("#")
    if not 0 < len(bare) <= NAME_MAX_CHARACTERS or _OTHER.search(bare):
        return None
    for _round in range(ROUNDS):
        again = _OTHER.sub("", unicodedata.normalize("NFKC", bare).casefold())
        if again == bare:
            break
        bare = again
    return bare if len(bare) <= NAME_MAX_CHARACTERS and _SOMETHING.search(bare) else None


def normal_many(names: list[str]) -> list[str]:
    """The normal forms of names, each once, in order, without what is no name."""
    return list(dict.fromkeys(filter(None, map(normal, names))))


def tag_address(name: str) -> str:
    """Where a tag is read."""
    return f"/tags/{quote(name, safe='')}"
