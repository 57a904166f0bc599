"""Icons from the sprite. Those of the buttons below posts are inlined, so that cards do not repeat their long URLs."""

import re
from functools import cache

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
@cache
def icon(name: str, kind: str = "") -> SafeString:
    """A decorative icon: the text or label next to it conveys the meaning."""
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        f"i {kind}".strip(),
        static("icons.svg"),
        name,
    )


IN_PAGE = ("message-circle", "repeat-2", "heart", "bookmark", "ellipsis")


@register.simple_tag
@cache
def card_icon(name: str) -> SafeString:
    """One of the icons in `IN_PAGE`, for an `.act` button on pages that have `card_symbols`."""
    return format_html('<svg aria-hidden="true"><use href="#{}"/></svg>', name)


@register.simple_tag
@cache
def card_symbols() -> SafeString:
    sprite = (settings.BASE_DIR / "static" / "icons.svg").read_text()
    found = [re.search(rf'<symbol id="{name}".*?</symbol>', sprite) for name in IN_PAGE]
    return SafeString("".join(symbol[0] for symbol in found if symbol))
