"""Sets, confirms and changes e-mail addresses.

With EMAIL_CONFIRMATION_REQUIRED an address can be used (to log in or to get a new password) only after its owner has
confirmed it by a mailed link, and no response reveals whether an address belongs to another account. Otherwise it can
be used immediately, unless another account has it; then it stays pending. So a person who enters an address and cannot
log in with it learns that it belongs to another account.
"""

from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.authentication.passwords import require_password
from apps.accounts.email import sending
from apps.accounts.models import MailKind, User
from apps.errors import Invalid, NotAllowed, NotFound
from apps.throttling import Origin, check_rate_limit

EMAIL_MAX_CHARACTERS = 254  # the width of the column; the validator alone allows 320
CONFIRMATION_SECONDS = 2 * 24 * 3600


def clean_email(email: str | None) -> str | None:
    """The stored form of an address; None for an empty one."""
    return (email or "").strip().lower() or None


def email_errors(email: str | None) -> dict[str, str]:
    """Errors in the syntax of an address. Does not check whether another account has it."""
    if email is None:
        return {}
    try:
        validate_email(email)
        MaxLengthValidator(EMAIL_MAX_CHARACTERS)(email)
    except ValidationError:
        return {"email": _("Enter an e-mail address, like name@example.org.")}
    return {}


def give_email(user: User, address: str | None) -> None:
    """Set or remove a user's address, without saving the user.

    A new address is pending if the settings require its confirmation or another account has it.
    """
    if address is None or address == user.email:
        user.email, user.pending_email, user.pending_email_at = address, "", None
    elif settings.EMAIL_CONFIRMATION_REQUIRED or _is_taken(address):
        user.pending_email, user.pending_email_at = address, timezone.now()
    else:
        user.email, user.pending_email, user.pending_email_at = address, "", None


def change_email(user: User, *, email: str, password: str, origin: Origin | None = None) -> User:
    """Check the password, change or remove the address, and notify the old address. Raises Invalid or TooMany."""
    require_password(user, password, origin)
    address, old_address = clean_email(email), user.email
    errors = email_errors(address)
    if errors:
        raise Invalid(" ".join(errors.values()), errors=errors)
    if address and address != old_address:
        check_rate_limit("mail", address)
    give_email(user, address)
    try:
        _save_email(user)
    except IntegrityError:  # another account took it in the meantime
        user.email, user.pending_email, user.pending_email_at = (
            old_address,
            address or "",
            timezone.now(),
        )
        _save_email(user)
    if old_address and address != old_address:
        sending.enqueue_mail(MailKind.EMAIL_CHANGED, user=user, address=old_address)
    return user


def send_confirmation(user: User) -> None:
    """Send the confirmation link again. Raises NotAllowed if no address is pending, or TooMany."""
    if not user.pending_email:
        raise NotAllowed(_("There is no address to confirm."))
    check_rate_limit("mail", user.pending_email)
    sending.enqueue_mail(MailKind.CONFIRM_EMAIL, user=user)


def user_to_confirm(token: str) -> User:
    """The user whose pending address a link confirms. Raises NotFound if the link is forged or has expired, if the
    address has been confirmed, removed or set again since, or if the account is frozen or suspended.
    """
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
    """Confirm a link's address. Raises NotFound if the link is invalid or another account now has the address."""
    expected = user_to_confirm(token)
    user = User.objects.select_for_update().get(pk=expected.pk)
    if (user.pending_email, user.pending_email_at) != (
        expected.pending_email,
        expected.pending_email_at,
    ):
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
    return NotFound(_("This link no longer works. It has been used or has expired."))
