"""Pages that explain why a post is on the home page, or why it is not."""

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.accounts.staff import is_permitted
from apps.audit.explain.assembly import Show, assembly
from apps.audit.explain.checklist import Checklist, checklist, post_id_in
from apps.audit.explain.reasons import Source, explain
from apps.errors import NotFound
from apps.http.requests import AuthenticatedRequest, login_required
from apps.http.verification import may_act_as_staff, redirect_to_second_factor
from apps.paging import Cursor, Page
from apps.timeline.ranking.ordering import newest_scores
from apps.timeline.ranking.reasons import contributions

ADDRESS_MAX_CHARACTERS = 300


@require_safe
@login_required
def post(request: AuthenticatedRequest, post_id: int) -> HttpResponse:
    explanation = explain(request.user, post_id)
    context: dict[str, Any] = {"page": Page([explanation]), "here": "home"}
    preset, scores = newest_scores(request.user)
    if (scored := scores.get(post_id)) is not None:
        context |= {"scored": scored, "factors": contributions(scored, preset)}
    return render(request, "audit/explain.html", context)


@require_safe
@login_required
def home(request: AuthenticatedRequest) -> HttpResponse:
    """How a page of the viewer's home was assembled, and with `post` why a post is missing."""
    address = request.GET.get("post", "")[:ADDRESS_MAX_CHARACTERS]
    checks = _checks(request.user, address) if address else None
    return _home_page(request, request.user, {"address": address, "checks": checks})


@require_safe
@login_required
def home_of(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    """The same for another account, for staff; without the text of restricted posts."""
    if not is_permitted(request.user, "accounts.view_user"):
        raise NotFound(_("This page isn't here. It may have been deleted or the address is wrong."))
    if not may_act_as_staff(request):
        return redirect_to_second_factor(request)
    owner = user_by_handle(handle)
    return _home_page(request, owner, {"owner": owner})


def _home_page(
    request: AuthenticatedRequest, reader: User, context: dict[str, Any]
) -> HttpResponse:
    assembled = assembly(reader, Cursor.from_query(request.GET))
    show, way = request.GET.get("show", ""), request.GET.get("way", "")
    way = way if way in Source.values else ""
    context |= {
        "assembly": assembled,
        "rows": assembled.chosen(show if show in Show.values else "", way),
        "shows": Show.choices,
        "show": show,
        "way": way,
        "cursor": request.GET.get("max_id", ""),
        "here": "home",
        "feed_url": request.path,
    }
    return render(request, "audit/home.html", context)


def _checks(viewer: User, address: str) -> Checklist:
    """Text that is not the address of a post is answered like a post that does not exist."""
    return checklist(viewer, post_id_in(address) or 0)
