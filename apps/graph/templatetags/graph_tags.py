"""Template tags of the graph app."""

from typing import Any

from django import template
from django.template import Context

from apps.graph.queries import suggestions

register = template.Library()


@register.inclusion_tag("graph/_who_to_follow.html", takes_context=True)
def who_to_follow(context: Context, limit: int = 3) -> dict[str, Any]:
    """A card of accounts to follow; nothing when there are none."""
    kept = ("viewer", "csrf_token", "request", "way_back")
    people = suggestions(context["viewer"], limit=limit)
    return {"people": people, **{name: context[name] for name in kept if name in context}}
