"""What members do with announcements on pages."""

from django.http import HttpResponseBase
from django.views.decorators.http import require_POST

from apps.announcements.actions import dismiss_announcement
from apps.announcements.queries import current_announcement
from apps.http.requests import MemberVisit, SeeOther, next_address, signed_in_only


@require_POST
@signed_in_only
def dismiss(request: MemberVisit, announcement_id: int) -> HttpResponseBase:
    """Note that it has been read, and go back."""
    dismiss_announcement(request.user, current_announcement(announcement_id))
    return SeeOther(next_address(request, "/notifications"))
