"""The timeline of a tag, the page of followed tags, and the button for following a tag."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    login_required,
    next_url,
    viewer_of,
)
from apps.pagination import Cursor
from apps.tags.actions import follow_tag, unfollow_tag
from apps.tags.queries import followed_page, tag_named, tag_usages
from apps.tags.trends import trending_tags
from apps.timeline.public import TagQuery, tag_timeline
from apps.web.feed import render_feed

MAX_TRENDING = 10


@require_safe
def tag_page(request: SiteRequest, name: str) -> HttpResponse:
    """The timeline of a tag, whether or not anybody has used it."""
    viewer, tag = viewer_of(request), tag_named(name)
    cursor = Cursor.from_query(request.GET, by_time=True)
    page = tag_timeline(viewer, TagQuery(tag.name), cursor)
    context: dict[str, Any] = {
        "usage": tag_usages([tag], viewer)[0],
        "here": "explore",
        "feed_url": tag.url,
    }
    return render_feed(request, "timeline/tag.html", page, **context)


@require_safe
@login_required
def tags(request: AuthenticatedRequest) -> HttpResponse:
    """The tags that the viewer follows, and trending tags."""
    trending = trending_tags(maximum=MAX_TRENDING)
    context = {
        "here": "explore",
        "page": followed_page(request.user, Cursor.from_query(request.GET)),
        "trending": tag_usages(trending, request.user, are_in_use=True),
    }
    return render(request, "tags/index.html", context)


@require_POST
@login_required
def act(request: AuthenticatedRequest, name: str, *, verb: str) -> HttpResponseBase:
    """Follow or unfollow a tag."""
    if verb == "follow":
        tag = follow_tag(request.user, name)
        messages.success(request, _("#%(name)s is on your home page now.") % {"name": tag.name})
    else:
        tag = unfollow_tag(request.user, name)
    return SeeOther(next_url(request, default=tag.url))
