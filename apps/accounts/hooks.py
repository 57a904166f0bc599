"""What optional apps add to accounts."""

from collections.abc import Callable
from dataclasses import dataclass

from apps.events.hooks import Hook


@dataclass(frozen=True, slots=True)
class SignUp:
    """An account that somebody wants to make. `address` is the key of the client's rate limits: IPv4, or an IPv6 /64."""

    handle: str
    email: str
    address: str


SIGN_UPS = Hook[Callable[[SignUp], None]]()  # refuse by Invalid or TooMany
