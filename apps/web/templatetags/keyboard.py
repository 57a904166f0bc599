"""The table of keys in templates."""

import json
from functools import lru_cache

from django import template
from django.template import Context

from apps.web.keyboard import SHORTCUTS, Shortcut, action_of, acts, shortcuts_of

TABLES = 1024  # of 400 bytes

register = template.Library()


@register.simple_tag(takes_context=True)
def shortcuts(context: Context) -> list[Shortcut]:
    """The keys as the viewer has them; for who has switched them off, those there would be."""
    return shortcuts_of(context.get("viewer")) or list(SHORTCUTS)


@register.simple_tag(takes_context=True)
def key_map(context: Context) -> str:
    """What each key does, as JSON for the script."""
    return _as_json(*action_of(context.get("viewer")))


@lru_cache(maxsize=TABLES)
def _as_json(own: str, parse_query: str) -> str:
    return json.dumps(acts(own, parse_query), separators=(",", ":"))
