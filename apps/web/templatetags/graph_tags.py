"""Suggestions, familiar followers, and the header of a profile."""

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

MAX_FAMILIAR = 100
MAX_NAMES = 2
# Templates ask whether the account is in the list of each.
RELATED = ("following", "followed_by", "blocking", "muting", "requested")


@register.inclusion_tag("graph/_who_to_follow.html", takes_context=True)
def who_to_follow(context: Context, limit: int = 3) -> dict[str, Any]:
    """A card of accounts to follow; empty when there are none."""
    viewer = context["viewer"]
    return {"viewer": viewer, "people": suggestions(viewer, limit=limit)}


@register.inclusion_tag("graph/_familiar.html")
def familiar_followers(viewer: User | None, profile: User) -> dict[str, Any]:
    """Followers of the profile whom the viewer follows; empty for visitors."""
    if viewer is None:
        return {}
    familiar = common_followers(viewer, [profile], limit=MAX_FAMILIAR)[profile.pk]
    named, others = familiar.people[:MAX_NAMES], max(len(familiar.people) - MAX_NAMES, 0)
    return {
        "people": named,
        "names": [_link(person) for person in named],
        "others": others,
        "shown_others": f"{others}+" if familiar.more else str(others),
    }


@register.inclusion_tag("graph/_profile_header.html", takes_context=True)
def profile_header(context: Context, profile: User, relationship: Relationship) -> dict[str, Any]:
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
    """The meta elements of a profile for other sites."""
    return {"profile": profile, "site_name": settings.SITE_NAME, "site_url": settings.SITE_URL}


def _link(person: User) -> SafeString:
    return format_html('<a href="{}">{}</a>', person.url, name_of(person))
