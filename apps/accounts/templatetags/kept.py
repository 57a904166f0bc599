"""Parts of every page that differ little from one page to the next: drawn once for what they are given, and kept.

Such a part sees what it is given by name and nothing else, no request and no account. So it cannot depend on something that it
is not kept under, nor show to one reader what belongs to another; what it lacks is missing for everybody, and is noticed.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.template import Context, Engine
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from apps.accounts.models import User

register = template.Library()

PARTS = 512  # of 2 to 6 KB


@dataclass(frozen=True, slots=True)
class Looks:
    """What a page's frame shows of an account."""

    pk: int
    handle: str
    name: str
    url: str
    avatar_url: str


@register.filter
def looks(user: object) -> Looks | None:
    """How an account looks; None for a visitor."""
    if not isinstance(user, User):
        return None
    return Looks(user.pk, user.handle, user.name, user.url, user.avatar_url)


@register.simple_tag
def kept(name: str, **values: Any) -> SafeString:
    """A template with these values alone, each of which can be a key."""
    given = tuple(sorted(values.items()))
    return (_drawn if settings.DEBUG else _kept)(name, get_language(), given)


def _drawn(name: str, _language: str | None, values: tuple[tuple[str, Any], ...]) -> SafeString:
    return Engine.get_default().get_template(name).render(Context(dict(values)))


_kept = lru_cache(maxsize=PARTS)(_drawn)
