"""Icons, and the way back for forms."""

from functools import cache

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
@cache
def icon(name: str, kind: str = "") -> SafeString:
    """An icon of the sprite; decoration, a text or label says what it means."""
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        f"i {kind}".strip(), static("icons.svg"), name,
    )  # fmt: skip


@register.simple_tag(takes_context=True)
def way_back(context: Context) -> str:
    """Where a form on this page leads back to: the page itself, or where that page's own form was to lead."""
    if "way_back" in context:
        return str(context["way_back"])
    request = context.get("request")
    return request.get_full_path() if request and request.method in {"GET", "HEAD"} else "/"
