"""Parts of every page that differ little from one page to the next: drawn once for what they are given, and kept.

Such a part sees what it is given by name and nothing else, no request and no account. So it cannot depend on something that it
is not kept under, nor show to one reader what belongs to another; what it lacks is missing for everybody, and is noticed.
What is given `anew` is left open in what is kept, and put in for every page: so a part is drawn once and not once a reader.
A whole page can be kept likewise (`pages`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.template import Context, Engine
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from apps.accounts.models import User
from apps.accounts.templatetags.people import Looks, avatar, name_of

register = template.Library()

PARTS = 512  # of 1 to 12 KB
ACCOUNTS = 2048  # of 1 KB
OPEN = "\0"  # around the name of what is put in; no text of anybody's has it (feedsite.inputguard)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the frame of a page shows of an account: texts, and HTML."""

    handle: str
    url: str
    name: str
    avatar: str
    small_avatar: str


@dataclass(frozen=True, slots=True)
class Reader:
    """All that a kept page depends on of its reader. How they look is left open; nothing else of the account is there."""

    text_size: str
    density: str
    is_authenticated: bool = True


@dataclass(frozen=True, slots=True)
class Anew:
    """A value that a part is not kept under: a text, or a dataclass of texts."""

    value: Any


@register.filter
def looks(user: object) -> Looks | None:
    """How an account looks; None for a visitor."""
    if not isinstance(user, User):
        return None
    return Looks(user.pk, user.handle, user.name, user.url, user.avatar_url)


@register.filter
def drawn(user: object) -> Drawn | None:
    """An account as HTML, which may have been drawn before; None for a visitor."""
    if isinstance(user, Drawn):
        return user
    if isinstance(user, Reader):
        return left_open("me", Drawn)  # type: ignore[no-any-return]  # of the type that was asked for
    seen = looks(user)
    return _as_html(seen) if seen else None


@lru_cache(maxsize=ACCOUNTS)
def _as_html(seen: Looks) -> Drawn:
    return Drawn(seen.handle, seen.url, name_of(seen), avatar(seen), avatar(seen, "sm"))


@register.filter
def anew(value: Any) -> Any:
    """A value to be put in for every page. The part can only write it down, nothing as nothing; whether it is there, it may ask."""
    return Anew(value) if value else ""


@register.simple_tag
def kept(name: str, **values: Any) -> SafeString:
    """A template with these values alone, each of which can be a key, or is given anew."""
    new = {key: value.value for key, value in values.items() if isinstance(value, Anew)}
    places = {key: left_open(key, type(value)) for key, value in new.items()}  # type: ignore[arg-type]  # types can be keys
    given = tuple(sorted({**values, **places}.items()))
    pieces = (_cut if settings.DEBUG else _kept)(name, get_language(), given)
    return mark_safe("".join(_filled(pieces, new)) if new else pieces[0])  # noqa: S308 -- a template's, and escaped values


@cache
def left_open(key: str, kind: type) -> Any:
    """What a part gets in the place of a value of a kind, whatever the value is."""
    if is_dataclass(kind):
        names = [field.name for field in fields(kind)]
        return kind(**{name: mark_safe(f"{OPEN}{key}.{name}{OPEN}") for name in names})  # noqa: S308 -- a name
    return mark_safe(f"{OPEN}{key}{OPEN}")  # noqa: S308 -- a name


def _filled(pieces: tuple[str, ...], new: Mapping[str, Any]) -> list[str]:
    texts, known = list(pieces), dict[str, str]()
    for at in range(1, len(texts), 2):
        name = texts[at]
        if name not in known:  # most stand in several places
            known[name] = written(name, new)
        texts[at] = known[name]
    return texts


def written(name: str, new: Mapping[str, Any]) -> str:
    """What belongs into a place of this name, as HTML."""
    key, _dot, field = name.partition(".")
    return conditional_escape(getattr(new[key], field) if field else new[key])


def _cut(name: str, _language: str | None, values: tuple[tuple[str, Any], ...]) -> tuple[str, ...]:
    """A part in pieces: texts, and between them the names of what belongs there."""
    text = Engine.get_default().get_template(name).render(Context(dict(values)))
    return tuple(text.split(OPEN))


_kept = lru_cache(maxsize=PARTS)(_cut)
