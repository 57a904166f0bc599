"""Hooks with which optional apps add to archives of accounts and to their erasure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.events.hooks import Hook

Record = dict[str, Any]
Step = Callable[
    [User, int], int
]  # erases at most so many rows of an account; returns the number erased


@dataclass(frozen=True, slots=True)
class Part:
    """A file in an archive: `rows` finds a user's rows, `written` turns a batch of them into records.

    In a `.csv` file all records need the same keys. `about` describes an optional app's file in the archive's README.
    """

    file: str
    rows: Callable[[User], QuerySet[Any]]
    written: Callable[[Sequence[Any]], Iterable[Record]]
    about: str = ""

    @property
    def line(self) -> str:
        """The line about the file in the archive's README."""
        return f"{self.file:<26}{self.about}".rstrip() + "\n"


def address_of(handle: str) -> str:
    """An account's address, handle@host, as in Mastodon's files of follows."""
    return f"{handle}@{settings.SITE_URL.partition('://')[2]}"


ARCHIVE = Hook[Part]()
ERASURE = Hook[Step]()
