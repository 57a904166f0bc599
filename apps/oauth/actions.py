"""Registers applications, issues and revokes tokens."""

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

from apps import sql
from apps.accounts.cache import access_changed
from apps.accounts.models import User
from apps.accounts.profile import single_line
from apps.errors import Invalid
from apps.oauth.models import OUT_OF_BAND, Application, UsedCode
from apps.oauth.queries import APP_TOKEN_PREFIX
from apps.scopes import NAMES

NAME_MAX_CHARACTERS = 60
ADDRESS_MAX_CHARACTERS = 2000
MAX_ADDRESSES = 10
SCOPES_DEFAULT = "read"
APPLICATION_IDLE = timedelta(days=30)
PURGE_SECONDS = 5.0  # the time limit for each table
# A redirect to a URL with one of these schemes could run a script or open the user's own files.
_FORBIDDEN_SCHEMES = frozenset(
    {"about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"}
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:[!-~]+", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Registration:
    """A new application with its secret, which cannot be read again: only its hash is stored."""

    application: Application
    secret: str


def register_application(
    *,
    name: str,
    redirect_uris: Sequence[str] = (OUT_OF_BAND,),
    scopes: str = SCOPES_DEFAULT,
    website: str = "",
) -> Registration:
    """Register an application. Raises Invalid, with a message for each field."""
    errors: dict[str, str] = {}
    clean = single_line(name)
    if not clean or len(clean) > NAME_MAX_CHARACTERS:
        errors["client_name"] = _("Enter a name of at most %(count)d characters.") % {
            "count": NAME_MAX_CHARACTERS
        }
    if not redirect_uris or len(redirect_uris) > MAX_ADDRESSES:
        errors["redirect_uris"] = _("Enter 1 to %(count)d addresses.") % {"count": MAX_ADDRESSES}
    elif not all(map(_may_redirect_to, redirect_uris)):
        errors["redirect_uris"] = _("A code cannot be sent to this address.")
    if website and not _is_web_address(website):
        errors["website"] = _("This is not the address of a web page.")
    # clients also request scopes of other versions and servers; they get those that exist here
    names = [name for name in scopes.split() if name in NAMES] or [SCOPES_DEFAULT]
    if errors:
        raise Invalid(" ".join(errors.values()), errors=errors)
    secret = secrets.token_urlsafe(32)
    application = Application.objects.create(
        name=clean,
        website=website,
        scopes=" ".join(dict.fromkeys(names)),
        redirect_uris=" ".join(redirect_uris),
        client_type=Application.CLIENT_CONFIDENTIAL,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        client_secret=secret,
    )
    return Registration(application, secret)


def issue_access(
    user: User, application: Application, *, scopes: Iterable[str]
) -> tuple[str, AccessToken]:
    """Issue a token; returns the token and its row, which stores only a hash."""
    token = APP_TOKEN_PREFIX + secrets.token_urlsafe(32)
    lifetime = timedelta(seconds=settings.OAUTH2_PROVIDER["ACCESS_TOKEN_EXPIRE_SECONDS"])
    issued = AccessToken(
        user=user,
        application=application,
        scope=" ".join(scopes),
        expires=timezone.now() + lifetime,
    )
    set_token_value(issued, token)
    issued.save()
    return token, issued


def purge() -> None:
    """Delete expired codes, expired access tokens that cannot be refreshed, and rows that nobody needs after 30 days.

    The latter are refresh tokens (30 days after they were revoked), used codes, and applications that were registered
    more than 30 days ago and now have no codes or tokens.
    """
    now = timezone.now()
    idle = Application.objects.filter(created__lt=now - APPLICATION_IDLE)
    for model in (Grant, AccessToken, RefreshToken):
        idle = idle.exclude(pk__in=model.objects.values("application"))
    for rows in (
        Grant.objects.filter(expires__lt=now),
        RefreshToken.objects.filter(revoked__lt=now - APPLICATION_IDLE),
        # a token that can still be refreshed stays: without it, its refresh token is refused
        AccessToken.objects.filter(expires__lt=now).exclude(
            pk__in=RefreshToken.objects.filter(revoked=None)
            .exclude(access_token=None)
            .values("access_token")
        ),
        UsedCode.objects.filter(used_at__lt=now - APPLICATION_IDLE),
        idle,
    ):
        sql.purge(rows.order_by("pk"), seconds=PURGE_SECONDS)


@transaction.atomic
def end_access(user_id: int, **application: int) -> None:
    """Revoke all codes and tokens of a user; with `application_id`, only those of one application."""
    # in this order: otherwise, a code or refresh token could be exchanged meanwhile for a token that stays valid
    for model in (Grant, RefreshToken, AccessToken):
        model.objects.filter(user_id=user_id, **application).delete()
    access_changed(user_id)


def _may_redirect_to(url: str) -> bool:
    if len(url) > ADDRESS_MAX_CHARACTERS or not _ADDRESS.fullmatch(url):
        return False
    parts = _split(url)
    if parts is None or parts.fragment or "#" in url or "@" in parts.netloc:
        return False
    scheme = parts.scheme.lower()
    return scheme not in _FORBIDDEN_SCHEMES and (
        bool(parts.hostname) if scheme in {"http", "https"} else True
    )


def _is_web_address(url: str) -> bool:
    parts = _split(url) if len(url) <= ADDRESS_MAX_CHARACTERS else None
    return bool(
        parts and _ADDRESS.fullmatch(url) and parts.scheme in {"http", "https"} and parts.hostname
    )


def _split(url: str) -> Any:
    """The parts of a URL; None if its host or port is malformed."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 -- raises ValueError for a malformed port
    except ValueError:
        return None
    return parts
