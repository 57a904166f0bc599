"""The posts on the home timeline that are newer than the newest post that the reader has read."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.errors import BadRequest
from apps.http.requests import AuthenticatedRequest, login_required
from apps.notifications.queries import unread_and_home_read_id
from apps.timeline.history import catch_up as timeline

ORDERS = ("author", "reactions")


@require_safe
@login_required
def catch_up(request: AuthenticatedRequest) -> HttpResponse:
    """At most 200 unread posts of the last week, grouped by author or, with `by=reactions`, ordered by reactions."""
    order = request.GET.get("by") or ORDERS[0]
    if order not in ORDERS:
        raise BadRequest(_("Choose one of the options."))
    unread, read_id = unread_and_home_read_id(request.user)
    context = {
        "found": timeline.catch_up(request.user, read_id),
        "order": order,
        "read_id": read_id,
        "days": timeline.MAX_DAYS,
        **unread._asdict(),
        "here": "home",
    }
    return render(request, "timeline/catch_up.html", context)
