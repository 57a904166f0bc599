"""The search page, which shows trends until a query is entered, and the explore page."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.http.requests import SiteRequest, limit_searches, viewer_id_of, viewer_of
from apps.pagination import Cursor
from apps.search.queries import post_at_url, search_people, search_posts
from apps.search.query_parser import TEXT_MAX_CHARACTERS, parse_query
from apps.search.suggestions import popular_people, suggested_people
from apps.search.trends import trending_posts
from apps.tags.queries import tag_usages, tags_beginning
from apps.tags.trends import trending_tags
from apps.web.people.relationships import follow_buttons

KINDS = ("", "accounts", "hashtags", "statuses")
GROUPS = ("people", "tags", "posts")
FEW, MANY = 3, 40
TRENDING_POSTS = 10


@require_safe
def search(request: SiteRequest) -> HttpResponse:
    """Three groups of results, or more results of one kind. An htmx request gets only the results."""
    text = request.GET.get("q", "").strip()[:TEXT_MAX_CHARACTERS]
    kind = request.GET.get("type", "")
    context: dict[str, Any] = {"q": text, "kind": kind if kind in KINDS else ""}
    viewer = viewer_of(request)
    if text:
        limit_searches(request)
        context |= _results(request, viewer, text, context["kind"])
    else:
        context |= _trends(viewer)
    if request.htmx:
        context["number"] = sum(len(context.get(name) or ()) for name in GROUPS)
        return render(request, "search/_live_results.html", context)
    return render(request, "search/search.html", {"here": "search", **context})


@require_safe
def explore(request: SiteRequest, *, tab: str) -> HttpResponse:
    """One of three tabs: trending posts, trending tags, or people to follow."""
    viewer = viewer_of(request)
    context: dict[str, Any] = {"tab": tab, "here": "explore"}
    if tab == "posts":
        context["posts"] = trending_posts(viewer, limit=MANY)
    elif tab == "tags":
        context["tags"] = tag_usages(trending_tags(maximum=MANY), viewer, are_in_use=True)
    else:
        people = suggested_people(viewer, limit=MANY) if viewer else popular_people(limit=MANY)
        context |= {"people": people, **follow_buttons(viewer_id_of(request), people)}
    return render(request, "search/explore.html", context)


def _results(request: SiteRequest, viewer: User | None, text: str, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    many = MANY if kind else FEW
    if kind in {"", "accounts"}:
        found["people"] = search_people(viewer, text, limit=many)
        found |= follow_buttons(viewer_id_of(request), found["people"])
    if kind in {"", "hashtags"}:
        found["tags"] = tag_usages(tags_beginning(text, maximum=many), viewer, are_in_use=True)
    if kind in {"", "statuses"}:
        pasted = post_at_url(viewer, text)
        page = search_posts(viewer, parse_query(text), Cursor.from_query(request.GET, by_time=True))
        found |= {"posts": [pasted] if pasted else page.items, "older": page.older}
        found["ends_early"] = page.ends_early and not pasted
    return {**found, "nothing": not any(found.get(name) for name in (*GROUPS, "ends_early"))}


def _trends(viewer: User | None) -> dict[str, Any]:
    return {
        "tags": tag_usages(trending_tags(maximum=TRENDING_POSTS), viewer, are_in_use=True),
        "posts": trending_posts(viewer, limit=TRENDING_POSTS),
    }
