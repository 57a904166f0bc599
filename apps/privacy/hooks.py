"""What optional apps add to archives of accounts, and to their erasure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.events.hooks import Hook

Record = dict[str, Any]
Step = Callable[[User, int], int]  # erases at most so many rows of an account; how many it has


@dataclass(frozen=True, slots=True)
class Part:
    """A file: the rows of a user, and how a batch is written. `.csv` needs the same keys in every record.

    `about` is what the archive's own README says of a file that is not one of the core.
    """

    file: str
    rows: Callable[[User], QuerySet[Any]]
    written: Callable[[Sequence[Any]], Iterable[Record]]
    about: str = ""

    @property
    def line(self) -> str:
        """Of that README."""
        return f"{self.file:<26}{self.about}".rstrip() + "\n"


def address_of(handle: str) -> str:
    """As in Mastodon's files of follows: handle@host."""
    return f"{handle}@{settings.SITE_URL.partition('://')[2]}"


ARCHIVE = Hook[Part]()
ERASURE = Hook[Step]()
