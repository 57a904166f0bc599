"""Checks the password of a logged-in user again, and the length of new passwords.

A new password is stored by `User.save`, which also ends sessions and tokens (`accounts.handlers`).
"""

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.password_validation import MinimumLengthValidator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.errors import Invalid
from apps.throttling import Origin, begin_guess


class LongEnough(MinimumLengthValidator):
    """Django's minimum-length rule, with a message that is translated into every language of the site."""

    def get_error_message(self) -> str:
        return ngettext(
            "Use at least %(count)d character.",
            "Use at least %(count)d characters.",
            self.min_length,
        ) % {"count": self.min_length}


def check_own_password(user: AbstractBaseUser, password: str, origin: Origin | None = None) -> bool:
    """Whether this is the password of a logged-in user. Raises TooMany, before the slow hash, if a limit is used up.

    If there is no origin, as at the command line, guesses are counted for the account instead of for a device.
    """
    guess = begin_guess(str(user.pk), origin or Origin("", f"account {user.pk}"))
    is_right = user.check_password(password)
    if is_right:
        guess.give_back()
    return is_right


def require_password(user: AbstractBaseUser, password: str, origin: Origin | None = None) -> None:
    """Raise Invalid if a logged-in user's password is wrong, and TooMany after several wrong ones."""
    if not check_own_password(user, password, origin):
        message = _("This password is wrong.")
        raise Invalid(message, errors={"password": message})
