"""The steps of a login, and whether a session has passed the second factor.

If an account has a second factor, the password alone does not log its owner in: the session stores a pending login, for
which `/login/code` accepts codes until PENDING_SECONDS have passed or MAX_FAILURES codes were wrong.
"""

import logging
import time
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import constant_time_compare
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp import login as mark_verified
from django_otp.models import Device
from rest_framework.request import Request

from apps.accounts.authentication.devices import remember_device
from apps.accounts.authentication.second_factor import has_second_factor
from apps.accounts.authentication.sessions import follow_session
from apps.accounts.models import User
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    View,
    next_url,
    redirect_and_back,
    viewer_of,
)

# Names in the session.
PENDING, FAILURES = "pending_login", "second_factor_failures"
PENDING_SECONDS = 300
MAX_FAILURES = 5
CODE_URL, SETUP_URL = "/login/code", "/settings/security"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """A user who still has to pass the second factor in this session, and the URL to redirect to afterwards."""

    user: User
    redirect_to: str


def begin_login(request: SiteRequest, user: User, redirect_to: str) -> HttpResponseBase:
    """Continue after a correct password: log in, or redirect to the page that asks for the second factor."""
    if not has_second_factor(user):
        login(request, user)
        return complete_login(request, user, redirect_to)
    request.session[PENDING] = {
        "user": user.pk,
        "password": user.get_session_auth_hash(),  # a new password ends the pending login
        "until": int(time.time()) + PENDING_SECONDS,
        "onward": redirect_to,
    }
    request.session.cycle_key()
    return SeeOther(CODE_URL)


def complete_login(request: SiteRequest, user: User, redirect_to: str) -> HttpResponseBase:
    """Redirect a user who has just logged in, and remember this device for the account."""
    response = SeeOther(redirect_to)
    remember_device(request, response, user)
    return response


def clear_pending_login(request: SiteRequest) -> None:
    for name in (PENDING, FAILURES):
        request.session.pop(name, None)


def pending_login(request: SiteRequest) -> PendingLogin | None:
    """The pending login of a session, or of a logged-in user who has not passed the second factor; None without one."""
    viewer = viewer_of(request)
    if viewer is not None:
        is_pending = not has_passed_second_factor(request) and has_second_factor(viewer)
        return PendingLogin(viewer, next_url(request)) if is_pending else None
    pending = request.session.get(PENDING)
    if not pending:
        return None
    user = User.objects.filter(pk=pending["user"], is_active=True, suspended_at=None).first()
    if user is None or not _is_valid(pending, user):
        del request.session[PENDING]
        return None
    return PendingLogin(user, pending["onward"])


def _is_valid(pending: dict[str, Any], user: User) -> bool:
    is_same_password = constant_time_compare(pending["password"], user.get_session_auth_hash())
    return is_same_password and pending["until"] >= time.time() and has_second_factor(user)


def record_failure(request: SiteRequest) -> bool:
    """Count a wrong code. After MAX_FAILURES wrong codes, ends the session and returns True."""
    failures = request.session.get(FAILURES, 0) + 1
    request.session[FAILURES] = failures
    if failures >= MAX_FAILURES:
        request.session.flush()
    return bool(failures >= MAX_FAILURES)


def pass_second_factor(request: SiteRequest, user: User, device: Any) -> None:
    """Log the user in if necessary, and mark the session as verified by `device`. The session's key changes."""
    clear_pending_login(request)
    if viewer_of(request) is None:
        login(request, user)
    else:
        old_key = request.session.session_key
        request.session.cycle_key()
        new_key = request.session.session_key
        if old_key and new_key:
            follow_session(old_key, new_key)
    mark_verified(request, device)
    logger.info("second factor of user %d: shown", user.pk)


def has_passed_second_factor(request: HttpRequest | Request) -> bool:
    """Whether the viewer has passed a second factor that the account still has.

    API clients cannot pass a second factor. But setting one up revokes all tokens, and new tokens are issued only to
    sessions that have passed it, or by `manage token`. So every token of an account with a second factor counts as
    verified.
    """
    viewer = viewer_of(request)
    if viewer is None:
        return False
    if isinstance(request, Request):
        return has_second_factor(viewer)
    if not hasattr(viewer, "otp_device"):
        device_id = request.session.get(DEVICE_ID_SESSION_KEY)
        device = Device.from_persistent_id(device_id) if device_id else None
        is_own = device is not None and device.user_id == viewer.pk and device.confirmed
        viewer.otp_device = device if is_own else None  # type: ignore[attr-defined]  # as django-otp's middleware does
    return getattr(viewer, "otp_device", None) is not None


def may_act_as_staff(request: HttpRequest | Request) -> bool:
    """Whether the viewer is staff, and has passed the second factor if the site or the account requires one."""
    viewer = viewer_of(request)
    if viewer is None or not viewer.is_staff:
        return False
    return has_passed_second_factor(request) or not (
        settings.STAFF_SECOND_FACTOR or has_second_factor(viewer)
    )


def redirect_to_second_factor(request: SiteRequest) -> HttpResponseBase:
    """Redirect to the page that asks for the second factor or sets one up, and then redirects back."""
    viewer = viewer_of(request)
    return redirect_and_back(
        request, CODE_URL if viewer and has_second_factor(viewer) else SETUP_URL
    )


def second_factor_required(view: View) -> View:
    """Require users with a second factor to pass it first. Apply it below `login_required`."""

    @wraps(view)
    def inner(request: AuthenticatedRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not has_passed_second_factor(request) and has_second_factor(request.user):
            return redirect_to_second_factor(request)
        return view(request, *args, **kwargs)

    return inner
