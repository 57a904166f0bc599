"""The formats of the CSV files, which are the same as Mastodon's, and a parser for uploads."""

import csv
import io
import re
from collections.abc import Sequence

from django.utils.translation import gettext as _

from apps.errors import invalid
from apps.privacy.archive import FORMULA
from apps.privacy.models import ImportKind

MAX_BYTES = 2 * 1024 * 1024
MAX_LINES = 20_000
MAX_CELL = 200  # characters; no address or name is longer
ADDRESS = "Account address"
COLUMNS = {
    ImportKind.FOLLOWS: (ADDRESS, "Show boosts", "Notify on new posts", "Languages"),
    ImportKind.BLOCKS: (ADDRESS,),
    ImportKind.MUTES: (ADDRESS, "Hide notifications"),
    ImportKind.LISTS: ("List", ADDRESS),
    ImportKind.BOOKMARKS: ("post", "since"),
}
# Mastodon writes these without a header line.
WITHOUT_HEADER = (ImportKind.LISTS, ImportKind.BOOKMARKS)
NEEDED = {ImportKind.LISTS: 2}  # columns; the other kinds need one
_ACCOUNT = re.compile(r"@?\w[\w.-]*(@[\w.:-]+)?")
_POST = re.compile(r"https?://\S+")

Line = tuple[int, list[str]]  # its number in the file, and its cells in the order of the columns


def read_lines(kind: ImportKind, data: bytes) -> list[Line]:
    """The lines of a file, without a header. Raises Invalid if it cannot be read, or no line is of this kind."""
    lines = [(number, [_clean(cell) for cell in row]) for number, row in _rows(data) if any(row)]
    columns, needed = COLUMNS[kind], NEEDED.get(kind, 1)
    what = _POST if kind == ImportKind.BOOKMARKS else _ACCOUNT

    def is_fitting(row: list[str]) -> bool:
        return len(row) >= needed and what.fullmatch(row[needed - 1]) is not None

    # a list may have the name of a column
    if lines and lines[0][1][0] in {ADDRESS, *columns[:1]} and not is_fitting(lines[0][1]):
        lines = _in_order(lines, columns)
    else:
        lines = [(number, row[: len(columns)]) for number, row in lines]
    if not any(is_fitting(row) for _number, row in lines):
        raise _refused(_("Nothing in this file looks like a list of this kind."), "wrong_columns")
    return lines


def plain_cell(text: str) -> str:
    """The cell without the quote that keeps a spreadsheet from evaluating it (`archive.escape_formula`)."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def _rows(data: bytes) -> list[tuple[int, list[str]]]:
    if len(data) > MAX_BYTES:
        message = _("This file is larger than %(count)d KB. Split it into several files.")
        raise _refused(message % {"count": MAX_BYTES // 1024}, "too_large")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise _refused(_("This is not a UTF-8 text file."), "encoding")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        for row in reader:
            rows.append((reader.line_num, row))
            if len(rows) > MAX_LINES:
                message = _("This file has more than %(count)d lines. Split it into several files.")
                raise _refused(message % {"count": MAX_LINES}, "too_many_lines")
    except csv.Error:
        message = _("This is not a valid CSV file. See line %(number)d.")
        raise _refused(message % {"number": reader.line_num}, "not_csv") from None
    return rows


def _in_order(lines: Sequence[Line], columns: Sequence[str]) -> list[Line]:
    """The lines without the header, with the cells in the order of `columns`. Raises Invalid for any other column."""
    names = lines[0][1]
    if not set(names) <= set(columns):
        others = ", ".join(name for name in names if name not in columns)
        message = _("This is another kind of list: it has the columns %(names)s.")
        raise _refused(message % {"names": others}, "wrong_columns")
    ordered = []
    for number, row in lines[1:]:
        cells = dict(zip(names, row, strict=False))
        ordered.append((number, [cells.get(name, "") for name in columns]))
    return ordered


def _clean(cell: str) -> str:
    return plain_cell(cell.strip())[:MAX_CELL]


def _refused(message: str, code: str) -> Exception:
    return invalid("file", message, code)
