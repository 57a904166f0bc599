"""The ranked timeline, and the choice of its algorithm."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, next_url
from apps.ranking.algorithms import available
from apps.ranking.ordering import (
    RankCursor,
    algorithm_of,
    choose_algorithm,
    ranked_page,
)
from apps.search.trends import recommended_posts
from apps.timeline.pipeline.items import FeedItem
from feedcache.stats import stage

MAX_RECOMMENDED = 3  # posts at the end of the last page


@require_safe
@login_required
def ranked(request: AuthenticatedRequest) -> HttpResponse:
    """The viewer's ranked timeline; with `why=1` each post shows the factors of its score."""
    viewer, why = request.user, request.GET.get("why") == "1"
    cursor = RankCursor.from_query(request.GET)
    page = ranked_page(viewer, session_id=cursor.session, after=cursor.after, limit=cursor.limit)
    with stage("present"):
        context = {
            "page": page,
            "why": why,
            "here": "home",
            "algorithms": available().values(),
            "is_continued": cursor.session is not None,
            "recommended": _recommended(request) if page.after is None else [],
        }
        template = "ranking/_page.html" if request.htmx else "ranking/ranked.html"
        return render(request, template, context)


def _recommended(request: AuthenticatedRequest) -> list[FeedItem]:
    """Recommended posts for the last page; none for HEAD requests, because reading them marks them as recommended."""
    return recommended_posts(request.user, limit=MAX_RECOMMENDED) if request.method == "GET" else []


@require_POST
@login_required
def algorithm(request: AuthenticatedRequest) -> HttpResponseBase:
    """Choose the algorithm; the message "Saved." appears only if it changed."""
    old = algorithm_of(request.user).name
    if choose_algorithm(request.user, request.POST.get("algorithm", "")).name != old:
        messages.success(request, _("Saved."))
    return SeeOther(next_url(request, default="/ranked"))


urlpatterns: list[URLPattern] = [
    path("ranked", ranked, name="ranked"),
    path("ranked/algorithm", algorithm, name="ranking_algorithm"),
]
