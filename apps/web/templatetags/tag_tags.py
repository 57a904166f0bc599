"""What is talked about, beside any page."""

from typing import Any

from django import template

from apps.tags.queries import TagUsage, talked_about

register = template.Library()

WIDTH, HEIGHT = 72, 28  # of a line of days, in the units of its drawing
EDGE = 2  # room for the width of the line


@register.inclusion_tag("tags/_trending.html")
def trending_tags(limit: int = 3) -> dict[str, Any]:
    """A card of the tags that are used most now; nothing when there are none."""
    return {"tags": talked_about()[:limit]}


@register.filter
def line_of_days(known: TagUsage) -> str:
    """How often a tag was used day by day, the oldest first, as the points of a line."""
    uses = [day.uses for day in reversed(known.history)]
    across, down = WIDTH / max(1, len(uses) - 1), (HEIGHT - 2 * EDGE) / max(1, *uses)
    return " ".join(
        f"{place * across:g},{HEIGHT - EDGE - count * down:.4g}" for place, count in enumerate(uses)
    )
