"""The tabs that people make themselves."""

from typing import NamedTuple

from django import template

from apps.accounts.models import User
from apps.feeds.queries import pinned_feeds

register = template.Library()


class Tab(NamedTuple):
    pk: int
    url: str
    name: str


@register.simple_tag
def tabs_of(viewer: User | None) -> tuple[Tab, ...]:
    """The feeds that a viewer has as tabs."""
    return tuple(Tab(feed.pk, feed.url, feed.name) for feed in pinned_feeds(viewer))
