"""Icons from the sprite."""

from functools import cache

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
@cache
def icon(name: str, kind: str = "") -> SafeString:
    """Decoration: a text or label beside it has the meaning."""
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        f"i {kind}".strip(),
        static("icons.svg"),
        name,
    )
