"""The table of keys in templates."""

import json

from django import template
from django.template import Context

from apps.accounts.shortcuts import SHORTCUTS, Shortcut, acts_of, shortcuts_of

register = template.Library()


@register.simple_tag(takes_context=True)
def shortcuts(context: Context) -> list[Shortcut]:
    """The keys as the viewer has them; for who has switched them off, those there would be."""
    return shortcuts_of(context.get("viewer")) or list(SHORTCUTS)


@register.simple_tag(takes_context=True)
def key_map(context: Context) -> str:
    """What each key does, as JSON for the script."""
    return json.dumps(acts_of(context.get("viewer")), separators=(",", ":"))
