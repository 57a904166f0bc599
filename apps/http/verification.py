"""What a session has shown: after the password a second factor, where the account has one; and what waits for it.

A person with a second factor is not logged in by the password: the session only says who may go on to `/login/code`, for five
minutes and five tries. It is nobody's session until then.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils.crypto import constant_time_compare
from django_htmx.http import HttpResponseClientRedirect
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp import login as mark_verified
from django_otp.models import Device
from rest_framework.request import Request

from apps.accounts.authentication.devices import remember_device
from apps.accounts.authentication.second_factor import is_on
from apps.accounts.models import Login, User
from apps.http.requests import AuthenticatedRequest, SeeOther, SiteRequest, next_url, viewer_of

PENDING, FAILURES = "pending_login", "second_factor_failures"
PENDING_SECONDS = 300
TRIES = 5
CODE_URL, SETUP_URL = "/login/code", "/settings/security"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who has to show a second factor in this session, and where to go on to afterwards."""

    user: User
    onward: str


def begin_login(request: SiteRequest, user: User, onward: str) -> HttpResponseBase:
    """After the right password: log in, or go on to the page that asks for the second factor."""
    if not is_on(user):
        login(request, user)
        return let_in(request, user, onward)
    request.session[PENDING] = {
        "user": user.pk,
        "password": user.get_session_auth_hash(),  # a new password ends what the old one began
        "until": int(time.time()) + PENDING_SECONDS,
        "onward": onward,
    }
    request.session.cycle_key()
    return SeeOther(CODE_URL)


def let_in(request: SiteRequest, user: User, onward: str) -> HttpResponseBase:
    """The answer to who is logged in now: on to where they wanted to go. The account knows this device from here on."""
    response = SeeOther(onward)
    remember_device(request, response, user)
    return response


def clear_pending_login(request: SiteRequest) -> None:
    """Begin again, perhaps as somebody else."""
    for name in (PENDING, FAILURES):
        request.session.pop(name, None)


def pending_login(request: SiteRequest) -> Candidate | None:
    """Who has shown the password in this session and has to show the second factor; None where there is nobody."""
    viewer = viewer_of(request)
    if viewer is not None:
        waits = not has_second_factor(request) and is_on(viewer)
        return Candidate(viewer, next_url(request)) if waits else None
    said = request.session.get(PENDING)
    if not said:
        return None
    user = User.objects.filter(pk=said["user"], is_active=True, suspended_at=None).first()
    same = user is not None and constant_time_compare(said["password"], user.get_session_auth_hash())  # fmt: skip
    if user is None or not same or said["until"] < time.time() or not is_on(user):
        del request.session[PENDING]
        return None
    return Candidate(user, said["onward"])


def has_failed(request: SiteRequest) -> bool:
    """Count a wrong code; whether that was the last try. Then the session is over: it begins with the password again."""
    failures = request.session.get(FAILURES, 0) + 1
    request.session[FAILURES] = failures
    if failures >= TRIES:
        request.session.flush()
    return bool(failures >= TRIES)


def passed(request: SiteRequest, user: User, device: Any) -> None:
    """A second factor was shown: log in, or mark the session of who is logged in. The session gets another key."""
    clear_pending_login(request)
    if viewer_of(request) is None:
        login(request, user)
    else:
        before = request.session.session_key
        request.session.cycle_key()
        own = Login.objects.filter(session_key=before)
        own.update(session_key=request.session.session_key)
    mark_verified(request, device)
    logger.info("second factor of user %d: shown", user.pk)


def has_second_factor(request: HttpRequest | Request) -> bool:
    """Whether who asks has shown a second factor that the account still has.

    A program cannot show one. Its token counts where the account has one: tokens from before end when it is turned on, and
    later ones are given only to sessions that have shown it.
    """
    viewer = viewer_of(request)
    if viewer is None:
        return False
    if isinstance(request, Request):
        return is_on(viewer)
    if not hasattr(viewer, "otp_device"):
        name = request.session.get(DEVICE_ID_SESSION_KEY)
        device = Device.from_persistent_id(name) if name else None
        is_own = device is not None and device.user_id == viewer.pk and device.confirmed
        viewer.otp_device = device if is_own else None  # type: ignore[attr-defined]  # as django-otp's middleware does
    return getattr(viewer, "otp_device", None) is not None


def may_act_as_staff(request: HttpRequest | Request) -> bool:
    """Whether who asks is staff, and has shown a second factor if the site or the account wants one."""
    viewer = viewer_of(request)
    if viewer is None or not viewer.is_staff:
        return False
    return has_second_factor(request) or not (settings.STAFF_SECOND_FACTOR or is_on(viewer))


def redirect_to_second_factor(request: SiteRequest) -> HttpResponseBase:
    """On to the page where it is shown, or set up by who has none; from there back."""
    viewer = viewer_of(request)
    page = CODE_URL if viewer and is_on(viewer) else SETUP_URL
    reading = request.method in {"GET", "HEAD"}
    back = request.get_full_path() if reading else next_url(request)
    address = f"{page}?{urlencode({'next': back})}"
    if request.htmx:
        return cast("HttpResponse", HttpResponseClientRedirect(address))
    return HttpResponseRedirect(address) if reading else SeeOther(address)


def second_factor_required(
    view: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """For who has a second factor and has not shown it in this session: first that. Below `login_required`."""

    @wraps(view)
    def inner(request: AuthenticatedRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not has_second_factor(request) and is_on(request.user):
            return redirect_to_second_factor(request)
        return view(request, *args, **kwargs)

    return inner
