"""The Content-Security-Policy of answers: the site's own, put together once, unless a view changed something of it."""

from collections.abc import Callable

from csp.middleware import CSPMiddleware
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

_CHANGES = ("_csp_config", "_csp_update", "_csp_replace", "_csp_exempt")
_HEADER = "Content-Security-Policy"


class PolicyMiddleware(CSPMiddleware):
    """As the library does it; what is the same for every page is not put together for every page, which took 3 % of one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self._usual: tuple[object, str] = (None, "")

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Add the header."""
        is_changed = any(hasattr(response, name) for name in _CHANGES) or _HEADER in response
        if is_changed or settings.DEBUG or getattr(request, "_csp_nonce", None):
            return super().process_response(request, response)
        made_of, policy = self._usual
        if made_of is settings.CONTENT_SECURITY_POLICY:
            response.headers[_HEADER] = policy
            return response
        done = super().process_response(request, response)
        self._usual = settings.CONTENT_SECURITY_POLICY, done.headers.get(_HEADER, "")
        return done
