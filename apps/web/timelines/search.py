"""The search page, which shows trends until there is a query, and the page to explore."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.filters.models import FilterContext
from apps.graph.queries import exact_relations
from apps.http.requests import SiteRequest, client_address, viewer_of
from apps.paging import Cursor
from apps.search.people_search import people_found, popular, suggested
from apps.search.post_search import post_at, posts_found
from apps.search.query import TEXT_MAX_CHARACTERS, parse_query
from apps.search.trends import trending_posts
from apps.tags.queries import known, tags_beginning, trending
from apps.throttling import check_rate_limit
from apps.timeline.pipeline.filters import apply_filters

KINDS = ("", "accounts", "hashtags", "statuses")
GROUPS = ("people", "tags", "posts")
FEW, MANY = 3, 40
TRENDING_POSTS = 10


@require_safe
def search(request: SiteRequest) -> HttpResponse:
    """Three groups of results, or more of one kind; for htmx only the results."""
    text = request.GET.get("q", "").strip()[:TEXT_MAX_CHARACTERS]
    kind = request.GET.get("type", "")
    context: dict[str, Any] = {"q": text, "kind": kind if kind in KINDS else ""}
    viewer = viewer_of(request)
    if text:
        check_rate_limit("search", str(viewer.pk) if viewer else client_address(request))
        context |= _results(request, viewer, text, context["kind"])
    else:
        context |= _trends(viewer)
    if request.htmx:
        context["number"] = sum(len(context.get(name) or ()) for name in GROUPS)
        return render(request, "search/_typed.html", context)
    return render(request, "search/search.html", {"here": "search", "no_fab": True, **context})


@require_safe
def explore(request: SiteRequest, *, tab: str) -> HttpResponse:
    """Trending posts or tags, or people to follow: one tab of three."""
    viewer = viewer_of(request)
    context: dict[str, Any] = {"tab": tab, "here": "explore", "no_fab": True}
    if tab == "posts":
        found = trending_posts(viewer.pk if viewer else None, limit=MANY)
        context["posts"] = apply_filters(viewer, FilterContext.PUBLIC, found)
    elif tab == "tags":
        context["tags"] = known(trending(maximum=MANY), viewer, are_in_use=True)
    else:
        people = suggested(viewer, limit=MANY) if viewer else popular(limit=MANY)
        context |= {"people": people, **_relations(viewer, people)}
    return render(request, "search/explore.html", context)


def _results(request: SiteRequest, viewer: User | None, text: str, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    many = MANY if kind else FEW
    if kind in {"", "accounts"}:
        found["people"] = people_found(viewer, text, limit=many)
        found |= _relations(viewer, found["people"])
    if kind in {"", "hashtags"}:
        found["tags"] = known(tags_beginning(text, maximum=many), viewer, are_in_use=True)
    if kind in {"", "statuses"}:
        pasted = post_at(viewer, text)
        page = posts_found(viewer, parse_query(text), Cursor.from_query(request.GET))
        found |= {"posts": [pasted] if pasted else page.items, "older": page.older}
    return {**found, "nothing": not any(found.get(name) for name in GROUPS)}


def _trends(viewer: User | None) -> dict[str, Any]:
    posts = trending_posts(viewer.pk if viewer else None, limit=TRENDING_POSTS)
    return {
        "tags": known(trending(maximum=TRENDING_POSTS), viewer, are_in_use=True),
        "posts": apply_filters(viewer, FilterContext.PUBLIC, posts),
    }


def _relations(viewer: User | None, people: list[User]) -> dict[str, Any]:
    related = exact_relations(viewer.pk if viewer else None, [user.pk for user in people])
    names = ("following", "followed_by", "blocking")
    return {name: getattr(related, name) for name in names}
