"""Writes of applications and tokens."""

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from oauth2_provider.models import AccessToken, Grant, RefreshToken, set_token_value

from apps.accounts.models import User
from apps.accounts.profile import single_line
from apps.errors import Invalid
from apps.events.live import announce
from apps.oauth.models import OUT_OF_BAND, Application, UsedCode
from apps.oauth.queries import APP_TOKEN_PREFIX
from apps.scopes import NAMES

NAME_MAX_CHARACTERS = 60
ADDRESS_MAX_CHARACTERS = 2000
MAX_ADDRESSES = 10
SCOPES_DEFAULT = "read"
APPLICATION_IDLE = timedelta(days=30)
PURGE_BATCH_SIZE = 1000
# Addresses of these kinds would run in the page, or point at the reader's own files.
_FORBIDDEN_SCHEMES = frozenset(
    {"about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"}
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:[!-~]+", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Registration:
    """A new application. Its secret is seen only here; what is stored is a hash."""

    application: Application
    secret: str


def register_application(
    *,
    name: str,
    redirect_uris: Sequence[str] = (OUT_OF_BAND,),
    scopes: str = SCOPES_DEFAULT,
    website: str = "",
) -> Registration:
    """Register a program; Invalid, with one message per field, when something is wrong with it."""
    errors: dict[str, str] = {}
    clean = single_line(name)
    if not clean or len(clean) > NAME_MAX_CHARACTERS:
        errors["client_name"] = _("A name of at most %(count)d characters.") % {
            "count": NAME_MAX_CHARACTERS
        }
    if not redirect_uris or len(redirect_uris) > MAX_ADDRESSES:
        errors["redirect_uris"] = _("From 1 to %(count)d addresses.") % {"count": MAX_ADDRESSES}
    elif not all(map(_may_redirect_to, redirect_uris)):
        errors["redirect_uris"] = _("This is no address that a code may be sent to.")
    if website and not _is_web_address(website):
        errors["website"] = _("This is no address of a web page.")
    wanted = scopes.split() or [SCOPES_DEFAULT]
    if unknown := sorted(set(wanted) - NAMES):
        errors["scopes"] = _("There is no scope %(name)s.") % {"name": unknown[0][:60]}
    if errors:
        raise Invalid(" ".join(errors.values()), errors=errors)
    secret = secrets.token_urlsafe(32)
    application = Application.objects.create(
        name=clean,
        website=website,
        scopes=" ".join(dict.fromkeys(wanted)),
        redirect_uris=" ".join(redirect_uris),
        client_type=Application.CLIENT_CONFIDENTIAL,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        client_secret=secret,
    )
    return Registration(application, secret)


def issue_access(
    user: User, application: Application, *, scopes: Iterable[str]
) -> tuple[str, AccessToken]:
    """A token of an application for a user, and its row; this is the only time that the token is seen."""
    token = APP_TOKEN_PREFIX + secrets.token_urlsafe(32)
    lifetime = timedelta(seconds=settings.OAUTH2_PROVIDER["ACCESS_TOKEN_EXPIRE_SECONDS"])
    issued = AccessToken(
        user=user,
        application=application,
        scope=" ".join(scopes),
        expires=timezone.now() + lifetime,
    )
    set_token_value(issued, token)  # stores the hash, and nothing else
    issued.save()
    return token, issued


def purge() -> None:
    """Delete codes and tokens that have ended, and applications that nobody has let in for a month; 1,000 of each."""
    now = timezone.now()
    idle = Application.objects.filter(created__lt=now - APPLICATION_IDLE)
    for model in (Grant, AccessToken, RefreshToken):
        idle = idle.exclude(pk__in=model.objects.values("application"))
    for rows in (
        Grant.objects.filter(expires__lt=now),
        RefreshToken.objects.filter(revoked__lt=now - APPLICATION_IDLE),
        AccessToken.objects.filter(expires__lt=now),
        UsedCode.objects.filter(used_at__lt=now - APPLICATION_IDLE),
        idle,
    ):
        rows.model.objects.filter(
            pk__in=list(rows.values_list("pk", flat=True)[:PURGE_BATCH_SIZE])
        ).delete()


def end_access(user_id: int, application_id: int) -> None:
    """End all that an application may do for a user; it acts with the next request."""
    _end(user_id=user_id, application_id=application_id)


def end_all_access(user_id: int) -> None:
    """End what every application may do for a user."""
    _end(user_id=user_id)


def announce_end(user_id: int) -> None:
    """Tell the streams of a user to look at their tokens at once; they do so from time to time besides."""
    announce("tokens_ended", user_id=user_id)


@transaction.atomic
def _end(*, user_id: int, **whose: Any) -> None:
    announce_end(user_id)
    # codes first, then what renews tokens: none of them can make a new one in between
    for model in (Grant, RefreshToken, AccessToken):
        model.objects.filter(user_id=user_id, **whose).delete()


def _may_redirect_to(address: str) -> bool:
    if len(address) > ADDRESS_MAX_CHARACTERS or not _ADDRESS.fullmatch(address):
        return False
    parts = _parts(address)
    if parts is None or parts.fragment or "#" in address or "@" in parts.netloc:
        return False
    scheme = parts.scheme.lower()
    return scheme not in _FORBIDDEN_SCHEMES and (
        bool(parts.hostname) if scheme in {"http", "https"} else True
    )


def _is_web_address(address: str) -> bool:
    parts = _parts(address) if len(address) <= ADDRESS_MAX_CHARACTERS else None
    return bool(
        parts
        and _ADDRESS.fullmatch(address)
        and parts.scheme in {"http", "https"}
        and parts.hostname
    )


def _parts(address: str) -> Any:
    """The parts of an address; None when it has none that can be named."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 -- a number that is none is only found when it is asked for
    except ValueError:
        return None
    return parts
