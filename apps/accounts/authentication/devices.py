"""Marks a device with a signed cookie after a login. Password guesses from a marked device are limited separately.

An attacker can use up the limit that all unknown devices share for an account, but not the limit of a marked device. A
new password invalidates old cookies.
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
    user: User
    key: str


def known_device(request: HttpRequest) -> Device | None:
    """The device of a request, if its cookie is at most a year old and the password has not changed since."""
    claims = _read(request)
    if claims is None:
        return None
    number, name, proof = claims
    user = User.objects.filter(pk=number).first()
    if user is None or not constant_time_compare(proof, _proof(user)):
        return None
    return Device(user, f"{number} {name}")


def remember_device(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Set the cookie on the response to a login or a password change.

    A device with a cookie of this account keeps its random name.
    """
    claims = _read(request)
    name = claims[1] if claims and claims[0] == user.pk else secrets.token_urlsafe(12)
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
