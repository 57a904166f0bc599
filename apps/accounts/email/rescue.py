"""Lets staff help owners who cannot get into their accounts. Staff never get in themselves: with mailed links, the
owner chooses the new password and confirms a new address. If the account has an address, an e-mail tells of every step.

A rescuer needs the permission RESCUE and the permission to change accounts; only superusers may rescue staff accounts.
"""

import logging

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.authentication.second_factor import erase_second_factor, has_second_factor
from apps.accounts.email import sending
from apps.accounts.models import MailKind, User
from apps.accounts.staff import CHANGE_USERS, require_permission
from apps.errors import Invalid, NotAllowed

RESCUE = "accounts.rescue_user"
logger = logging.getLogger(__name__)


def require_rescuer(user: User, by: User) -> None:
    """Raise NotAllowed if `by` lacks a permission or is `user`. Only superusers may rescue staff and superusers."""
    require_permission(by, CHANGE_USERS, over=user)
    require_permission(by, RESCUE)
    if by.pk == user.pk or (user.is_staff and not by.is_superuser):
        raise NotAllowed(_("You do not have permission to do this."))


def mail_new_password(user: User, *, by: User) -> None:
    """Mail the owner a link for choosing a new password.

    Raises NotAllowed, or Invalid if there is no address or the account is frozen or suspended.
    """
    require_rescuer(user, by)
    if user.email is None:
        raise Invalid(_("This account has no e-mail address."), code="email")
    if user.is_suspended or not user.is_active:
        raise Invalid(_("This account is frozen or suspended: its password cannot be changed."))
    sending.enqueue_mail(MailKind.PASSWORD_RESET, address=user.email)


@transaction.atomic
def give_address(user: User, address: str | None, *, by: User) -> None:
    """Set an address, which its owner must confirm, or remove it. Notifies any old address. Raises NotAllowed."""
    require_rescuer(user, by)
    old_address = user.email
    if address is None:
        user.email, user.pending_email, user.pending_email_at = None, "", None
    else:
        user.pending_email, user.pending_email_at = address, timezone.now()
    user.save(update_fields=["email", "pending_email", "pending_email_at"])
    if user.pending_email:
        sending.enqueue_mail(MailKind.CONFIRM_EMAIL, user=user)
    _notify(MailKind.EMAIL_BY_STAFF, user, old_address)


@transaction.atomic
def reset_second_factor(user: User, *, by: User | None) -> None:
    """Remove the second factor of a user who lost it; the password alone is enough afterwards.

    `by` is None for the operator at the command line. The owner gets an e-mail if the account has an address. Raises
    NotAllowed, or Invalid if there is no second factor.
    """
    if by is not None:
        require_rescuer(user, by)
    if not has_second_factor(user):
        raise Invalid(_("This account has no second factor."))
    erase_second_factor(user)
    logger.warning("second factor of user %d: reset by %s", user.pk, by or "the operator")
    _notify(MailKind.SECOND_FACTOR_RESET, user, user.email)


def _notify(kind: MailKind, user: User, address: str | None) -> None:
    if address:
        sending.enqueue_mail(kind, user=user, address=address)
