"""The home page, and for visitors the landing page."""

import time
from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.actions import update_settings
from apps.accounts.models import User
from apps.errors import BadRequest
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    login_required,
    next_url,
    viewer_of,
)
from apps.languages import page_language
from apps.notifications.actions import mark_read
from apps.notifications.models import ReadMarker
from apps.notifications.queries import unread_and_home_read_id
from apps.pagination import Cursor, Page
from apps.timeline.history.unread import ReadPosition, get_activity, may_have_unread
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.public import public_timeline
from apps.web.feed import render_feed
from apps.web.forms.accounts import SignUpForm
from apps.web.forms.posts import HOME_COMPOSER
from apps.web.home_composer import home_composer_context
from apps.web.people.people_to_follow import people_to_follow_context
from feedcache.ids import parse_id, second_of

MAX_NEW_SHOWN = 40
FACES = 3
LONG_AGO = 24 * 3600  # seconds; the page offers to catch up if the newest read post is older
TOUR_COOKIE, YEAR = "tour", 365 * 24 * 3600
STOP_POLLING = 286  # htmx stops polling when it gets this status


@require_safe
def front(request: SiteRequest) -> HttpResponseBase:
    """The home page for logged-in users; an introduction to the site and the public timeline for visitors."""
    return home(request) if viewer_of(request) else landing(request)


def landing(request: SiteRequest) -> HttpResponse:
    page = public_timeline(None, Cursor.from_query(request.GET, by_time=True))
    return render_feed(
        request,
        "timeline/landing.html",
        page,
        here="home",
        feed_url="/public",
        by_hand=True,
        form=SignUpForm(auto_id="join_%s"),
    )


@require_safe
@login_required
def home(request: AuthenticatedRequest) -> HttpResponse:
    cursor = Cursor.from_query(request.GET, by_time=True)
    page = home_timeline(request.user, cursor)
    # on pages loaded by htmx, the script draws the line itself
    left_off = {} if request.htmx else _left_off(request.user, page, cursor)
    is_empty = not page.items and cursor == Cursor()
    begin = people_to_follow_context(request.user, [page_language()]) if is_empty else {}
    return render_feed(
        request,
        "timeline/home.html",
        page,
        here="home",
        heading=_("Home"),
        feed_url="/",
        feed_label=pgettext("tab", "Following"),
        place=str(ReadPosition.of(page)),
        # htmx inserts a new post above the newest ones; on other pages, the composer works without htmx
        inline=HOME_COMPOSER if page.items and cursor == Cursor() else "",
        is_top=cursor.max_id is None,
        groups_reposts=request.user.groups_reposts,
        has_tour=settings.DEMO
        and bool(page.items)
        and cursor == Cursor()
        and TOUR_COOKIE not in request.COOKIES,
        **home_composer_context(request.user),
        **left_off,
        **begin,
    )


def _left_off(viewer: User, page: Page[FeedItem], cursor: Cursor) -> dict[str, Any]:
    """The context for the line "You left off here" or a link to it, the link to catch up, and the unread badges."""
    unread, read_id = unread_and_home_read_id(viewer)
    context = {
        **unread._asdict(),
        "has_place": True,
        "read_id": read_id or "",
        "newer": str(page.newer),
        "line_is_below": False,
        "is_long_ago": False,
    }
    if not page.items:
        return context
    newest, oldest = page.items[0].id, page.items[-1].id
    context["is_unread"] = newest > (read_id or 0)
    if read_id is None:
        return context
    has_newer = max(newest, cursor.max_id or 0) > read_id
    reaches_it = page.older is None or cursor.ascending
    is_at_end = oldest > read_id >= cursor.floor and reaches_it
    return context | {
        "line_id": read_id if has_newer and oldest <= read_id else None,
        "line_at_end": is_at_end,
        "line_is_below": oldest > read_id and not is_at_end,
        "is_long_ago": has_newer and second_of(read_id) < time.time() - LONG_AGO,
    }


@require_POST
@login_required
def mark_home(request: AuthenticatedRequest) -> HttpResponseBase:
    """Move the marker of the newest read post on home; it never moves back."""
    try:
        read_id = parse_id(request.POST.get("last_read_id", ""))
    except ValueError:
        raise BadRequest(_("This isn't the id of a post.")) from None
    mark_read(request.user, read_id, timeline=ReadMarker.Timeline.HOME)
    return HttpResponse(status=204) if request.htmx else SeeOther(next_url(request))


@require_POST
@login_required
def hide_read(request: AuthenticatedRequest) -> HttpResponseBase:
    """Hide the posts on the home page that the reader has already read, or show them again."""
    choice = request.POST.get("hides_read")
    if choice not in {"on", "off"}:
        raise BadRequest(_("Choose one of the options."))
    update_settings(request.user, hides_read=choice == "on")
    return SeeOther("/")


@require_POST
def end_tour(_request: SiteRequest) -> HttpResponseBase:
    """Close the tour of the demo site in this browser."""
    response = SeeOther("/")
    secure = settings.SECURE_COOKIES
    response.set_cookie(TOUR_COOKIE, "over", max_age=YEAR, samesite="Lax", secure=secure)
    return response


@require_safe
def home_new(request: SiteRequest) -> HttpResponseBase:
    """A link with the number of posts by others that arrived after `last_id`, without promoted ones; 204 if none did.

    `last_id` is a `ReadPosition` or a post id. All late arrivals are counted, and newer posts up to MAX_NEW_SHOWN.
    """
    viewer = viewer_of(request)
    if not request.htmx:
        return redirect("front")
    if viewer is None:
        return HttpResponse(status=STOP_POLLING)
    last_id = request.GET.get("last_id") or "0"
    if not may_have_unread(viewer, ReadPosition.parse(last_id)):
        return HttpResponse(status=204)
    unread = get_activity(viewer, last_id, limit=MAX_NEW_SHOWN)
    news = [item for item in unread.items if item.author.pk != viewer.pk and not item.promotion]
    if not news:
        return HttpResponse(status=204)
    faces = list({item.author.pk: item.author for item in news}.values())[:FACES]
    context = {"number": len(news), "more": unread.more, "people": faces}
    return render(request, "timeline/_pill.html", context)
