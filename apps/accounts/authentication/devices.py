"""The device an account was logged in from before: a signed cookie, so that its guesses have a limit of their own.

Who attacks an account can use up the limits of everybody else, not this one. With a new password old cookies are worth nothing.
"""

import secrets
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import constant_time_compare

from apps.accounts.models import User

COOKIE = "device"
SALT = "apps.accounts.authentication.devices"
SECONDS = 365 * 24 * 3600
_PROOF_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Device:
    """A device, and the account that has been logged in from it."""

    user: User
    key: str


def known_device(request: HttpRequest) -> Device | None:
    """The device that asks, if an account has been logged in from it since its last new password."""
    said = _read(request)
    if said is None:
        return None
    number, name, proof = said
    user = User.objects.filter(pk=number).first()
    if user is None or not constant_time_compare(proof, _proof(user)):
        return None
    return Device(user, f"{number} {name}")


def remember_device(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Let the answer to a login say that the account knows this device; one that it knew keeps its name."""
    said = _read(request)
    name = said[1] if said and said[0] == user.pk else secrets.token_urlsafe(12)
    response.set_cookie(
        COOKIE,
        signing.dumps([user.pk, name, _proof(user)], salt=SALT),
        max_age=SECONDS,
        secure=settings.SECURE_COOKIES,
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest) -> Any:
    try:
        return signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return None


def _proof(user: User) -> str:
    return user.get_session_auth_hash()[:_PROOF_CHARACTERS]
