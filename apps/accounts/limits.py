"""The limits of the site: counted where the thing is done, so that pages and programs share one count."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.caches.ratelimit import Limit, Verdict, count, count_each
from apps.refusals import TooMany

SITE = "site"


def count_or_refuse(limit_name: str, subject: str, *, cost: int = 1) -> None:
    """Count against one of `RATE_LIMITS` for a subject; TooMany when it is used up. Cost 0 only looks."""
    limit, seconds = settings.RATE_LIMITS[limit_name]
    _require([count(limit_name, subject, limit=limit, seconds=seconds, cost=cost)])


def count_sign_up(address: str) -> None:
    """Count a new account, for the address it is asked from and for the site; TooMany."""
    count_or_refuse("sign_up", address)
    count_or_refuse("sign_up_site", SITE)


@dataclass(frozen=True, slots=True)
class Origin:
    """From where a secret is guessed: the client's address, and the device or session if the site knows it for the account's own."""

    address: str
    device: str = ""


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess that was counted, and let through."""

    counted: Sequence[Limit]

    def give_back(self) -> None:
        """It was right: only failures use up the limits."""
        count_each(self.counted, cost=-1)


def begin_guess(subject: str, origin: Origin) -> Guess:
    """Count a guess of a secret of `subject` before anything costly is done for it; TooMany when a limit is used up.

    `subject` is the name as it was typed, not the account that it is found to be: else the limit of a handle would tell
    its e-mail address. From a device that the account is known to use only the device's own limit refuses: nobody else can
    use that one up, so nobody can be locked out. What fails there counts for the address and for the site all the same.
    """
    everywhere = [_limit("guess_address", origin.address), _limit("guess_site", SITE)]
    if origin.device:
        own = [_limit("guess_device", origin.device)]
    else:
        pair = _limit("log_in", f"{origin.address} {subject}")
        own = [pair, _limit("guess_account", subject), *everywhere]
    counted = own + everywhere if origin.device else own
    verdicts = count_each(counted)[: len(own)]
    guess = Guess(counted)
    if not all(verdict.allowed for verdict in verdicts):
        guess.give_back()  # what is refused is no guess: it must not use up the other limits
    _require(verdicts)
    return guess


def check_own_password(user: User, password: str, origin: Origin | None = None) -> bool:
    """Whether somebody who acts as a user knows the password. TooMany before the hash when a limit is used up.

    Without an origin, as at the command line, the account itself is what is limited.
    """
    guess = begin_guess(str(user.pk), origin or Origin("", f"account {user.pk}"))
    is_right = user.check_password(password)
    if is_right:
        guess.give_back()
    return is_right


def _limit(name: str, subject: str) -> Limit:
    return Limit(name, subject, *settings.RATE_LIMITS[name])


def _require(verdicts: Sequence[Verdict]) -> None:
    refused = [verdict.retry_after for verdict in verdicts if not verdict.allowed]
    if refused:
        raise TooMany(_("Too many requests."), retry_after=max(refused))
