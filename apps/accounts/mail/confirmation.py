"""The e-mail address of an account: given, confirmed by its owner, changed. Nobody learns whether another account has it.

With EMAIL_CONFIRMATION_REQUIRED an address counts (for logging in, for a new password) when its owner has pressed the
button behind the link that is sent to it. Without, it counts at once where it is free.
"""

from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.authentication.passwords import check_own_password
from apps.accounts.mail import sending
from apps.accounts.models import MailKind, User
from apps.errors import Invalid, NotAllowed, NotFound
from apps.throttling import Origin, check_rate_limit

EMAIL_MAX_CHARACTERS = 254  # of the column; the validator alone lets 320 pass
CONFIRMATION_SECONDS = 2 * 24 * 3600


def clean_email(email: str | None) -> str | None:
    """An address as it is stored; None for none."""
    return (email or "").strip().lower() or None


def email_errors(email: str | None) -> dict[str, str]:
    """What is wrong with the form of an address. That somebody has it already is nobody's business."""
    if email is None:
        return {}
    try:
        validate_email(email)
        MaxLengthValidator(EMAIL_MAX_CHARACTERS)(email)
    except ValidationError:
        return {"email": _("Enter an e-mail address, like name@example.org.")}
    return {}


def give_email(user: User, address: str | None) -> None:
    """Note on an unsaved change of a user which address they say is theirs; it counts at once where it may."""
    if address is None or address == user.email:
        user.email, user.pending_email, user.pending_email_at = address, "", None
    elif settings.EMAIL_CONFIRMATION_REQUIRED or _is_taken(address):
        user.pending_email, user.pending_email_at = address, timezone.now()
    else:
        user.email, user.pending_email, user.pending_email_at = address, "", None


def change_email(user: User, *, email: str, password: str, origin: Origin | None = None) -> User:
    """Give another address, or none; asks for the password. Invalid, TooMany. The owner of the old address is told."""
    if not check_own_password(user, password, origin):
        message = _("This is not your password.")
        raise Invalid(message, errors={"password": message})
    address, before = clean_email(email), user.email
    errors = email_errors(address)
    if errors:
        raise Invalid(" ".join(errors.values()), errors=errors)
    if address and address != before:
        check_rate_limit("mail", address)
    give_email(user, address)
    try:
        _save_email(user)
    except IntegrityError:  # taken in this moment
        user.email, user.pending_email, user.pending_email_at = (
            before,
            address or "",
            timezone.now(),
        )
        _save_email(user)
    if before and address != before:
        sending.enqueue_mail(MailKind.EMAIL_CHANGED, user=user, address=before)
    return user


def send_confirmation(user: User) -> None:
    """Send the link once more. NotAllowed when there is nothing to confirm; TooMany."""
    if not user.pending_email:
        raise NotAllowed(_("There is no address to confirm."))
    check_rate_limit("mail", user.pending_email)
    sending.enqueue_mail(MailKind.CONFIRM_EMAIL, user=user)


def user_to_confirm(token: str) -> User:
    """Whose pending address a link is about. NotFound for one that was used, is too old, or was never sent."""
    try:
        number, address, given_at = signing.loads(
            token, salt=sending.CONFIRMATION_SALT, max_age=CONFIRMATION_SECONDS
        )
    except (signing.BadSignature, ValueError):
        raise _dead_link() from None
    user = User.objects.filter(pk=number, pending_email=address, is_active=True).first()
    if user is None or str(user.pending_email_at) != given_at:
        raise _dead_link()
    return user


@transaction.atomic
def confirm_email(token: str) -> User:
    """Let the pending address of a link count. NotFound as for `user_to_confirm`, also when another account was first."""
    found = user_to_confirm(token)
    user = User.objects.select_for_update().get(pk=found.pk)
    if (user.pending_email, user.pending_email_at) != (found.pending_email, found.pending_email_at):
        raise _dead_link()
    user.email, user.pending_email, user.pending_email_at = user.pending_email, "", None
    try:
        with transaction.atomic():
            user.save(update_fields=["email", "pending_email", "pending_email_at"])
    except IntegrityError:
        raise _dead_link() from None
    return user


@transaction.atomic
def _save_email(user: User) -> None:
    user.save(update_fields=["email", "pending_email", "pending_email_at"])
    if user.pending_email:
        sending.enqueue_mail(MailKind.CONFIRM_EMAIL, user=user)


def _is_taken(address: str) -> bool:
    return User.objects.filter(email=address).exists()


def _dead_link() -> NotFound:
    return NotFound(_("This link does not work any more. It was used already, or it is too old."))
