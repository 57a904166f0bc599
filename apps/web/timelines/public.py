"""The public timeline."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from apps.http.requests import SiteRequest, viewer_of
from apps.pagination import Cursor
from apps.timeline.public import public_timeline
from apps.web.feed import render_feed


@require_safe
def public(request: SiteRequest) -> HttpResponse:
    page = public_timeline(viewer_of(request), Cursor.from_query(request.GET, by_time=True))
    return render_feed(
        request,
        "timeline/public.html",
        page,
        here="public",
        feed_url="/public",
    )
