"""Second factors: an authenticator app, passkeys, and recovery codes for users who have lost both.

django-otp and django-otp-webauthn provide the tables and the checks. This module allows one app per account, stores
recovery codes as digests, and limits how long wrong codes can lock the owner out.
"""

import logging
import re
import secrets
from base64 import b32encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_otp_webauthn.models import WebAuthnCredential, WebAuthnUserHandle

from apps.accounts.models import User
from apps.accounts.signals import access_revoked
from apps.errors import Invalid, NotFound, TooMany

RECOVERY_CODES = 10
RECOVERY_CHARACTERS = 12  # from an alphabet of 32: 12 x 5 = 60 bits
MAX_PASSKEYS = 10
# Every wrong code doubles the delay before the next attempt. From the 12th on, it stays 2^(12-1) s, 34 minutes.
LONGEST_WAIT_AFTER = 12  # wrong codes in a row
_APP_CODE = re.compile("[0-9]{6}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SecondFactor:
    app: Any | None
    passkeys: list[Any]
    recovery: Any | None
    codes_left: int

    @property
    def is_on(self) -> bool:
        """Whether a login needs more than the password. Recovery codes alone do not count."""
        return self.app is not None or bool(self.passkeys)


def second_factor_of(user: User) -> SecondFactor:
    """A user's factors, for the settings page and the code page of a login. The `key` of the app is secret."""
    recovery = StaticDevice.objects.filter(user=user).first()
    return SecondFactor(
        app=TOTPDevice.objects.filter(user=user, confirmed=True).first(),
        passkeys=list(WebAuthnCredential.objects.filter(user=user, confirmed=True).order_by("pk")),
        recovery=recovery,
        codes_left=recovery.token_set.count() if recovery else 0,
    )


def has_second_factor(user: User) -> bool:
    """Whether an account has a second factor, in one query."""
    of_user: dict[str, Any] = {"user": OuterRef("pk"), "confirmed": True}
    has_one = Q(Exists(TOTPDevice.objects.filter(**of_user)))
    has_one |= Q(Exists(WebAuthnCredential.objects.filter(**of_user)))
    return User.objects.filter(has_one, pk=user.pk).exists()


def begin_app(user: User) -> Any:
    """Begin adding an app; `confirm_app` activates it. Raises Invalid if the account already has an active app."""
    with _locked(user):
        if TOTPDevice.objects.filter(user=user, confirmed=True).exists():
            raise Invalid(_("Remove your current authenticator app first."))
        TOTPDevice.objects.filter(user=user).delete()
        return TOTPDevice.objects.create(user=user, name="app", confirmed=False)


def unconfirmed_app(user: User, device_id: int) -> Any | None:
    """The unconfirmed device that `begin_app` created; None if there is none."""
    return TOTPDevice.objects.filter(pk=device_id, user=user, confirmed=False).first()


def confirm_app(user: User, device_id: int, code: str) -> tuple[Any, list[str]]:
    """Activate the app with one of its codes. Returns the device, and recovery codes if it is the first factor.

    Raises Invalid for a wrong code or an unknown device, and TooMany while earlier wrong codes delay the next attempt.
    """
    device = _verified(TOTPDevice, user, _clean(code), pk=device_id, confirmed=False)
    if device is None:
        message = _("This code is wrong. Check the clock on your device.")
        raise Invalid(message, errors={"code": message})
    with _locked(user):
        TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
        return device, after_factor_added(user, "authenticator app")


def after_factor_added(user: User, what: str) -> list[str]:
    """Call this after adding a factor. For the first one, revokes all tokens and returns recovery codes; else []."""
    logger.info("second factor of user %d: %s added", user.pk, what)
    if StaticDevice.objects.filter(user=user).exists():
        return []
    access_revoked.send(User, user_id=user.pk, ends_sessions=False)
    return new_codes(user)


def new_codes(user: User) -> list[str]:
    """Replace the recovery codes and return the new ones, which cannot be shown again."""
    codes = [_new_code() for _number in range(RECOVERY_CODES)]
    with _locked(user):
        device, _is_new = StaticDevice.objects.get_or_create(user=user, name="recovery codes")
        device.token_set.all().delete()
        StaticToken.objects.bulk_create(
            StaticToken(device=device, token=_digest(device, _clean(code))) for code in codes
        )
    logger.info("second factor of user %d: new recovery codes", user.pk)
    return codes


def verify_code(user: User, code: str) -> Any | None:
    """The device that accepted a code: the app or the recovery codes. None if the code is wrong or was used before.

    Raises TooMany while earlier wrong codes delay the next attempt. Wrong codes are counted in the database.
    """
    clean = _clean(code)
    model = TOTPDevice if _APP_CODE.fullmatch(clean) else StaticDevice
    return _verified(model, user, clean, confirmed=True)


def remove_app(user: User) -> None:
    with _locked(user):
        TOTPDevice.objects.filter(user=user).delete()
        _removed(user, "authenticator app")


def remove_passkey(user: User, passkey_id: int) -> None:
    """Remove a passkey. Raises NotFound if it is not the user's."""
    with _locked(user):
        own_passkey(user, passkey_id).delete()
        _removed(user, "passkey")


def own_passkey(user: User, passkey_id: int) -> Any:
    """One of a user's passkeys. Raises NotFound if it is not the user's."""
    passkey = WebAuthnCredential.objects.filter(pk=passkey_id, user=user).first()
    if passkey is None:
        raise NotFound(_("There is no such passkey."))
    return passkey


def erase_second_factor(user: User) -> int:
    """Delete all factors and return the number of deleted rows."""
    with _locked(user):
        models = (TOTPDevice, StaticDevice, WebAuthnCredential, WebAuthnUserHandle)
        return sum(model.objects.filter(user=user).delete()[0] for model in models)


@contextmanager
def _locked(user: User) -> Iterator[None]:
    """A transaction that locks the user's row; other transactions that use this function for the user wait."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        yield


def _verified(model: Any, user: User, clean: str, **which: Any) -> Any | None:
    """The device if the code is right, else None. Locks the device, so that concurrent requests cannot reuse a code."""
    with transaction.atomic():
        device = model.objects.select_for_update().filter(user=user, **which).first()
        if device is None:
            return None
        device.throttling_failure_count = min(device.throttling_failure_count, LONGEST_WAIT_AFTER)
        allowed, why = device.verify_is_allowed()
        if not allowed:
            raise _too_soon(why["locked_until"] - timezone.now())
        token = clean if model is TOTPDevice else _digest(device, clean)
        right = (model is StaticDevice or _APP_CODE.fullmatch(clean)) and device.verify_token(token)
    if not right:
        logger.info("second factor of user %d: a wrong code", user.pk)
    return device if right else None


def _too_soon(wait: timedelta) -> TooMany:
    seconds = int(wait.total_seconds()) + 1
    text = ngettext(
        "Wait %(count)d second before you try another code.",
        "Wait %(count)d seconds before you try another code.",
        seconds,
    )
    return TooMany(text % {"count": seconds}, retry_after=seconds)


def _removed(user: User, what: str) -> None:
    """Log the removal of a factor; if it was the last one, delete the recovery codes."""
    logger.info("second factor of user %d: %s removed", user.pk, what)
    if not has_second_factor(user):
        StaticDevice.objects.filter(user=user).delete()


def _new_code() -> str:
    text = b32encode(secrets.token_bytes(8)).decode().lower()[:RECOVERY_CHARACTERS]
    return "-".join(text[start : start + 4] for start in range(0, RECOVERY_CHARACTERS, 4))


def _digest(device: Any, clean: str) -> str:
    """The stored form of a recovery code: 16 characters, as many as the library's column holds."""
    digest = sha256(f"{device.pk}:{clean}".encode()).digest()
    return b32encode(digest[:10]).decode().lower()


def _clean(code: str) -> str:
    return "".join(code.split()).replace("-", "").lower()
