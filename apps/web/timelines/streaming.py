"""How pages come to listen."""

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.http.requests import SiteRequest, viewer_of
from apps.streaming.server import ROOT
from apps.streaming.tickets import ticket_for


@require_safe
@never_cache
def ticket(request: SiteRequest) -> HttpResponseBase:
    """Where to listen to what is new on the viewer's home page, for an hour; 204 for who cannot."""
    viewer = viewer_of(request)
    made = ticket_for(viewer, request.session.session_key) if viewer else None
    if made is None:
        return HttpResponse(status=204)
    return JsonResponse({"address": f"{settings.STREAMING_URL}{ROOT}/user?access_token={made}"})
