"""The page with the timeline of a list."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from apps.graph.groups.queries import own_group
from apps.graph.models import UserList
from apps.http.requests import AuthenticatedRequest, login_required
from apps.pagination import Cursor
from apps.timeline.list import list_timeline
from apps.web.feed import render_feed


@require_safe
@login_required
def list_page(request: AuthenticatedRequest, list_id: int) -> HttpResponse:
    own = own_group(UserList, request.user, list_id)
    page = list_timeline(request.user, own, Cursor.from_query(request.GET, by_time=True))
    context: dict[str, Any] = {"list": own, "here": "lists", "feed_url": request.path}
    return render_feed(request, "timeline/list.html", page, **context)
