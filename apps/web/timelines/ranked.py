"""The ranked timeline, and the choice of its algorithm."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, next_url
from apps.search.trends import recommended_posts
from apps.timeline.pipeline.page import FeedItem
from apps.timeline.pipeline.promoted import count_shown
from apps.timeline.ranking.algorithms import Scored, available
from apps.timeline.ranking.ordering import (
    RankCursor,
    algorithm_of,
    choose_algorithm,
    ranked_page,
)
from feedcache.stats import stage

RECOMMENDED = 3  # at the end of an order


@dataclass(frozen=True, slots=True)
class Row:
    """An item of the page; `template` renders its explanation below the card."""

    item: FeedItem
    place: int
    scored: Scored
    template: str = ""
    text: str = ""

    @classmethod
    def explained(cls, item: FeedItem, place: int, scored: Scored) -> "Row":
        text = scored.reason(item.shown.author.handle)
        return cls(item, place, scored, "ranking/_reasons.html", text)


@require_safe
@login_required
def ranked(request: AuthenticatedRequest) -> HttpResponse:
    """The viewer's ranked timeline; with `why=1` each post shows the factors of its score."""
    viewer, why = request.user, request.GET.get("why") == "1"
    cursor = RankCursor.from_query(request.GET)
    page = ranked_page(viewer, session_id=cursor.session, after=cursor.after, limit=cursor.limit)
    with stage("present"):
        count_shown(viewer.pk, page.items)
        entries = [(entry.item, entry.place, entry.scored) for entry in page.entries]
        rows = [Row.explained(*entry) if why else Row(*entry) for entry in entries]
        context = {
            "page": page,
            "rows": rows,
            "why": why,
            "here": "home",
            "algorithms": available().values(),
            "is_continued": cursor.session is not None,
            "recommended": _recommended(request) if page.after is None else [],
        }
        template = "ranking/_page.html" if request.htmx else "ranking/ranked.html"
        return render(request, template, context)


def _recommended(request: AuthenticatedRequest) -> list[FeedItem]:
    """What the end of an order recommends; nothing for HEAD, which shows nothing."""
    return recommended_posts(request.user, limit=RECOMMENDED) if request.method == "GET" else []


@require_POST
@login_required
def algorithm(request: AuthenticatedRequest) -> HttpResponseBase:
    old = algorithm_of(request.user).name
    if choose_algorithm(request.user, request.POST.get("algorithm", "")).name != old:
        messages.success(request, _("Saved."))
    return SeeOther(next_url(request, default="/ranked"))
