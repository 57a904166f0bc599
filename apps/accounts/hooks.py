"""What optional apps add to accounts."""

from collections.abc import Callable
from dataclasses import dataclass

from apps.events.hooks import Hook


@dataclass(frozen=True, slots=True)
class SignUp:
    """An account that somebody wants to make. `address` is the client's IPv4 address, or its IPv6 /64 network."""

    handle: str
    email: str
    address: str


SIGN_UPS = Hook[Callable[[SignUp], None]]()  # refuse by Invalid or TooMany
