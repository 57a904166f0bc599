"""What is talked about, beside any page."""

from typing import NamedTuple

from django import template
from django.utils.safestring import SafeString

from apps.accounts.templatetags.kept import kept
from apps.tags.queries import KnownTag, talked_about

register = template.Library()

WIDTH, HEIGHT = 72, 28  # of a line of days, in the units of its drawing
EDGE = 2  # room for the width of the line


class Trend(NamedTuple):
    """A tag as the card of those that are used most shows it."""

    name: str
    url: str
    uses: int
    line: str


@register.simple_tag
def trending_tags(limit: int = 3) -> SafeString:
    """A card of the tags that are used most now; nothing when there are none."""
    tags = (
        Trend(one.tag.name, one.tag.url, one.uses, line_of_days(one))
        for one in talked_about()[:limit]
    )
    return kept("tags/_trending.html", tags=tuple(tags))


@register.filter
def line_of_days(known: KnownTag) -> str:
    """How often a tag was used day by day, the oldest first, as the points of a line."""
    uses = [day.uses for day in reversed(known.history)]
    across, down = WIDTH / max(1, len(uses) - 1), (HEIGHT - 2 * EDGE) / max(1, *uses)
    return " ".join(
        f"{place * across:g},{HEIGHT - EDGE - count * down:.4g}" for place, count in enumerate(uses)
    )
