"""Template tags of the graph app."""

from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.accounts.models import User
from apps.accounts.templatetags.people import name_of
from apps.graph.familiar import common_followers
from apps.graph.queries import suggestions

register = template.Library()

LOOKED_AT = 100  # of those whom the viewer follows too
NAMED = 2


@register.inclusion_tag("graph/_who_to_follow.html", takes_context=True)
def who_to_follow(context: Context, limit: int = 3) -> dict[str, Any]:
    """A card of accounts to follow; nothing when there are none."""
    kept = ("viewer", "csrf_token", "request", "way_back")
    people = suggestions(context["viewer"], limit=limit)
    return {"people": people, **{name: context[name] for name in kept if name in context}}


@register.inclusion_tag("graph/_familiar.html")
def familiar_followers(viewer: User | None, profile: User) -> dict[str, Any]:
    """Whom the viewer follows, of those who follow an account; nothing for visitors."""
    if viewer is None:
        return {}
    found = common_followers(viewer, [profile], limit=LOOKED_AT)[profile.pk]
    others = len(found.people) - NAMED
    return {
        "people": found.people[:NAMED],
        "names": [_link(person) for person in found.people[:NAMED]],
        "others": max(others, 0),
        "shown_others": f"{others}+" if found.more else str(others),
    }


def _link(person: User) -> SafeString:
    return format_html('<a href="{}">{}</a>', person.url, name_of(person))
