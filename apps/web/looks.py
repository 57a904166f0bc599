"""What pages show of an account."""

from typing import NamedTuple

from apps.accounts.models import User


class Appearance(NamedTuple):
    """What pages show of an account, and nothing else of it."""

    handle: str
    name: str
    url: str
    avatar_url: str

    @classmethod
    def of(cls, user: User) -> "Appearance":
        """How an account looks now."""
        return cls(user.handle, user.name, user.url, user.avatar_url)
