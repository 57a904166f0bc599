"""Exports the lists of an account as CSV files that both this site and Mastodon can import."""

import csv
from collections.abc import Iterator

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.privacy.archive import PARTS, batches, escape_formula
from apps.privacy.models import ImportKind
from apps.privacy.moving.files import COLUMNS, WITHOUT_HEADER

# Maps Mastodon's file names to the kind of list, and to the file of our archives that has the same rows.
FILES = {
    "following_accounts.csv": (ImportKind.FOLLOWS, "following_accounts.csv"),
    "blocked_accounts.csv": (ImportKind.BLOCKS, "blocked_accounts.csv"),
    "muted_accounts.csv": (ImportKind.MUTES, "muted_accounts.csv"),
    "lists.csv": (ImportKind.LISTS, "list_members.csv"),
    "bookmarks.csv": (ImportKind.BOOKMARKS, "bookmarks.csv"),
}
_PARTS = {part.file: part for part in PARTS}


class _Echo:
    """A file for `csv.writer` whose `write` returns the line."""

    def write(self, line: str) -> str:
        return line


def file_lines(user: User, name: str) -> Iterator[str]:
    """The lines of one of `FILES`, read in batches. Raises NotFound for any other name."""
    if name not in FILES:
        raise NotFound(_("There is no such list."))
    return _lines(user, *FILES[name])


def _lines(user: User, kind: ImportKind, file: str) -> Iterator[str]:
    part, table = _PARTS[file], csv.writer(_Echo())
    columns = COLUMNS[kind][:1] if kind == ImportKind.BOOKMARKS else COLUMNS[kind]
    if kind not in WITHOUT_HEADER:
        yield table.writerow(columns)
    for rows in batches(part.rows(user)):
        for record in part.written(rows):
            yield table.writerow([escape_formula(record[column]) for column in columns])
