"""What there is around a post: what it said before, who likes, reposts and quotes it, and the post on other sites."""

from collections.abc import Callable
from dataclasses import replace

from django.http import HttpResponse, HttpResponseBase
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
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.reactions import likers, quotes_timeline, reposters
from apps.timeline.thread import visible_item

PEOPLE: dict[str, Callable[[int | None, int, Cursor], Page[User]]] = {
    "likes": likers,
    "reposts": reposters,
}


@require_safe
def history(request: SiteRequest, handle: str, post_id: int) -> HttpResponseBase:
    """A post as it was at first, after each edit, and as it is; the newest first."""
    item = visible_item(viewer_id_of(request), post_id).shown
    if item.author.handle != handle:
        return redirect(f"{item.url}/history")
    # what is shown is how it was written: none of these says "edited", or lets anybody vote
    versions = [
        replace(item, post=replace(one, edited_ms=None, poll=None))
        for one in reversed(versions_of(item.post))
    ]
    return render(request, "timeline/history.html", {"item": item, "versions": versions})


@require_safe
def people(request: SiteRequest, handle: str, post_id: int, *, tab: str) -> HttpResponseBase:
    """Who likes or reposted a post."""
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
    """The posts that quote a post."""
    viewer_id = viewer_id_of(request)
    item = visible_item(viewer_id, post_id).shown
    if item.author.handle != handle:
        return redirect(f"{item.url}/quotes")
    found = quotes_timeline(viewer_id, post_id, Cursor.from_query(request.GET))
    page: Page[FeedItem] = apply_filters_to_page(viewer_of(request), FilterContext.PUBLIC, found)
    context = {"item": item, "tab": "quotes", "page": page, "feed_url": request.path}
    template = "timeline/_page.html" if request.htmx else "timeline/reactions.html"
    return render(request, template, context)


@require_safe
@xframe_options_exempt
def embed(request: SiteRequest, handle: str, post_id: int) -> HttpResponse:
    """A public post to be shown in a frame of another site: as visitors see it, whoever looks."""
    item = visible_item(None, post_id).shown
    if item.author.handle != handle:
        raise NotFound(_("This post isn't here."))
    response = render(request, "timeline/embed.html", {"shown": item, "viewer": None})
    response._csp_replace = {"frame-ancestors": ["*"]}  # type: ignore[attr-defined]  # noqa: SLF001 -- as csp's own decorator does
    return response
