"""Edge lists: text files, plain or gzipped, with a "follower followee" pair of names on every line.

A file is read three times, in bounded memory: first for its digest, then to count the lines for the progress bar and to
reject truncated, binary or non-UTF-8 files before anything is loaded, and finally to load it.
"""

import gzip
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from apps.accounts.models import HANDLE_PATTERN, RESERVED_HANDLES
from apps.graph.management.bulk import Edge

BLOCK_BYTES = 1 << 18
LINE_MAX_BYTES = 1000  # two handles need 61; a longer line is not part of an edge list
BINARY_SHARE = 0.1  # a file is binary if more of its first block is control characters
EXCERPT_CHARACTERS = 40
HANDLE_MIN_CHARACTERS = 3

_GZIP_MAGIC = b"\x1f\x8b"
_CONTROL = bytes({*range(32), 127} - set(b"\t\n\r"))
_HANDLE = re.compile(HANDLE_PATTERN, re.ASCII)
_BOM = b"\xef\xbb\xbf"


class EdgeListError(Exception):
    """The file as a whole cannot be loaded; the message is the reason in one line."""


class Line(NamedTuple):
    """A line with its edge, or the reason why it is bad, or neither (blank lines and comments)."""

    number: int
    edge: Edge | None
    fault: str


@dataclass(frozen=True, slots=True)
class EdgeList:
    """A file that was checked by `read_edge_list`."""

    path: Path
    prefix: str
    # The digest of the file and the prefix, because with another prefix the same names are other accounts.
    digest: str
    line_count: int

    def lines(self, *, after: int = 0) -> Iterator[Line]:
        """The lines after a line number, one at a time."""
        with _opened(self.path) as stream:
            for number, raw in enumerate(_bounded_lines(stream), start=1):
                if number > after:
                    yield _parsed(number, raw, self.prefix)


def read_edge_list(path: Path, *, prefix: str) -> EdgeList:
    """Check a file and count its lines. Raises EdgeListError if it cannot be loaded."""
    if prefix and not re.fullmatch(r"[a-z0-9_]{1,29}", prefix, re.ASCII):
        raise EdgeListError(f"{prefix!r} cannot begin a handle: use up to 29 of a-z, 0-9 and _.")
    try:
        if path.exists() and not path.is_file():
            raise EdgeListError(f"{path} is not a file.")
        return EdgeList(path, prefix, _digest(path, prefix), _count_lines(path))
    except FileNotFoundError:
        raise EdgeListError(f"There is no file {path}.") from None
    except EOFError:
        raise EdgeListError(f"{path} is cut short: its gzip data ends too early.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise EdgeListError(f"{path} is not sound gzip data: {error}.") from None
    except OSError as error:
        raise EdgeListError(f"{path} cannot be read: {error.strerror or error}.") from None


def _digest(path: Path, prefix: str) -> str:
    digest = sha256(f"edge list\n{prefix}\n".encode())
    with path.open("rb") as file:
        if path.suffix == ".gz" and file.peek(2)[:2] != _GZIP_MAGIC:
            raise EdgeListError(f"{path} is named .gz but is not gzip data.")
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _count_lines(path: Path) -> int:
    decoder, lines, block = getincrementaldecoder("utf-8")(), 0, b""
    with _opened(path) as stream:
        _refuse_binary(path, stream.peek(1))
        last = b""
        while block := stream.read(BLOCK_BYTES):
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                _refuse_encoding(path, lines + block[: error.start].count(b"\n") + 1)
            lines, last = lines + block.count(b"\n"), block
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            _refuse_encoding(path, lines + 1)
    return lines + (not last.endswith(b"\n") if last else 0)


def _refuse_encoding(path: Path, line: int) -> None:
    raise EdgeListError(f"{path} is not UTF-8 text: see line {line:,}.")


def _refuse_binary(path: Path, head: bytes) -> None:
    controls = len(head) - len(head.translate(None, _CONTROL))
    if controls > BINARY_SHARE * len(head):
        raise EdgeListError(f"{path} is binary data, not a text file of edges.")


def _opened(path: Path) -> BufferedReader:
    with path.open("rb") as file:
        zipped = file.read(2) == _GZIP_MAGIC
    # the buffer is needed because GzipFile alone reads lines slowly
    stream = gzip.GzipFile(path) if zipped else path.open("rb", buffering=0)
    return BufferedReader(stream, BLOCK_BYTES)


def _bounded_lines(stream: BufferedReader) -> Iterator[bytes]:
    while line := stream.readline(LINE_MAX_BYTES + 1):
        rest = line
        while len(rest) > LINE_MAX_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_MAX_BYTES + 1)
        yield line


def _parsed(number: int, raw: bytes, prefix: str) -> Line:
    if number == 1:
        raw = raw.removeprefix(_BOM)
    if len(raw) > LINE_MAX_BYTES:
        return Line(number, None, f"longer than {LINE_MAX_BYTES:,} bytes")
    text = raw.decode(errors="replace").strip()
    if not text or text.startswith("#"):
        return Line(number, None, "")
    names = text.split()
    handles = [_handle(name, prefix) for name in names]
    if fault := _names_fault(text, names) or _handles_fault(names, handles):
        return Line(number, None, fault)
    return Line(number, Edge(number, *handles), "")


def _names_fault(text: str, names: list[str]) -> str:
    if len(names) != 2:
        return f"not two names: {_excerpt(text)}"
    if names[0] == names[1]:
        return f"{_excerpt(names[0])} follows itself"
    return ""


def _handles_fault(names: list[str], handles: list[str]) -> str:
    return next(filter(None, map(_handle_fault, names, handles)), "")


def _handle(name: str, prefix: str) -> str:
    """The prefix plus the name. Numbers that are too short for a handle are padded: 8 with the prefix u becomes u_8."""
    short = HANDLE_MIN_CHARACTERS - len(prefix)
    return prefix + (name.rjust(short, "_") if name.isdecimal() else name)


def _handle_fault(name: str, handle: str) -> str:
    if not _HANDLE.fullmatch(handle):
        return f"{_excerpt(name)} makes the handle {_excerpt(handle)}, which is not 3 to 30 of a-z, 0-9 and _"
    if handle in RESERVED_HANDLES:
        return f"the handle {handle} is reserved"
    if len(handle) == HANDLE_MIN_CHARACTERS and name[0] == "_" and name.strip("_").isdecimal():
        return f"{name} would be the same account as {name.strip('_')}"
    return ""


def _excerpt(text: str) -> str:
    cut = text if len(text) <= EXCERPT_CHARACTERS else f"{text[:EXCERPT_CHARACTERS]}..."
    return ascii(cut)  # control characters never reach the terminal
