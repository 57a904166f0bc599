"""Throttling: counts actions against the limits in `settings.RATE_LIMITS`. Pages and the API share the counts.

`feedcache.structures.rate_limit` counts; `apps.api.throttling` limits API requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from apps.errors import TooMany
from feedcache.structures.rate_limit import Limit, RateLimitResult, count_each

SITE = "site"
REFUSED_EARLY = "feedsite.refused_early"  # a key in `request.META`, set if the request was refused before any work


def rate_limit(name: str, subject: str) -> Limit:
    """The limit of this name in `RATE_LIMITS`, for a subject."""
    limit, seconds = settings.RATE_LIMITS[name]
    return Limit(name, subject, limit, seconds)


def check_rate_limit(
    name: str, subject: str, *, cost: int = 1, counted: RateLimitResult | None = None
) -> None:
    """Count against one of `RATE_LIMITS`. Raises TooMany when it is used up. With cost 0, only check.

    Pass the result as `counted` if the caller has counted already.
    """
    results = [counted] if counted else count_each([rate_limit(name, subject)], cost=cost)
    require_allowed(results)


def check_sign_up(address: str) -> None:
    """Count a new account against the limits of the client's address and of the site. Raises TooMany."""
    check_rate_limit("sign_up", address)
    check_rate_limit("sign_up_site", SITE)


def require_allowed(results: Sequence[RateLimitResult]) -> None:
    """Raise TooMany if one of the limits is used up."""
    waits = [result.retry_after for result in results if not result.allowed]
    if waits:
        raise TooMany(retry_after=max(waits))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a guess of a secret comes from: the client's address, and a device or session known to the account."""

    address: str
    device: str = ""


@dataclass(frozen=True, slots=True)
class GuessLimit:
    """A guess that was counted and allowed."""

    counted: Sequence[Limit]

    def give_back(self) -> None:
        """Undo the count of a correct guess, because only failures use up the limits."""
        count_each(self.counted, cost=-1)


def begin_guess(subject: str, origin: Origin) -> GuessLimit:
    """Count a guess of a secret of `subject` before anything costly is done for it. Raises TooMany beyond a limit.

    At a login, `subject` is the name as it was typed, not the account. If it were the account, using up the limit with
    a handle would also block the account's e-mail address, and so reveal which address it is. On a device that the
    account has used before, only the limit of that device refuses guesses: nobody else can use it up and lock the owner
    out. Failures also count for the client's address and for the site.
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
        guess.give_back()  # a refused guess must not use up the other limits
    require_allowed(results)
    return guess
