"""The tabs that people make themselves."""

from django import template

from apps.accounts.models import User
from apps.feeds.models import Feed
from apps.feeds.queries import pinned_feeds

register = template.Library()


@register.simple_tag
def tabs_of(viewer: User | None) -> list[Feed]:
    """The feeds that a viewer has as tabs."""
    return pinned_feeds(viewer)
