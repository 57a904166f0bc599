"""Hooks with which optional apps add to archives of accounts, to their erasure, and to imports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

from django.conf import settings
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.events.hooks import Hook

Record = dict[str, Any]
Step = Callable[
    [User, int], int
]  # takes an account and the maximum number of rows to erase; returns the number erased


@dataclass(frozen=True, slots=True)
class Part:
    """A file in an archive: `rows` finds a user's rows, `written` turns a batch of them into records.

    In a `.csv` file all records need the same keys. `about` describes an optional app's file in the archive's README.
    `pictures` yields, for each picture of a batch of rows, its name in the archive and its name in the storage.
    """

    file: str
    rows: Callable[[User], QuerySet[Any]]
    written: Callable[[Sequence[Any]], Iterable[Record]]
    about: str = ""
    pictures: Callable[[Sequence[Any]], Iterable[tuple[str, str]]] | None = None

    @property
    def line(self) -> str:
        """The line that describes the file in the archive's README."""
        return f"{self.file:<26}{self.about}".rstrip() + "\n"


class PostOfArchive(NamedTuple):
    """A post in an archive.

    `cells` contains its URL and date in the archive, for the report, and `post` the data for creating it again. If
    it cannot be imported, `post` is None, and `refusal` is the reason.
    """

    cells: list[str]
    post: Record | None
    refusal: str = ""


class Posts(NamedTuple):
    """The functions that import the posts in an archive. The file is opened again for each chunk of lines.

    `open` raises Invalid unless the file is an archive. `read` yields its posts, and raises Invalid if there are none
    or too many, or if the archive is damaged. `prepare` does the slow work for one post, outside transactions, and its
    result is passed to `make`. `make` returns the data that `remove` needs (None if the post has been imported before),
    and a text about parts that could not be imported. `make` raises DomainError for a post that cannot be imported.
    """

    open: Callable[[IO[bytes]], Any]
    read: Callable[[Any], Iterable[PostOfArchive]]
    prepare: Callable[[User, Record, Any], Any]
    make: Callable[[User, Record, Any], tuple[Mapping[str, Any] | None, str]]
    remove: Callable[[User, Mapping[str, Any]], None]


def address_of(handle: str) -> str:
    """An account's address (handle@host), as Mastodon writes it in its lists of follows."""
    return f"{handle}@{settings.SITE_URL.partition('://')[2]}"


ARCHIVE = Hook[Part]()
ERASURE = Hook[Step]()
POSTS = Hook[Posts](maximum=1)
