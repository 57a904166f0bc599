"""Pages about a post: its versions, its likes, reposts and quotes, its embed for other sites."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from csp.decorators import csp_replace
from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.errors import NotFound
from apps.filters.models import FilterContext
from apps.graph.queries import exact_relations
from apps.http.requests import SiteRequest, viewer_id_of, viewer_of
from apps.paging import Cursor, Page
from apps.posts.history import versions_of
from apps.timeline.pipeline.filters import apply_filters_to_page
from apps.timeline.reactions import likers, quotes_timeline, reposters
from apps.timeline.thread import visible_item

PEOPLE: dict[str, Callable[[int | None, int, Cursor], Page[User]]] = {
    "likes": likers,
    "reposts": reposters,
}


@require_safe
def history(request: SiteRequest, handle: str, post_id: int) -> HttpResponseBase:
    """All versions of a post, the newest first."""
    item = visible_item(viewer_id_of(request), post_id).shown
    if item.author.handle != handle:
        return redirect(f"{item.url}/history")
    # a version shows the text as it was: neither "edited" nor a poll to vote in
    versions = [
        replace(item, post=replace(version, edited_ms=None, poll=None))
        for version in reversed(versions_of(item.post))
    ]
    return render(request, "timeline/history.html", {"item": item, "versions": versions})


@require_safe
def people(request: SiteRequest, handle: str, post_id: int, *, tab: str) -> HttpResponseBase:
    viewer_id = viewer_id_of(request)
    item = visible_item(viewer_id, post_id).shown
    if item.author.handle != handle:
        return redirect(f"{item.url}/{tab}")
    page = PEOPLE[tab](viewer_id, post_id, Cursor.from_query(request.GET))
    related = exact_relations(viewer_id, [person.pk for person in page.items])
    context = {
        "item": item,
        "tab": tab,
        "page": page,
        "following": related.following,
        "followed_by": related.followed_by,
        "blocking": related.blocking,
        "requested": related.requested,
    }
    return render(request, "timeline/reactions.html", context)


@require_safe
def quotes(request: SiteRequest, handle: str, post_id: int) -> HttpResponseBase:
    viewer_id = viewer_id_of(request)
    item = visible_item(viewer_id, post_id).shown
    if item.author.handle != handle:
        return redirect(f"{item.url}/quotes")
    page = quotes_timeline(viewer_id, post_id, Cursor.from_query(request.GET))
    page = apply_filters_to_page(viewer_of(request), FilterContext.PUBLIC, page)
    context = {"item": item, "tab": "quotes", "page": page, "feed_url": request.path}
    template = "timeline/_page.html" if request.htmx else "timeline/reactions.html"
    return render(request, template, context)


@require_safe
@xframe_options_exempt
def embed(request: SiteRequest, handle: str, post_id: int) -> HttpResponseBase:
    """A public post for a frame of another site, as visitors see it."""
    item = visible_item(None, post_id).shown
    if item.author.handle != handle:
        raise NotFound(_("This post isn't here."))
    context = {"item": item, "viewer": None}
    page = partial(render, template_name="timeline/embed.html", context=context)
    return csp_replace({"frame-ancestors": ["*"]})(page)(request)
