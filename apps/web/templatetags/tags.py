"""The card of trending tags."""

from typing import Any

from django import template

from apps.tags.queries import TagUsage
from apps.tags.trends import cached_trending_tags

register = template.Library()

MAX_TRENDING = 3
WIDTH, HEIGHT = 72, 28  # of the SVG
EDGE = 2  # half the width of the stroke, and some more


@register.inclusion_tag("tags/_trending.html")
def trending_tags() -> dict[str, Any]:
    """A card of trending tags; empty when there are none."""
    return {"tags": cached_trending_tags()[:MAX_TRENDING]}


@register.filter
def line_of_days(usage: TagUsage) -> str:
    """The points of an SVG polyline of a tag's uses per day, the oldest first."""
    uses = [day.uses for day in reversed(usage.history)]
    across, down = WIDTH / max(1, len(uses) - 1), (HEIGHT - 2 * EDGE) / max(1, *uses)
    return " ".join(
        f"{place * across:g},{HEIGHT - EDGE - count * down:.4g}" for place, count in enumerate(uses)
    )
