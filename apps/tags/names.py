"""The names of tags. Two spellings name the same tag if their normalized forms are equal."""

import unicodedata
from urllib.parse import quote

import regex

NAME_MAX_CHARACTERS = 100
MAX_ROUNDS = 4  # more than Unicode needs for normalization to become stable
# Characters that may be inside words, between letters: the middle dots of Catalan and of names in Chinese and Japanese,
# Japanese dashes, the marks of Hebrew and Tibetan, and joiners in scripts in which they shape letters.
_INSIDE = (
    r"(?:[·・･゠־״་༌]|(?<=[\p{Hiragana}\p{Katakana}ー])[〜～]"
    r"|(?<=[\p{Arabic}\p{Syriac}\p{Mn}\p{Mc}])[\u200c\u200d])"
)
_FIRST = r"(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{N}_〃]"
# A name is `FIRST` and any number of `NEXT`; each matches one character. Users of the patterns limit the length.
NEXT = rf"(?:[\p{{L}}\p{{Mn}}\p{{Mc}}\p{{N}}_〃]|(?<=\p{{Hebrew}})׳|{_INSIDE}(?=[\p{{L}}\p{{N}}]))"
FIRST = rf"(?:{_FIRST})"
_NAME = regex.compile(rf"{FIRST}{NEXT}*+")
_OPENED, _CLOSED = regex.compile(r"\A[#＃]"), regex.compile(r"[#＃]\Z")
_LETTER = regex.compile(r"[\p{L}_〃]")
_OTHER = regex.compile(
    r"[^\p{L}\p{Mn}\p{Mc}\p{N}_〃׳·・゠〜־״་༌\u200c\u200d]|(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}"
)


def normalize(name: str) -> str | None:
    """The stored form of a name, NFKC and case-folded; None if it cannot name a tag.

    A name has at most 100 characters, before and after normalization: letters, digits, underscores, and the marks that
    scripts use inside words. At least one is a letter or an underscore.
    """
    bare = _CLOSED.sub("", _OPENED.sub("", name))
    if not 0 < len(bare) <= NAME_MAX_CHARACTERS or not _NAME.fullmatch(bare):
        return None
    for _round in range(MAX_ROUNDS):
        again = _OTHER.sub("", _folded(bare))
        if again == bare:
            break
        bare = again
    is_name = _NAME.fullmatch(bare) and _LETTER.search(bare)
    return bare if is_name and len(bare) <= NAME_MAX_CHARACTERS else None


def _folded(name: str) -> str:
    wide = name.replace("～", "〜")  # NFKC would make it a plain tilde
    return unicodedata.normalize("NFKC", wide).casefold().replace("i\u0307", "i")  # Turkish İ


def tag_address(name: str) -> str:
    return f"/tags/{quote(name, safe='')}"
