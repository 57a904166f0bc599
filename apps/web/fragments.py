"""Parts of pages that are equal for many readers, from a fragment cache in this process.

What a fragment is rendered with is its key, and all that its template sees: so it is right for whoever gets it.
Tokens of forms and other values of one request are rendered outside.
"""

from collections.abc import Hashable
from functools import lru_cache

from django.conf import settings
from django.template import Context, Engine
from django.utils.safestring import SafeString
from django.utils.translation import get_language

MAX_FRAGMENTS = 2048  # of about 2 KB


def render_fragment(template: str, **context: Hashable) -> SafeString:
    """A template rendered with these values, in the language of now."""
    if settings.DEBUG:  # a template may have changed
        return _render(template, tuple(context.items()))
    # a safe string equals the same text that has to be escaped
    kinds = tuple(map(type, context.values()))
    return _render_cached(template, tuple(context.items()), get_language(), kinds)


def _render(template: str, items: tuple[tuple[str, Hashable], ...], *_key: Hashable) -> SafeString:
    return Engine.get_default().get_template(template).render(Context(dict(items)))


_render_cached = lru_cache(maxsize=MAX_FRAGMENTS)(_render)
