"""The address of the stream that pages subscribe to."""

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.http.requests import SiteRequest, viewer_of
from apps.notifications.queries import home_read_id
from apps.streaming.server import ROOT
from apps.streaming.tickets import ticket_for


@require_safe
@never_cache
def stream_ticket(request: SiteRequest) -> HttpResponseBase:
    """The URL of the viewer's stream, valid for an hour, and the id up to which home is read. 204 without a login."""
    viewer = viewer_of(request)
    token = ticket_for(viewer, request.session.session_key) if viewer else None
    if viewer is None or token is None:
        return HttpResponse(status=204)
    address = f"{settings.STREAMING_URL}{ROOT}/user?access_token={token}"
    # pages are connected only while visible; the id shows how far home was read elsewhere in the meantime
    return JsonResponse({"address": address, "home_read_id": str(home_read_id(viewer) or "")})
