"""Dismiss an announcement."""

from django.http import HttpResponseBase
from django.views.decorators.http import require_POST

from apps.announcements.actions import dismiss_announcement
from apps.announcements.queries import current_announcement
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, next_url


@require_POST
@login_required
def dismiss(request: AuthenticatedRequest, announcement_id: int) -> HttpResponseBase:
    dismiss_announcement(request.user, current_announcement(announcement_id))
    return SeeOther(next_url(request, "/notifications"))
