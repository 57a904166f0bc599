"""Passkeys: the ceremonies of WebAuthn, by django-otp-webauthn, with this site's rules.

Every passkey is discoverable and verifies its person (a finger, a face, a PIN): so one of them is both factors at once, and may
log in without a password. A challenge is in the session, used once, and forgotten after five minutes.
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

from apps.accounts.authentication.second_factor import MAX_PASSKEYS, added
from apps.accounts.models import User
from apps.errors import Invalid

ANSWER_MAX_CHARACTERS = 20_000
CHALLENGE_SECONDS = 300
ADDING, USING = "passkey_to_add", "passkey_to_use"
# What the libraries raise for an answer that is none, or is not right.
_WRONG = (
    WebAuthnException, OTPWebAuthnApiError, ValueError, LookupError, TypeError, AttributeError, RecursionError, struct.error,
)  # fmt: skip


class Ceremony(WebAuthnHelper):
    """The library's, for passkeys only: no security keys that work without a PIN."""

    def get_credential_name(self, user: User) -> str:
        """What the person's device calls the account."""
        return user.handle

    def get_credential_display_name(self, user: User) -> str:
        """And what it shows."""
        return user.name

    def get_generate_registration_options_kwargs(self, *, user: User) -> dict[str, Any]:
        """What a new passkey has to be."""
        asked: dict[str, Any] = super().get_generate_registration_options_kwargs(user=user)
        asked["authenticator_selection"] = AuthenticatorSelectionCriteria(
            user_verification=UserVerificationRequirement.REQUIRED,
            resident_key=ResidentKeyRequirement.REQUIRED,
        )
        return asked


def origin() -> str:
    """The one origin at which passkeys work."""
    return str(settings.OTP_WEBAUTHN_ALLOWED_ORIGINS[0])


def work_here(request: HttpRequest) -> bool:
    """Whether the page is at that origin, as far as its name tells."""
    return request.get_host() == urlsplit(origin()).netloc


def begin_adding(request: HttpRequest, user: User) -> dict[str, Any]:
    """What the browser is asked for a new passkey. Invalid when there are enough."""
    if WebAuthnCredential.objects.filter(user=user).count() >= MAX_PASSKEYS:
        raise Invalid(_("At most %(count)d passkeys.") % {"count": MAX_PASSKEYS})
    options, state = Ceremony(request).register_begin(user)
    _keep(request, ADDING, user, state)
    return dict(options)


def finish_adding(
    request: HttpRequest, user: User, *, name: str, answer: str
) -> tuple[Any, list[str]]:
    """The new passkey, and recovery codes if there were none. Invalid when the browser's answer is not right."""
    state = _challenge(request, ADDING, user)
    try:
        with transaction.atomic():
            passkey = Ceremony(request).register_complete(user, state, _read(answer))
            passkey.name = name
            passkey.save(update_fields=["name"])
            return passkey, added(user, "passkey")
    except IntegrityError:  # it belongs to an account already
        raise _refused() from None
    except _WRONG:
        raise _refused() from None


def begin_using(request: HttpRequest, user: User | None) -> dict[str, Any]:
    """What the browser is asked for a passkey of a user; of anybody, to log in without saying who."""
    options, state = Ceremony(request).authenticate_begin(user, require_user_verification=True)
    _keep(request, USING, user, state)
    return dict(options)


def finish_using(request: HttpRequest, user: User | None, *, answer: str) -> Any:
    """The passkey that answered. Invalid when the answer is not right, or the account may not log in."""
    state = _challenge(request, USING, user)
    try:
        with transaction.atomic():
            passkey = Ceremony(request).authenticate_complete(user, state, _read(answer))
    except _WRONG:
        raise _refused() from None
    if not passkey.confirmed or not passkey.user.is_active:
        raise _refused()
    return passkey


def _keep(request: HttpRequest, name: str, user: User | None, state: dict[str, Any]) -> None:
    request.session[name] = {
        "user": user.pk if user else None,
        "until": int(time.time()) + CHALLENGE_SECONDS,
        "state": state,
    }


def _challenge(request: HttpRequest, name: str, user: User | None) -> dict[str, Any]:
    """What was asked, once: it is gone from the session before the answer is looked at."""
    kept = request.session.pop(name, None)
    request.session.save()
    if not kept or kept["until"] < time.time() or kept["user"] != (user.pk if user else None):
        raise _refused()
    return dict(kept["state"])


def _read(answer: str) -> dict[str, Any]:
    said = json.loads(answer[:ANSWER_MAX_CHARACTERS])
    if not isinstance(said, dict):
        raise TypeError("the answer is no object")
    return said


def _refused() -> Invalid:
    return Invalid(_("This passkey was not accepted."))
