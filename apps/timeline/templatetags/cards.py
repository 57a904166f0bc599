"""What a post card needs beyond its item."""

from typing import Any

from django import template
from django.template import Context

from apps.accounts.templatetags.links import way_back
from apps.posts.models import Visibility

register = template.Library()

TALL_LINES = 12
_LOOKS = {"like": ("like", "heart"), "repost": ("boost", "repeat-2"), "bookmark": ("mark", "bookmark")}  # fmt: skip


@register.filter
def reach(visibility: str) -> str:
    """The name of a visibility."""
    return str(Visibility(visibility).label)


@register.filter
def language_tag(language: str) -> str:
    """The language of a post as HTML wants it: Han glyphs differ by region, so zh says which."""
    return "zh-Hans" if language == "zh" else language


@register.filter
def is_tall(body: str) -> bool:
    """Whether a text has more lines than a card shows."""
    return body.count("\n") > TALL_LINES


@register.inclusion_tag("timeline/_toggle.html", takes_context=True)
def toggle(context: Context, verb: str, pressed: bool, label: str, number: int) -> dict[str, Any]:  # noqa: FBT001 -- template tags take positions
    """A like, repost or bookmark button: a form of its own, for visitors a link to the login page."""
    look, symbol = _LOOKS[verb]
    return {
        "viewer": context.get("viewer"),
        "csrf_token": context.get("csrf_token"),
        "post_id": context["shown"].id,
        "url": context["shown"].url,
        "anchor": context["anchor"],
        "back": way_back(context),
        "verb": verb,
        "pressed": pressed,
        "label": label,
        "number": number,
        "look": look,
        "symbol": symbol,
        "kind": "" if verb == "repost" else "fillable",
    }
