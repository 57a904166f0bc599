"""The ranked timeline, and the setting that weighs it."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.filters.models import FilterContext
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, next_url
from apps.timeline.pipeline.filters import apply_filters
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.ranking.ordering import RankCursor, choose_preset, preset_of, ranked_page
from apps.timeline.ranking.reasons import Contribution, contributions, reason_text
from apps.timeline.ranking.scoring import Preset, Scored
from feedcache.timing import stage


@dataclass(frozen=True, slots=True)
class Row:
    """An item of the page; `template` renders its explanation below the card."""

    item: FeedItem
    place: int
    scored: Scored
    template: str = ""
    text: str = ""
    factors: tuple[Contribution, ...] = ()

    @classmethod
    def explained(cls, item: FeedItem, place: int, scored: Scored, preset: Preset) -> "Row":
        return cls(
            item,
            place,
            scored,
            "ranking/_reasons.html",
            reason_text(scored, preset, item.shown.author.handle),
            tuple(contributions(scored, preset)),
        )


@require_safe
@login_required
def ranked(request: AuthenticatedRequest) -> HttpResponse:
    """The viewer's ranked timeline; with `why=1` each post shows the factors of its score."""
    viewer, why = request.user, request.GET.get("why") == "1"
    cursor = RankCursor.from_query(request.GET)
    page = ranked_page(viewer, session_id=cursor.session, after=cursor.after, limit=cursor.limit)
    with stage("present"):
        items = {item.id: item for item in apply_filters(viewer, FilterContext.HOME, page.items)}
        entries = [
            (items[entry.item.id], entry.place, entry.scored)
            for entry in page.entries
            if entry.item.id in items
        ]
        rows = [Row.explained(*entry, page.preset) if why else Row(*entry) for entry in entries]
        context = {
            "page": page,
            "rows": rows,
            "why": why,
            "here": "home",
            "presets": Preset.choices,
            "preset": page.preset.value,
            "is_continued": cursor.session is not None,
        }
        template = "ranking/_page.html" if request.htmx else "ranking/ranked.html"
        return render(request, template, context)


@require_POST
@login_required
def preset(request: AuthenticatedRequest) -> HttpResponseBase:
    old = preset_of(request.user)
    if choose_preset(request.user, request.POST.get("preset", "")) != old:
        messages.success(request, _("Saved."))
    return SeeOther(next_url(request, default="/ranked"))
