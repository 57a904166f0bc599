"""Cursors and pages: keyset paging by id, the same for HTML and JSON. There are no offsets.

`max_id` is exclusive and reads down from it, `since_id` is exclusive and reads down from the newest, `min_id` is
exclusive and reads the page immediately above it. Pages are always newest first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from apps.errors import BadRequest
from feedcache.ids import parse_id

T = TypeVar("T")
U = TypeVar("U")

DEFAULT_LIMIT = 20
MAX_LIMIT = 40
_DIGITS = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position of a page. All bounds are exclusive; `limit` is the maximum number of items."""

    max_id: int | None = None
    since_id: int | None = None
    min_id: int | None = None
    limit: int = DEFAULT_LIMIT

    @classmethod
    def from_query(
        cls, query: Mapping[str, str], *, default: int = DEFAULT_LIMIT, maximum: int = MAX_LIMIT
    ) -> "Cursor":
        """From request parameters; the limit is clamped to 1..`maximum`.

        BadRequest when a bound is not an id or the limit not a number.
        """
        return cls(
            max_id=_bound(query, "max_id"),
            since_id=_bound(query, "since_id"),
            min_id=_bound(query, "min_id"),
            limit=_limit(query.get("limit"), default=default, maximum=maximum),
        )

    @property
    def ascending(self) -> bool:
        """Whether the page is read upwards, from `min_id`."""
        return self.min_id is not None

    @property
    def floor(self) -> int:
        """The exclusive lower bound, 0 for none."""
        return max(self.min_id or 0, self.since_id or 0)

    def beyond(self, item_id: int) -> "Cursor":
        """Continue after an item, in reading order."""
        return replace(self, min_id=item_id) if self.ascending else replace(self, max_id=item_id)

    def admits(self, item_id: int) -> bool:
        """Whether an id lies inside the bounds."""
        return item_id > self.floor and (self.max_id is None or item_id < self.max_id)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items newest first; `older` is the `max_id` of the next page, None at the end; `newer` the `min_id` above."""

    items: list[T] = field(default_factory=list)
    older: int | None = None
    newer: int | None = None

    def mapped(self, items: list[U]) -> "Page[U]":
        """The same page with other items, e.g. hydrated ones."""
        return Page(items, self.older, self.newer)


def page_of_rows(queryset: Any, cursor: Cursor, *, key: str = "pk") -> Page[Any]:
    """A page of a QuerySet whose `key` column is the cursor: a range read of `limit + 1` rows."""
    rows = queryset.filter(**{f"{key}__gt": cursor.floor}) if cursor.floor else queryset
    if cursor.max_id is not None:
        rows = rows.filter(**{f"{key}__lt": cursor.max_id})
    rows = list(rows.order_by(key if cursor.ascending else f"-{key}")[: cursor.limit + 1])
    return to_page(rows, cursor, id_of=lambda row: getattr(row, key))


def to_page(rows: Sequence[T], cursor: Cursor, *, id_of: Callable[[T], int]) -> Page[T]:
    """Up to `limit + 1` items, in reading order, as a page; the surplus one means that there are more."""
    more, items = len(rows) > cursor.limit, list(rows[: cursor.limit])
    if cursor.ascending:
        items.reverse()
    if not items:
        return Page()
    older = id_of(items[-1]) if more or cursor.ascending else None
    return Page(items, older=older, newer=id_of(items[0]))


def link_header(url: str, query: Mapping[str, str], page: Page[Any]) -> str:
    """The `Link` header (RFC 8288), `next` first, with the other parameters of the query. Empty without items."""
    others = {
        name: value for name, value in query.items() if name not in {"max_id", "since_id", "min_id"}
    }
    begin = f"{url}?{urlencode(others)}&" if others else f"{url}?"
    links = []
    if page.older is not None:
        links.append(f'<{begin}max_id={page.older}>; rel="next"')
    if page.newer is not None:
        links.append(f'<{begin}min_id={page.newer}>; rel="prev"')
    return ", ".join(links)


def _bound(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None or text == "":
        return None
    if text == "0":  # `min_id=0` usually asks for the oldest page
        return 0
    try:
        return parse_id(text)
    except ValueError:
        raise BadRequest(f"{name} is not a valid cursor.", code="bad_cursor") from None


def _limit(text: str | None, *, default: int, maximum: int) -> int:
    if text is None or text == "":
        return default
    if not _DIGITS.issuperset(text) or len(text) > 9:
        raise BadRequest("limit is not a number.", code="bad_limit")
    return max(1, min(int(text), maximum))
