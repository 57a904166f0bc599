"""Parts of pages that are the same in many requests, rendered once and cached in this process.

The cache key contains the template, its variables with their types, and the language. So a cached fragment is correct
for every request with the same values. CSRF tokens and other values of a single request are rendered outside fragments.
"""

import re
from collections.abc import Hashable
from functools import lru_cache

from django.conf import settings
from django.template import Context, Engine
from django.utils.safestring import SafeString
from django.utils.translation import get_language

MAX_FRAGMENTS = MAX_OWN_FRAGMENTS = 2048  # each about 2 KB
_WIDE = re.compile("[\u2000-\u2bff\ufe0f\U00010000-\U0010ffff]")


def kept(maximum: int) -> int:
    """The size of a cache of rendered parts; 0 with DEBUG, because a template may have changed."""
    return 0 if settings.DEBUG else maximum


def render_fragment(template: str, **context: Hashable) -> SafeString:
    """A template rendered with these values, in the active language.

    A fragment with an argument `me` (the viewer) is for one reader. Such fragments have a separate cache, so that they
    do not evict shared fragments.
    """
    render = _render_own_cached if "me" in context else _render_cached
    # part of the key: a SafeString and a str with the same text are equal, but only the str is escaped
    kinds = tuple(map(type, context.values()))
    return render(template, tuple(context.items()), get_language(), kinds)


def compact(html: str) -> SafeString:
    """The same HTML with dashes, ellipses, symbols and emoji as references such as `&#8230;`, to take less memory.

    Python uses as many bytes for each character as the widest one needs: with one emoji four, with one ellipsis two.
    Almost all letters stay, because texts in other scripts would become longer.
    """
    return SafeString(_WIDE.sub(lambda found: f"&#{ord(found[0])};", html))


def _render(template: str, items: tuple[tuple[str, Hashable], ...], *_key: Hashable) -> SafeString:
    return compact(Engine.get_default().get_template(template).render(Context(dict(items))))


_render_cached = lru_cache(maxsize=kept(MAX_FRAGMENTS))(_render)
_render_own_cached = lru_cache(maxsize=kept(MAX_OWN_FRAGMENTS))(_render)
