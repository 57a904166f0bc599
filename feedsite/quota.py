"""How many requests of a program are answered: exact counts in Redis. `remaining` says in every answer what is left.

Who shows a token is counted as its account, or as its application; everybody else by address, and so is whoever shows a
token that is not good. Requests that are refused count too.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.accounts.models import User
from apps.accounts.visitors import client_address
from apps.caches.ratelimit import Verdict, count
from apps.oauth.queries import Bearer
from apps.refusals import TooMany

NOTE = "_quota"  # on the request: which limit it was counted against, and the verdict


class Quota(BaseThrottle):
    """Counts a request once it is known whose it is."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """True, or TooMany."""
        verdict = count_request(request._request, *_subject(request))  # noqa: SLF001 -- DRF has no public name for it
        if not verdict.allowed:
            raise TooMany(_("Too many requests."), retry_after=verdict.retry_after)
        return True


def _subject(request: Request) -> tuple[str, str]:
    if isinstance(request.user, User):
        return "api", str(request.user.pk)
    if isinstance(request.auth, Bearer):
        return "api", request.auth.key
    return "api_address", client_address(request._request)  # noqa: SLF001 -- as above


def count_request(request: HttpRequest, name: str, subject: str) -> Verdict:
    """Count a request against one of `RATE_LIMITS`, and note on it what came of it."""
    limit, seconds = settings.RATE_LIMITS[name]
    verdict = count(name, subject, limit=limit, seconds=seconds)
    setattr(request, NOTE, (name, verdict))
    return verdict
