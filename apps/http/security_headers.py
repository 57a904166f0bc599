"""The default security headers of all responses, including static files and health probes."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

# Browser features that no page uses; passkeys, sharing and the clipboard are used, so they are not listed. Names that
# browsers do not know are left out, because browsers log a warning about them.
REFUSED = (
    "accelerometer", "browsing-topics", "camera", "display-capture", "geolocation", "gyroscope", "hid",
    "idle-detection", "local-fonts", "magnetometer", "microphone", "midi", "otp-credentials", "payment",
    "private-state-token-issuance", "screen-wake-lock", "serial", "sync-xhr", "usb", "window-management",
    "xr-spatial-tracking",
)  # fmt: skip
# Headers set by views, django-csp and Django's own middleware take precedence.
DEFAULTS = {
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in REFUSED),
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# Applications may open the consent page in a window. With `same-origin`, this window would look closed to them.
CONSENT = "/oauth/authorize"
OPENED = {CONSENT, "/login/code", "/login/passkey"}


class SecurityHeadersMiddleware:
    """Sets the default headers. It must precede every middleware that responds."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        for name, value in DEFAULTS.items():
            if name != "X-Frame-Options" or not getattr(response, "xframe_options_exempt", False):
                response.headers.setdefault(name, value)
        if _leads_to_consent(request):
            response.headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
        return response


def _leads_to_consent(request: HttpRequest) -> bool:
    """Whether the request is for the consent page, or for a page of the login that may lead to it."""
    if request.path == "/login":
        # only for this `next`: a redirect to any other page would tell the opener that the visitor is logged in
        return request.GET.get("next", "").partition("?")[0] == CONSENT
    return request.path in OPENED
