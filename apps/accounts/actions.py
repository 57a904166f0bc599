"""Actions that change accounts."""

import re
import secrets
from collections.abc import Collection, Iterable
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.authentication.passwords import require_password
from apps.accounts.cache import access_changed, card_changed
from apps.accounts.email import sending
from apps.accounts.email.confirmation import clean_email, email_errors, give_email
from apps.accounts.models import (
    HANDLE_PATTERN,
    RESERVED_HANDLES,
    AccessToken,
    Density,
    FormerHandle,
    Keys,
    Mail,
    MailKind,
    PostVisibility,
    QuotePolicy,
    TextSize,
    Theme,
    User,
    UserCounts,
)
from apps.accounts.profile import clean_name, clean_profile
from apps.accounts.signals import (
    SIGN_UPS,
    SignUp,
    access_revoked,
    announce_account_visibility,
)
from apps.errors import Invalid, NotAllowed
from apps.events.actions import record
from apps.scopes import ALL, grantable
from apps.throttling import Origin, check_rate_limit

TOKEN_NAME_MAX_CHARACTERS = 60
TOKEN_PREFIX = "rill_"  # noqa: S105 -- lets secret scanners recognise our tokens
_HANDLE = re.compile(HANDLE_PATTERN, re.ASCII)
_CHOICES: dict[str, Collection[str]] = {
    "theme": Theme.values,
    "text_size": TextSize.values,
    "interface_language": {"", *dict(settings.LANGUAGES)},
    "post_visibility": PostVisibility.values,
    "quote_policy": QuotePolicy.values,
    "keys": Keys.values,
    "density": Density.values,
}
# The columns of a deleted account that name its owner.
_CLEARED: dict[str, Any] = {
    "email": None,
    "pending_email": "",
    "pending_email_at": None,
    "display_name": "",
    "bio": "",
    "lines": [],
    "avatar": "",
    "avatar_alt": "",
    "header": "",
    "header_alt": "",
}


def register(
    *,
    handle: str,
    email: str | None,
    password: str,
    display_name: str = "",
    client: str = "",
    by_operator: bool = False,
) -> User:
    """Create an account. Raises Invalid, with a message for each bad field, or TooMany.

    `client` is the client's IPv4 address, or its IPv6 /64 network.

    On the site, an e-mail address that another account already has raises no error: only the owner of that account is
    notified, by e-mail (`email.sending`). For operators at the command line, such an address raises Invalid. They may
    use reserved handles and any password, and the address needs no confirmation.
    """
    address = clean_email(email)
    # the user has the address because the password validators compare the password with it
    user = User(handle=handle.strip().lower(), email=address, display_name=clean_name(display_name))
    errors = _handle_errors(user.handle) | email_errors(address)
    if by_operator:
        errors |= _taken_errors(address)
    else:
        errors |= _reserved_errors(user.handle) | _password_errors(password, user)
    if errors:
        raise _invalid(errors)
    if not by_operator:
        for check in SIGN_UPS:
            check(SignUp(user.handle, address or "", client))
        user.email = None
        if address:
            check_rate_limit("mail", address)
            give_email(user, address)
    user.set_password(password)
    try:
        _insert(user)
    except IntegrityError:  # lost a race against another registration
        if user.email is None or _handle_errors(user.handle) or by_operator:
            raise _invalid({"handle": _("This handle is taken.")}) from None
        pending, user.email = user.email, None
        user.pending_email, user.pending_email_at = pending, timezone.now()
        _insert(user)
    return user


def update_profile(user: User, **fields: Any) -> User:
    """Change fields of a profile (see `clean_profile`). Raises Invalid, changing nothing, if one is invalid."""
    changed = clean_profile(fields)
    replaced = [getattr(user, name).name for name in ("avatar", "header") if name in changed]
    for name, value in changed.items():
        setattr(user, name, value)
    if changed:
        _save_card(user, *changed)
    _delete_files(replaced)
    return user


def remove_avatar(user: User) -> None:
    """Remove the uploaded avatar. Pages then show an avatar that is generated from the handle."""
    replaced, user.avatar, user.avatar_alt = user.avatar.name, None, ""
    _save_card(user, "avatar", "avatar_alt")
    _delete_files([replaced])


def remove_header(user: User) -> None:
    """Remove the uploaded header. Pages then show a header that is generated from the handle."""
    replaced, user.header, user.header_alt = user.header.name, "", ""
    _save_card(user, "header", "header_alt")
    _delete_files([replaced])


@transaction.atomic
def set_locked(user: User, *, locked: bool) -> User:
    """Choose whether follows need approval; unlocking accepts the pending requests, soon after the commit."""
    # every follow takes this lock, so no request is added after the account is unlocked
    UserCounts.objects.select_for_update().get(pk=user.pk)
    was_locked = User.objects.values_list("is_locked", flat=True).get(pk=user.pk)
    user.is_locked = locked
    _save_card(user, "is_locked")
    if was_locked and not locked:
        record("account_unlocked", user_id=user.pk)
    return user


def update_settings(user: User, **fields: Any) -> User:
    """Change display settings and defaults for new posts. Raises Invalid, changing nothing, for an unknown choice."""
    for name in fields.keys() & _CHOICES.keys():
        if fields[name] not in _CHOICES[name]:
            raise _invalid({name: _("Choose one of the options.")})
    for name, value in fields.items():
        setattr(user, name, value)
    user.save(update_fields=list(fields))
    return user


def issue_token(user: User, *, name: str, scopes: str = ALL) -> str:
    """Create and return a bearer token, which cannot be shown again. A long name is truncated. Raises Invalid if there
    are no scopes, or one of them is unknown or not available to the user.
    """
    names = list(dict.fromkeys(scopes.split()))
    if not names or names != grantable(names, user):
        raise _invalid({"scopes": _("Choose one of the options.")})
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    digest = AccessToken.digest_of(token)
    AccessToken.objects.create(
        user=user, digest=digest, name=name[:TOKEN_NAME_MAX_CHARACTERS], scopes=" ".join(names)
    )
    return token


@transaction.atomic
def revoke_token(user: User, token_id: int) -> None:
    """Revoke one of a user's own tokens. Ids of other users' tokens are ignored."""
    own = AccessToken.objects.filter(pk=token_id, user=user, revoked_at=None)
    own.update(revoked_at=timezone.now())
    access_changed(user.pk)


@transaction.atomic
def revoke_tokens(user_id: int) -> None:
    own = AccessToken.objects.filter(user=user_id, revoked_at=None)
    own.update(revoked_at=timezone.now())
    access_changed(user_id)


@transaction.atomic
def _save_card(user: User, *fields: str) -> None:
    user.save(update_fields=fields)
    card_changed(user.pk)


def _delete_files(names: Iterable[str | None]) -> None:
    for name in filter(None, names):
        _delete_file(name)


def _delete_file(name: str) -> None:
    # robust, because the change is stored already, and other callbacks follow
    transaction.on_commit(lambda: default_storage.delete(name), robust=True)


@transaction.atomic
def _insert(user: User) -> None:
    user.save(force_insert=True)
    UserCounts.objects.create(user=user)
    if user.pending_email:
        sending.enqueue_mail(MailKind.CONFIRM_EMAIL, user=user)


def _handle_errors(handle: str) -> dict[str, str]:
    if not _HANDLE.fullmatch(handle):
        return {"handle": _("Use 3 to 30 characters: a-z, digits and _.")}
    former = FormerHandle.objects.filter(digest__in=FormerHandle.digests_of(handle))
    if User.objects.filter(handle=handle).exists() or former.exists():
        return {"handle": _("This handle is taken.")}
    return {}


def _reserved_errors(handle: str) -> dict[str, str]:
    return {"handle": _("This handle is taken.")} if handle in RESERVED_HANDLES else {}


def _taken_errors(email: str | None) -> dict[str, str]:
    if email is not None and User.objects.filter(email=email).exists():
        return {"email": _("This address belongs to another account.")}
    return {}


def _password_errors(password: str, user: User) -> dict[str, str]:
    try:
        validate_password(password, user)
    except ValidationError as error:
        return {"password": " ".join(error.messages)}
    return {}


def _invalid(errors: dict[str, str]) -> Invalid:
    return Invalid(" ".join(errors.values()), errors=errors)


def close_account(user: User, *, password: str, origin: Origin | None = None) -> None:
    """Clear an account's row, and hide the account and its posts from the next request on.

    `privacy.erasure` erases the rest. The row stays, without a name, because every post id contains the account's id.
    The handle stays taken, so that nobody can impersonate a former user. Raises Invalid for a wrong password, TooMany
    after several wrong ones, and NotAllowed for staff, who would lock themselves out of the admin.
    """
    require_password(user, password, origin)
    if user.is_staff or user.is_superuser:
        text = _(
            "Staff accounts cannot be deleted."
            " Ask another administrator to remove the account's permissions first."
        )
        raise NotAllowed(text)
    _anonymise(user)


@transaction.atomic
def _anonymise(user: User) -> None:
    # every write of an author takes this lock, so none is running now
    UserCounts.objects.select_for_update().get(pk=user.pk)
    # read again, because another request may have changed the profile or deleted the account in the meantime
    user = User.objects.select_for_update().get(pk=user.pk)
    if user.erased_at:
        return
    FormerHandle.objects.get_or_create(digest=FormerHandle.digests_of(user.handle)[0])
    _delete_files([user.avatar.name, user.header.name])
    now = timezone.now()
    blank = User(
        id=user.pk,
        handle=_free_handle(user.pk),
        is_active=False,
        is_discoverable=False,
        is_indexable=False,
        suspended_at=now,
        erased_at=now,
        created_at=user.created_at,
    )
    blank.set_unusable_password()
    blank.save(force_update=True)
    access_revoked.send(User, user_id=user.pk)
    AccessToken.objects.filter(user=user.pk).delete()
    Mail.objects.filter(user=user.pk).delete()
    if user.email:
        Mail.objects.filter(address=user.email).delete()
    card_changed(user.pk)
    announce_account_visibility(user.pk)


@transaction.atomic
def clear_profile(user_id: int) -> int:
    """Clear the row of a deleted account again, if a request that was under way has set an address or the profile.

    Returns the number of rows that it cleared: 0 or 1.
    """
    rows = User.objects.filter(pk=user_id)
    for row in rows.exclude(**_CLEARED).select_for_update():
        _delete_files([row.avatar.name, row.header.name])
        card_changed(user_id)
        return rows.update(**_CLEARED)
    return 0


def _free_handle(user_id: int) -> str:
    handle = f"deleted_{user_id}"
    taken = User.objects.filter(handle=handle).exists()
    return f"{handle}_{secrets.token_hex(4)}" if taken else handle
