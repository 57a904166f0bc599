"""The bookmarks of the viewer, and the posts that they like."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from apps.http.requests import AuthenticatedRequest, login_required
from apps.pagination import Cursor
from apps.timeline.list import bookmarks_timeline, favourites_timeline
from apps.web.feed import render_feed


@require_safe
@login_required
def bookmarks(request: AuthenticatedRequest) -> HttpResponse:
    page = bookmarks_timeline(request.user, Cursor.from_query(request.GET))
    return render_feed(
        request, "timeline/bookmarks.html", page, here="bookmarks", feed_url="/bookmarks"
    )


@require_safe
@login_required
def likes(request: AuthenticatedRequest) -> HttpResponse:
    page = favourites_timeline(request.user, Cursor.from_query(request.GET))
    return render_feed(request, "timeline/likes.html", page, here="likes", feed_url="/likes")
