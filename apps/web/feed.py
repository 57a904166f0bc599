"""Renders a feed: the first page, and further items for htmx."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from apps.http.requests import SiteRequest
from apps.pagination import Page
from apps.timeline.pipeline.items import FeedItem
from feedcache.stats import stage

# Variables that few feeds set. Templates are slow at missing names: each lookup raises and catches exceptions.
DEFAULTS = {
    "by_hand": False,  # whether the link to older posts opens another page
    "has_place": False,  # whether the feed shows where the reader left off
    "line_at_end": False,
    "oob": False,
    "pinned": (),
}


def render_feed(
    request: SiteRequest,
    template: str,
    page: Page[FeedItem],
    **context: Any,
) -> HttpResponse:
    """The page of a feed; an htmx request gets only the next items."""
    with stage("present"):
        date = request.GET.get("date", "")
        shown = {"page": page, "has_items": bool(page.items), "date": date}
        shown = DEFAULTS | context | shown
        return render(request, "timeline/_page.html" if request.htmx else template, shown)
