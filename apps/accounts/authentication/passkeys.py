"""Passkeys: WebAuthn ceremonies by django-otp-webauthn, with the rules of this site.

Every passkey is discoverable and verifies its user (by fingerprint, face or PIN): it counts as both factors and can log
in without a password. The session stores a challenge, which works once and expires after five minutes.
"""

import json
import struct
import time
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django_otp_webauthn.exceptions import OTPWebAuthnApiError
from django_otp_webauthn.helpers import WebAuthnHelper
from django_otp_webauthn.models import WebAuthnCredential
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from apps.accounts.authentication.second_factor import MAX_PASSKEYS, after_factor_added
from apps.accounts.models import User
from apps.errors import Invalid

ANSWER_MAX_CHARACTERS = 20_000
CHALLENGE_SECONDS = 300
ADDING, USING = "passkey_to_add", "passkey_to_use"
# The exceptions that the libraries raise for a malformed or invalid response.
_WRONG = (
    WebAuthnException,
    OTPWebAuthnApiError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    struct.error,
)


class Ceremony(WebAuthnHelper):
    """The library's ceremonies, restricted to passkeys: security keys without a PIN are refused."""

    def get_credential_name(self, user: User) -> str:
        return user.handle

    def get_credential_display_name(self, user: User) -> str:
        return user.name

    def get_generate_registration_options_kwargs(self, *, user: User) -> dict[str, Any]:
        """Require a passkey that is discoverable and verifies its user."""
        options: dict[str, Any] = super().get_generate_registration_options_kwargs(user=user)
        options["authenticator_selection"] = AuthenticatorSelectionCriteria(
            user_verification=UserVerificationRequirement.REQUIRED,
            resident_key=ResidentKeyRequirement.REQUIRED,
        )
        return options


def origin() -> str:
    """The only origin where passkeys work."""
    return str(settings.OTP_WEBAUTHN_ALLOWED_ORIGINS[0])


def can_use_passkeys(request: HttpRequest) -> bool:
    """Whether the request came to the only host where passkeys work."""
    return request.get_host() == urlsplit(origin()).netloc


def begin_registration(request: HttpRequest, user: User) -> dict[str, Any]:
    """Options for the browser to create a passkey. Raises Invalid if the account has the maximum number of passkeys."""
    if WebAuthnCredential.objects.filter(user=user).count() >= MAX_PASSKEYS:
        raise Invalid(_("You can have up to %(count)d passkeys.") % {"count": MAX_PASSKEYS})
    options, state = Ceremony(request).register_begin(user)
    _store_challenge(request, ADDING, user, state)
    return dict(options)


def finish_registration(
    request: HttpRequest, user: User, *, name: str, answer: str
) -> tuple[Any, list[str]]:
    """Save a passkey; returns it, and recovery codes if it is the first factor. Raises Invalid for a bad response."""
    state = _challenge(request, ADDING, user)
    try:
        with transaction.atomic():
            passkey = Ceremony(request).register_complete(user, state, _read(answer))
            passkey.name = name
            passkey.save(update_fields=["name"])
            return passkey, after_factor_added(user, "passkey")
    except IntegrityError:  # this or another account already has the passkey
        raise _invalid() from None
    except _WRONG:
        raise _invalid() from None


def begin_authentication(request: HttpRequest, user: User | None) -> dict[str, Any]:
    """Options for the browser to verify a passkey of `user`, or any passkey if `user` is None."""
    options, state = Ceremony(request).authenticate_begin(user, require_user_verification=True)
    _store_challenge(request, USING, user, state)
    return dict(options)


def finish_authentication(request: HttpRequest, user: User | None, *, answer: str) -> Any:
    """The verified passkey. Raises Invalid if the response is invalid or the account is frozen or suspended."""
    state = _challenge(request, USING, user)
    try:
        with transaction.atomic():
            passkey = Ceremony(request).authenticate_complete(user, state, _read(answer))
    except _WRONG:
        raise _invalid() from None
    if not passkey.confirmed or not passkey.user.is_active:
        raise _invalid()
    return passkey


def _store_challenge(
    request: HttpRequest, name: str, user: User | None, state: dict[str, Any]
) -> None:
    request.session[name] = {
        "user": user.pk if user else None,
        "until": int(time.time()) + CHALLENGE_SECONDS,
        "state": state,
    }


def _challenge(request: HttpRequest, name: str, user: User | None) -> dict[str, Any]:
    """Remove and return the session's challenge, which works once. Raises Invalid unless it is valid and for `user`."""
    stored = request.session.pop(name, None)
    request.session.save()
    if not stored or stored["until"] < time.time() or stored["user"] != (user.pk if user else None):
        raise _invalid()
    return dict(stored["state"])


def _read(answer: str) -> dict[str, Any]:
    data = json.loads(answer[:ANSWER_MAX_CHARACTERS])
    if not isinstance(data, dict):
        raise TypeError("the answer is not an object")
    return data


def _invalid() -> Invalid:
    return Invalid(_("This passkey was not accepted."))
