"""Template tags of the graph app."""

from typing import Any

from django import template
from django.conf import settings
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.accounts.models import User
from apps.graph.familiar import common_followers
from apps.graph.queries import suggestions
from apps.graph.relationships import Relationship
from apps.web.templatetags.people import name_of

register = template.Library()

LOOKED_AT = 100  # of those whom the viewer follows too
NAMED = 2
# What there may be between a viewer and an account; templates ask whether an account is among them.
RELATED = ("following", "followed_by", "blocking", "muting", "requested")


@register.inclusion_tag("graph/_who_to_follow.html", takes_context=True)
def who_to_follow(context: Context, limit: int = 3) -> dict[str, Any]:
    """A card of accounts to follow; nothing when there are none."""
    viewer = context["viewer"]
    return {"viewer": viewer, "people": suggestions(viewer, limit=limit)}


@register.inclusion_tag("graph/_familiar.html")
def familiar_followers(viewer: User | None, profile: User) -> dict[str, Any]:
    """Whom the viewer follows, of those who follow an account; nothing for visitors."""
    if viewer is None:
        return {}
    found = common_followers(viewer, [profile], limit=LOOKED_AT)[profile.pk]
    named, others = found.people[:NAMED], max(len(found.people) - NAMED, 0)
    return {
        "people": named,
        "names": [_link(person) for person in named],
        "others": others,
        "shown_others": f"{others}+" if found.more else str(others),
    }


@register.inclusion_tag("graph/_profile_header.html", takes_context=True)
def profile_header(context: Context, profile: User, relationship: Relationship) -> dict[str, Any]:
    """The head of a profile: who this is, and what its viewer may do about them."""
    viewer = context["viewer"]
    related = {name: [profile.pk] if getattr(relationship, name) else [] for name in RELATED}
    return {
        "profile": profile,
        "viewer": viewer,
        "is_own": viewer == profile,
        "notifies": relationship.notifies,
        "shows_reposts": relationship.shows_reposts,
        **related,
    }


@register.inclusion_tag("graph/_profile_meta.html")
def profile_meta(profile: User) -> dict[str, Any]:
    """What a profile says of itself to other sites."""
    return {"profile": profile, "site_name": settings.SITE_NAME, "site_url": settings.SITE_URL}


def _link(person: User) -> SafeString:
    return format_html('<a href="{}">{}</a>', person.url, name_of(person))
