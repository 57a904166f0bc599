"""The card of trending tags."""

from functools import lru_cache
from typing import NamedTuple

from django import template
from django.utils.safestring import SafeString

from apps.tags.queries import TagUsage
from apps.tags.trends import cached_trending_tags
from apps.web.fragments import render_fragment

register = template.Library()

MAX_TRENDING = 3
MAX_LINES = 256  # each about 100 bytes
WIDTH, HEIGHT = 72, 28  # of the SVG
EDGE = 2  # half the width of the stroke, and a little more


class TrendingTag(NamedTuple):
    """The parts of a tag that the card shows."""

    name: str
    url: str
    uses: int
    line: str

    @classmethod
    @lru_cache(maxsize=MAX_LINES)
    def of(cls, usage: TagUsage) -> "TrendingTag":
        """The parts of a tag. They are cached, because all pages in the same minute show the same tags."""
        return cls(usage.tag.name, usage.tag.url, usage.uses, line_of_days(usage))


@register.simple_tag
def trending_tags() -> SafeString:
    """A card of trending tags; empty if there are none."""
    tags = tuple(map(TrendingTag.of, cached_trending_tags()[:MAX_TRENDING]))
    return render_fragment("tags/_trending.html", tags=tags)


@register.filter
def line_of_days(usage: TagUsage) -> str:
    """The points of an SVG polyline of a tag's uses per day, oldest first."""
    return _line(tuple([day.uses for day in reversed(usage.history)]))


@lru_cache(maxsize=MAX_LINES)
def _line(uses: tuple[int, ...]) -> str:
    across, down = WIDTH / max(1, len(uses) - 1), (HEIGHT - 2 * EDGE) / max(1, *uses)
    return " ".join(
        f"{place * across:g},{HEIGHT - EDGE - count * down:.4g}" for place, count in enumerate(uses)
    )
