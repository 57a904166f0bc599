"""Cleans the fields of a profile before they are stored: names, lines, pictures, choices."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.accounts.models import (
    BIO_MAX_CHARACTERS,
    LINE_MAX_CHARACTERS,
    MAX_LINES,
    NAME_MAX_CHARACTERS,
    PICTURE_ALT_MAX_CHARACTERS,
)
from apps.errors import Invalid
from apps.media.avatars import avatar_file, header_file
from apps.texts import is_visible, normalise, without_control_characters

# Characters that embed or override a text direction, which would affect the text after them on the page.
_OVERRIDES = re.compile("[\u202a-\u202e]")
# Control characters except white space, and characters that reorder text or are invisible. U+200C and U+200D (joiners)
# are not among them, because emoji and several scripts need them.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f\u00ad\u115f\u1160\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\u3164\ufeff\uffa0]"
)


def clean_profile(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The cleaned values for an account's columns. Fields that are None are left out.

    The fields are `display_name`, `bio`, `lines` (pairs of a name and a value), `avatar` and `header` (open files, or
    `Cropped` ones), `avatar_alt` and `header_alt` (their descriptions), `is_bot`, `is_discoverable`, `is_indexable`,
    `post_visibility`, `post_sensitive`, `post_language`, `quote_policy`. Raises Invalid, and KeyError for an unknown
    field.
    """
    return {name: _CLEAN[name](value) for name, value in fields.items() if value is not None}


def clean_name(text: str) -> str:
    """A display name without characters that reorder or hide text. Raises Invalid if it is too long."""
    name = single_line(text)
    if len(name) > NAME_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": NAME_MAX_CHARACTERS}
        raise _invalid({"display_name": message})
    return name


def single_line(text: str) -> str:
    """The text on one line, without characters that reorder or hide text; empty if nothing visible remains."""
    line = " ".join(_INVISIBLE.sub("", without_control_characters(text)).split())
    return line if is_visible(line) else ""


def _clean_bio(text: str) -> str:
    bio = normalise(_OVERRIDES.sub("", text))
    if len(bio) > BIO_MAX_CHARACTERS:
        raise _invalid({"bio": _("At most %(count)d characters.") % {"count": BIO_MAX_CHARACTERS}})
    return bio


def _clean_lines(lines: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The names and values, each on one line, without empty pairs."""
    clean = [[single_line(name), single_line(value)] for name, value in lines]
    clean = [pair for pair in clean if any(pair)]
    if len(clean) > MAX_LINES:
        raise _invalid({"fields": _("At most %(count)d lines.") % {"count": MAX_LINES}})
    if any(len(text) > LINE_MAX_CHARACTERS for pair in clean for text in pair):
        maximum = {"count": LINE_MAX_CHARACTERS}
        raise _invalid({"fields": _("At most %(count)d characters.") % maximum})
    return clean


def _clean_alt(name: str) -> Callable[[str], str]:
    def clean(text: str) -> str:
        alt = normalise(_OVERRIDES.sub("", text))
        if len(alt) > PICTURE_ALT_MAX_CHARACTERS:
            maximum = {"count": PICTURE_ALT_MAX_CHARACTERS}
            raise _invalid({name: _("At most %(count)d characters.") % maximum})
        return alt

    return clean


def _invalid(errors: dict[str, str]) -> Invalid:
    return Invalid(" ".join(errors.values()), errors=errors)


def _unchanged(value: Any) -> Any:
    return value


_CLEAN: dict[str, Callable[[Any], Any]] = {
    "display_name": clean_name,
    "bio": _clean_bio,
    "lines": _clean_lines,
    "avatar": avatar_file,
    "header": header_file,
    "avatar_alt": _clean_alt("avatar_description"),
    "header_alt": _clean_alt("header_description"),
    "is_bot": bool,
    "is_discoverable": bool,
    "is_indexable": bool,
    "post_visibility": _unchanged,
    "post_sensitive": bool,
    "post_language": _unchanged,
    "quote_policy": _unchanged,
}
