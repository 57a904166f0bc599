"""Writes of accounts."""

import re
import secrets
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.authentication.passwords import check_own_password
from apps.accounts.cache import card_changed
from apps.accounts.mail import sending
from apps.accounts.mail.confirmation import clean_email, email_errors, give_email
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
    TextSize,
    Theme,
    User,
    UserCounts,
    access_revoked,
)
from apps.accounts.profile import clean_name, clean_profile
from apps.accounts.signals import announce_visibility
from apps.accounts.staff import CHANGE_USERS, log_action, require_permission
from apps.errors import Invalid, NotAllowed
from apps.events.actions import record
from apps.events.live import announce
from apps.scopes import ALL, NAMES
from apps.throttling import Origin, check_rate_limit

TOKEN_NAME_MAX_CHARACTERS = 60
TOKEN_PREFIX = "rill_"  # noqa: S105 -- lets secret scanners recognise our tokens
_HANDLE = re.compile(HANDLE_PATTERN, re.ASCII)


def register(
    *,
    handle: str,
    email: str | None,
    password: str,
    display_name: str = "",
    by_operator: bool = False,
) -> User:
    """Make an account; Invalid, with one message per field, when something is wrong with it. TooMany for an address of mail.

    An address that another account has is not refused: nobody but its owner learns of it, by mail (`emails`). Operators at
    the command line may use reserved handles and any password, and vouch for the address.
    """
    address = clean_email(email)
    # the password must not be like the address either
    user = User(handle=handle.strip().lower(), email=address, display_name=clean_name(display_name))
    errors = _handle_errors(user.handle) | email_errors(address)
    if by_operator:
        errors |= _taken_errors(address)
    else:
        errors |= _reserved_errors(user.handle) | _password_errors(password, user)
    if errors:
        raise _invalid(errors)
    if not by_operator:
        user.email = None
        if address:
            check_rate_limit("mail", address)
            give_email(user, address)
    user.set_password(password)
    try:
        _insert(user)
    except IntegrityError:  # lost a race that the checks above could not see
        if user.email is None or _handle_errors(user.handle) or by_operator:
            raise _invalid({"handle": _("This handle is taken.")}) from None
        pending, user.email = user.email, None
        user.pending_email, user.pending_email_at = pending, timezone.now()
        _insert(user)
    return user


def update_profile(user: User, **said: Any) -> User:
    """Change what others see of a user, as far as it is said (`profiles.clean_profile` knows what may be).

    Invalid, and nothing changes, when something of it is wrong.
    """
    changed = clean_profile(said)
    replaced = [getattr(user, name).name for name in ("avatar", "header") if name in changed]
    for name, value in changed.items():
        setattr(user, name, value)
    if changed:
        _save_card(user, *changed)
    _forget_files(replaced)
    return user


def remove_avatar(user: User) -> None:
    """Go back to the avatar drawn from the handle."""
    replaced, user.avatar = user.avatar.name, None
    _save_card(user, "avatar")
    _forget_files([replaced])


def remove_header(user: User) -> None:
    """Go back to the header drawn from the handle."""
    replaced, user.header = user.header.name, ""
    _save_card(user, "header")
    _forget_files([replaced])


@transaction.atomic
def set_locked(user: User, *, locked: bool) -> User:
    """Choose whether others have to ask before they follow; unlocking grants what is asked already."""
    # the lock of every follow: a request made at the same time is seen by whoever grants them
    UserCounts.objects.select_for_update().get(pk=user.pk)
    was_locked = User.objects.values_list("is_locked", flat=True).get(pk=user.pk)
    user.is_locked = locked
    _save_card(user, "is_locked")
    if was_locked and not locked:
        record("account_unlocked", user_id=user.pk)
    return user


def update_appearance(user: User, *, theme: str, text_size: str, interface_language: str) -> User:
    """Change how the site looks for a user."""
    languages = {"", *dict(settings.LANGUAGES)}
    if (
        theme not in Theme.values
        or text_size not in TextSize.values
        or interface_language not in languages
    ):
        raise _invalid({"theme": _("Choose one of the list.")})
    user.theme, user.text_size, user.interface_language = theme, text_size, interface_language
    user.save(update_fields=["theme", "text_size", "interface_language"])
    return user


def update_writing(
    user: User, *, post_visibility: str, post_sensitive: bool, asks_for_alt: bool, keys: str
) -> User:
    """Change how somebody writes, and which keys do something for them. Invalid."""
    if post_visibility not in PostVisibility.values or keys not in Keys.values:
        raise _invalid({"keys": _("Choose one of the list.")})
    user.post_visibility, user.post_sensitive = post_visibility, post_sensitive
    user.asks_for_alt, user.keys = asks_for_alt, keys
    user.save(update_fields=["post_visibility", "post_sensitive", "asks_for_alt", "keys"])
    return user


def update_reading(user: User, *, density: str, loads_by_button: bool) -> User:
    """Change how a user reads: the room of a post, and whether more comes by itself or by a button."""
    if density not in Density.values:
        raise _invalid({"density": _("Choose one of the list.")})
    user.density, user.loads_by_button = density, loads_by_button
    user.save(update_fields=["density", "loads_by_button"])
    return user


def issue_token(user: User, *, name: str, scopes: str = ALL) -> str:
    """A new bearer token; this is the only time it is seen. A long name is cut; Invalid for a scope there is not."""
    wanted = list(dict.fromkeys(scopes.split()))
    if not wanted or not NAMES.issuperset(wanted):
        raise _invalid({"scopes": _("Choose one of the list.")})
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    digest = AccessToken.digest_of(token)
    AccessToken.objects.create(
        user=user, digest=digest, name=name[:TOKEN_NAME_MAX_CHARACTERS], scopes=" ".join(wanted)
    )
    return token


def revoke_token(user: User, token_id: int) -> None:
    """End one of a user's tokens; nothing happens when it is somebody else's."""
    own = AccessToken.objects.filter(pk=token_id, user=user, revoked_at=None)
    own.update(revoked_at=timezone.now())
    announce("tokens_ended", user_id=user.pk)


def revoke_tokens(user_id: int) -> None:
    """End all of a user's tokens."""
    own = AccessToken.objects.filter(user=user_id, revoked_at=None)
    own.update(revoked_at=timezone.now())
    announce("tokens_ended", user_id=user_id)


@transaction.atomic
def suspend_user(user: User, *, by: User, reason: str) -> None:
    """Hide an account and all it wrote, end its sessions and tokens; acts on the next request.

    NotAllowed without the permission to change accounts, and to a superuser by anybody else.
    """
    require_permission(by, CHANGE_USERS, over=user)
    user.suspended_at, user.suspension_reason, user.is_active = timezone.now(), reason, False
    _save_card(user, "suspended_at", "suspension_reason", "is_active")
    access_revoked.send(User, user_id=user.pk)
    announce_visibility(user.pk)
    log_action(by, user, f"Suspended: {reason}")


@transaction.atomic
def restore_user(user: User, *, by: User, reason: str) -> None:
    """End a suspension; sessions and tokens stay ended. NotAllowed as for `suspend_user`, or when its owner deleted it."""
    require_permission(by, CHANGE_USERS, over=user)
    if user.erased_at is not None:
        raise NotAllowed(_("Its owner has deleted this account."))
    user.suspended_at, user.suspension_reason, user.is_active = None, "", True
    _save_card(user, "suspended_at", "suspension_reason", "is_active")
    announce_visibility(user.pk)
    log_action(by, user, f"Restored: {reason}")


@transaction.atomic
def _save_card(user: User, *fields: str) -> None:
    user.save(update_fields=fields)
    card_changed(user.pk)


def _forget_files(names: Iterable[str | None]) -> None:
    for name in filter(None, names):
        transaction.on_commit(partial(default_storage.delete, name))


@transaction.atomic
def _insert(user: User) -> None:
    user.save(force_insert=True)
    UserCounts.objects.create(user=user)
    if user.pending_email:
        sending.enqueue_mail(MailKind.CONFIRM_EMAIL, user=user)


def _handle_errors(handle: str) -> dict[str, str]:
    if not _HANDLE.fullmatch(handle):
        return {"handle": _("Use 3 to 30 of the letters a-z, digits and _.")}
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


def leave(user: User, *, password: str, origin: Origin | None = None) -> None:
    """Delete what the account's row says of its owner, and hide the account and all it wrote from the next request on.

    The row stays, nameless: the number is in the id of every post. The handle is given to nobody else, so that nobody can pose
    as who is gone. Invalid for a wrong password; NotAllowed for staff, who would lock themselves out of the admin.
    """
    if not check_own_password(user, password, origin):
        message = _("This is not your password.")
        raise Invalid(message, errors={"password": message})
    if user.is_staff or user.is_superuser:
        raise NotAllowed(
            _("An account of staff cannot be deleted. Ask another administrator to take its rights first.")
        )  # fmt: skip
    _make_nameless(user)


@transaction.atomic
def _make_nameless(user: User) -> None:
    UserCounts.objects.select_for_update().get(pk=user.pk)  # the lock of every write of an author
    FormerHandle.objects.get_or_create(digest=FormerHandle.digests_of(user.handle)[0])
    for file in (user.avatar, user.header):
        if file.name:
            transaction.on_commit(partial(default_storage.delete, file.name))
    now = timezone.now()
    blank = User(
        id=user.pk,
        handle=_nameless(user.pk),
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
    announce_visibility(user.pk)


def _nameless(number: int) -> str:
    handle = f"deleted_{number}"
    taken = User.objects.filter(handle=handle).exists()
    return f"{handle}_{secrets.token_hex(4)}" if taken else handle
