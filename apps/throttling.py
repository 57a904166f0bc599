"""Throttling: the limits of `settings.RATE_LIMITS`, checked where the thing is done, so that pages and programs share one count.

`feedcache.rate_limit` counts; `feedsite.middleware.rate_limits` limits the requests of programs and tells them what is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from apps.errors import TooMany
from feedcache.rate_limit import Limit, RateLimitResult, count_each

SITE = "site"


def rate_limit(name: str, subject: str) -> Limit:
    """One of `RATE_LIMITS`, for a subject."""
    limit, seconds = settings.RATE_LIMITS[name]
    return Limit(name, subject, limit, seconds)


def check_rate_limit(name: str, subject: str, *, cost: int = 1) -> None:
    """Count against one of `RATE_LIMITS` for a subject; TooMany when it is used up. Cost 0 only looks."""
    require_allowed(count_each([rate_limit(name, subject)], cost=cost))


def check_sign_up(address: str) -> None:
    """Count a new account, for the address it is asked from and for the site; TooMany."""
    check_rate_limit("sign_up", address)
    check_rate_limit("sign_up_site", SITE)


def require_allowed(results: Sequence[RateLimitResult]) -> None:
    """TooMany when one of the limits is used up."""
    waits = [result.retry_after for result in results if not result.allowed]
    if waits:
        raise TooMany(_("Too many requests."), retry_after=max(waits))


@dataclass(frozen=True, slots=True)
class Origin:
    """From where a secret is guessed: the client's address, and the device or session if the site knows it for the account's own."""

    address: str
    device: str = ""


@dataclass(frozen=True, slots=True)
class GuessLimit:
    """A guess that was counted, and let through."""

    counted: Sequence[Limit]

    def give_back(self) -> None:
        """It was right: only failures use up the limits."""
        count_each(self.counted, cost=-1)


def begin_guess(subject: str, origin: Origin) -> GuessLimit:
    """Count a guess of a secret of `subject` before anything costly is done for it; TooMany when a limit is used up.

    `subject` is the name as it was typed, not the account that it is found to be: else the limit of a handle would tell
    its e-mail address. From a device that the account is known to use only the device's own limit refuses: nobody else can
    use that one up, so nobody can be locked out. What fails there counts for the address and for the site all the same.
    """
    everywhere = [rate_limit("guess_address", origin.address), rate_limit("guess_site", SITE)]
    if origin.device:
        own = [rate_limit("guess_device", origin.device)]
    else:
        pair = rate_limit("log_in", f"{origin.address} {subject}")
        own = [pair, rate_limit("guess_account", subject), *everywhere]
    counted = own + everywhere if origin.device else own
    results = count_each(counted)[: len(own)]
    guess = GuessLimit(counted)
    if not all(result.allowed for result in results):
        guess.give_back()  # what is refused is no guess: it must not use up the other limits
    require_allowed(results)
    return guess
