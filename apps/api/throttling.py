"""DRF's throttle, which counts API requests. `apps.throttling` contains the limits that actions check.

Requests with a valid token count against its account, or against the token if it belongs to no account. All others
count against their IP address: those without a valid token, and those that end before the throttle and were not counted
while the token was looked up. Requests beyond a limit count too, unless `refuse_early` refuses them.
"""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.utils import translation
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.accounts.models import User
from apps.http.interfaces import InterfaceClass, class_of
from apps.http.requests import client_address
from apps.oauth.queries import Bearer, remembered_token
from apps.throttling import REFUSED_EARLY, rate_limit, require_allowed
from feedcache.read_through import Batch, Future
from feedcache.structures.rate_limit import (
    RateLimitResult,
    count_each,
    known_refusal,
    queue_count,
)

# keys in `request.META`: for the name and result of the limit on requests, and for the result of the action's limit
RATE_LIMIT, ACTION_LIMIT = "feedsite.rate_limit", "feedsite.action_limit"


class ApiThrottle(BaseThrottle):
    """Counts a request after its authentication; `RateLimitMiddleware` adds the headers."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Return True, or raise TooMany."""
        if RATE_LIMIT in request.META:  # counted while the token was looked up
            require_allowed([request.META[RATE_LIMIT][1]])
        elif isinstance(request.user, User):
            count_request(request, "api", str(request.user.pk))
        elif isinstance(request.auth, Bearer):
            count_request(request, "api", request.auth.key)
        else:
            count_by_address(request)
        return True


def refuse_early(request: HttpRequest) -> None:
    """Raise TooMany if this process knows that the limit is used up, so that refusing many requests costs little.

    If the token was revoked after this process read it, the request gets TooMany, not 401, until the window ends.
    """
    token = bearer_token(request)
    if token is None:
        name, subject = "api_address", client_address(request)
    elif (known := remembered_token(token)) is not None:
        name, subject = "api", str(known.user_id)
    else:
        return
    name = _limit_name(request, name)
    refusal = known_refusal(rate_limit(name, subject))
    if refusal is None:
        return
    request.META[RATE_LIMIT] = name, refusal
    request.META[REFUSED_EARLY] = True
    with translation.override(translation.get_language_from_request(request)):
        require_allowed([refusal])


def bearer_token(request: HttpRequest | Request) -> str | None:
    """The token of `Authorization: Bearer TOKEN`; None without such a header."""
    scheme, _blank, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return token if scheme.lower() == "bearer" else None


def count_by_address(request: HttpRequest | Request) -> None:
    """Count a request by its IP address. Raises TooMany."""
    count_request(request, "api_address", client_address(request))


def count_request(request: HttpRequest | Request, name: str, subject: str) -> None:
    """Count a request against the limit for its class of interfaces; store the result in `META`. Raises TooMany."""
    name = _limit_name(request, name)
    result = count_each([rate_limit(name, subject)])[0]
    request.META[RATE_LIMIT] = name, result
    require_allowed([result])


class Counted(NamedTuple):
    """Queued counts: the name of the request's limit, and the results once the batch has been executed."""

    name: str
    request: Future[RateLimitResult]
    action: Future[RateLimitResult] | None  # the result for the action of the view (`endpoint`)


def queue_request(batch: Batch, request: Request, user_id: int, *, with_action: bool) -> Counted:
    """Queue the count of a request for an account and, `with_action`, of the action of its view."""

    def queue(name: str) -> Future[RateLimitResult]:
        return queue_count(batch, rate_limit(name, str(user_id)))

    name, limit = _limit_name(request, "api"), ""
    if with_action and request.method == "POST":
        limit = getattr(request.parser_context["view"], "action_limit", "")
    action = queue(limit) if limit else None
    return Counted(name, queue(name), action)


def note_counted(request: Request, counted: Counted) -> None:
    """Use the queued counts for the request. Call this only after its token was confirmed."""
    request.META[RATE_LIMIT] = counted.name, counted.request()
    if counted.action:
        request.META[ACTION_LIMIT] = counted.action()


def counted_action(request: Request) -> RateLimitResult | None:
    """The result of the limit that the action checks; None if it was not counted with the request."""
    return request.META.get(ACTION_LIMIT)


def give_back_action(request: Request) -> None:
    """Undo the count of the action, if it was counted with the request, because the action used up nothing."""
    if request.META.pop(ACTION_LIMIT, None):
        limit = request.parser_context["view"].action_limit
        count_each([rate_limit(limit, str(request.user.pk))], cost=-1)


def _limit_name(request: HttpRequest | Request, name: str) -> str:
    interface = class_of(request)
    return name if interface == InterfaceClass.CORE else f"{name}_{interface}"
