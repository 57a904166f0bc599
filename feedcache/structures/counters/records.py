"""A record: the counts of one id in a few bytes.

One byte (low four bits: number of fields; high bit: counts that are too large are in the aux dict, separate entries of
the bucket), the low 16 bits of the revision, then the values in byte planes: the lowest byte of every field, the next
byte of every field, and so on; trailing zeros are left out. Five counts below 256 take at most eight bytes, whatever
their widths. Fields are only ever added at the end: an older record has fewer fields, and the missing fields are read
as 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

HEADER = 3
IN_AUX = 0x80
NUMBER = 0x0F  # the bits of the first byte that contain the number of fields
REVISIONS = 1 << 16
MAX_COUNT = (1 << 63) - 1  # in the aux dict
MAX_IN_RECORD = 10**15 - 1  # exact in Lua's doubles

Values = tuple[int, ...]


class Row(NamedTuple):
    """The counts of an id in PostgreSQL, with the revision of the row."""

    id: int
    values: tuple[int, ...]
    revision: int


class Packed(NamedTuple):
    """A record, and the counts that do not fit into it, by the index of their field."""

    record: bytes
    aux: dict[int, int]


@dataclass(frozen=True, slots=True)
class Field:
    """A count. Values up to `limit` (at most `width` bytes) are stored in the record, larger values in the aux dict.

    A counted field is counted in Redis and written to PostgreSQL later; any other field is copied from PostgreSQL.
    """

    name: str
    width: int = 4
    counted: bool = False

    @property
    def limit(self) -> int:
        """The largest value that fits into a record."""
        return min((1 << 8 * self.width) - 1, MAX_IN_RECORD)


@dataclass(frozen=True)
class Schema:
    """The fields of one kind of record, in an order that never changes.

    `rules`: raise this number when a field starts to count something else; the store is then rebuilt. Also raise the
    revisions of the changed rows, because a rebuild replaces only records with an older revision.
    """

    name: str
    fields: tuple[Field, ...]
    rules: int = 1

    def __post_init__(self) -> None:
        if not 1 <= len(self.fields) <= NUMBER:
            raise ValueError(f"1 to {NUMBER} fields, not {len(self.fields)}")
        if len({field.name for field in self.fields}) < len(self.fields):
            raise ValueError("two fields have the same name")
        if any(not 2 <= field.width <= 8 for field in self.fields):
            raise ValueError("a field is 2 to 8 bytes wide")

    @cached_property
    def zeros(self) -> tuple[int, ...]:
        return (0,) * len(self.fields)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def limits(self) -> tuple[int, ...]:
        return tuple(field.limit for field in self.fields)

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """The indexes of the counted fields."""
        return tuple(index for index, field in enumerate(self.fields) if field.counted)

    def index(self, name: str) -> int:
        """The index of a field. Raises KeyError if no field has this name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(name) from None

    def pack(self, values: Sequence[int], revision: int) -> Packed:
        """The record for one value per field. Raises ValueError if a value is missing, negative, or exceeds 63 bits."""
        if len(values) != len(self.fields):
            raise ValueError(f"{len(self.fields)} values, not {len(values)}")
        if min(values) < 0 or max(values) > MAX_COUNT:
            raise ValueError(f"a count is between 0 and {MAX_COUNT}: {values}")
        aux = {
            index: value
            for index, (value, limit) in enumerate(zip(values, self.limits, strict=True))
            if value > limit
        }
        stored = [0 if index in aux else value for index, value in enumerate(values)]
        maximum = max(stored)
        if maximum < 256:
            body = bytes(stored)
        else:
            planes = range(0, maximum.bit_length(), 8)
            body = bytes([value >> plane & 255 for plane in planes for value in stored])
        first = len(self.fields) | (IN_AUX if aux else 0)
        header = bytes([first]) + (revision % REVISIONS).to_bytes(2, "little")
        return Packed(header + body.rstrip(b"\0"), aux)

    def unpack(self, record: bytes, aux: Mapping[int, int] | None = None) -> tuple[int, ...]:
        """The values of the schema's fields; 0 for a field that the record lacks. Raises ValueError for garbage."""
        number, own = record[0] & NUMBER if len(record) >= HEADER else 0, len(self.fields)
        if not number:
            raise ValueError(f"not a record: {record!r}")
        if len(record) <= HEADER + number == HEADER + own and not aux:  # one plane: most records
            return (*record[HEADER:], *self.zeros[len(record) - HEADER :])
        values = [
            int.from_bytes(record[at::number], "little") for at in range(HEADER, HEADER + number)
        ]
        if number != own:
            values = [*values[:own], *[0] * (own - number)]
        for index, value in (aux or {}).items():
            if index < own:
                values[index] = value
        return tuple(values)


def revision_of(record: bytes) -> int:
    """The low 16 bits of the revision of a record."""
    return int.from_bytes(record[1:HEADER], "little")


def is_newer(revision: int, than: int) -> bool:
    """Whether a revision is newer than another, both modulo 2^16: it must be less than half of that range ahead."""
    return 0 < (revision - than) % REVISIONS < REVISIONS // 2


def revision_after(revision: int, *, than: int) -> int:
    """The first revision after `revision` that is also newer than `than`, which is the low 16 bits of a revision."""
    if is_newer(revision + 1, than):
        return revision + 1
    return revision + (than + 1 - revision) % REVISIONS
