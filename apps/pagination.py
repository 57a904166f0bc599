"""Cursors and pages: keyset paging by id, the same for HTML and JSON, without offsets.

All bounds are exclusive: `max_id` selects the newest items below an id, `since_id` the newest items above an id, and
`min_id` the items immediately above an id. Pages are always newest first.

The high bits of a post's id are the second of its creation, so a time can serve as a bound: lists of posts also accept
`date` and `until`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from apps.errors import BadRequest
from feedcache.ids import MAX_ID, first_id_at, parse_id

T = TypeVar("T")
U = TypeVar("U")

DEFAULT_LIMIT = 20
MAX_LIMIT = 40
MOMENTS = ("date", "until", "as_of")  # parameters that name a moment
# In links, the bounds of the linked page replace these parameters.
_BOUNDS = {"max_id", "since_id", "min_id", "date", "until"}
LIMIT_MAX_DIGITS = 9  # int() of many digits is slow


@dataclass(frozen=True, slots=True)
class Cursor:
    """The start and the maximum length of a page. All bounds are exclusive; `limit` is the maximum number of items."""

    max_id: int | None = None
    since_id: int | None = None
    min_id: int | None = None
    limit: int = DEFAULT_LIMIT

    @classmethod
    def from_query(
        cls,
        query: Mapping[str, str],
        *,
        default: int = DEFAULT_LIMIT,
        maximum: int = MAX_LIMIT,
        by_time: bool = False,
    ) -> "Cursor":
        """Read request parameters; clamp the limit to 1..`maximum`. `by_time`, for posts: also read `date` and `until`.

        Raises BadRequest for a malformed bound or limit, and for a time parameter that this list does not support.
        """
        supported = {"date", "until"} if by_time else set()
        refuse_moments(query, [name for name in MOMENTS if name not in supported])
        newest = (_bound(query, "max_id"), _day_bound(query), _moment_bound(query))
        return cls(
            max_id=min((bound for bound in newest if bound is not None), default=None),
            since_id=_bound(query, "since_id"),
            min_id=_bound(query, "min_id"),
            limit=_limit(query.get("limit"), default=default, maximum=maximum),
        )

    @property
    def wanted(self) -> int:
        """The number of items to fetch: one more than the limit, which shows whether there are more."""
        return self.limit + 1

    @property
    def ascending(self) -> bool:
        """Whether the page is read upwards, from `min_id`. Reading order is then oldest first, else newest first."""
        return self.min_id is not None

    @property
    def floor(self) -> int:
        """The exclusive lower bound, 0 for none."""
        return max(self.min_id or 0, self.since_id or 0)

    def beyond(self, item_id: int) -> "Cursor":
        """The cursor that continues after an item, in reading order."""
        return replace(self, min_id=item_id) if self.ascending else replace(self, max_id=item_id)

    def admits(self, item_id: int) -> bool:
        """Whether an id is within the bounds."""
        return item_id > self.floor and (self.max_id is None or item_id < self.max_id)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items newest first. `older` is the `max_id` of the next page, None at the end; `newer` is the `min_id` that leads
    to newer items.

    `ends_early`: the page is short but not the last, because the rules dropped most candidates.
    """

    items: list[T] = field(default_factory=list)
    older: int | None = None
    newer: int | None = None
    ends_early: bool = False

    def with_items(self, items: list[U]) -> "Page[U]":
        """The same page with other items, e.g. hydrated ones."""
        return Page(items, self.older, self.newer, self.ends_early)


def page_of_rows(queryset: Any, cursor: Cursor) -> Page[Any]:
    """A page of a QuerySet by primary key: a range read of `limit + 1` rows."""
    rows = queryset.filter(pk__gt=cursor.floor) if cursor.floor else queryset
    if cursor.max_id is not None:
        rows = rows.filter(pk__lt=cursor.max_id)
    rows = list(rows.order_by("pk" if cursor.ascending else "-pk")[: cursor.wanted])
    return to_page(rows, cursor, id_of=lambda row: row.pk)


def to_page(rows: Sequence[T], cursor: Cursor, *, id_of: Callable[[T], int]) -> Page[T]:
    """Make a page from up to `limit + 1` rows in reading order; the extra row only shows that there are more.

    If the cursor is ascending, `older` is set even if no older rows exist.
    """
    more, items = len(rows) > cursor.limit, list(rows[: cursor.limit])
    if cursor.ascending:
        items.reverse()
    if not items:
        return Page()
    older = id_of(items[-1]) if more or cursor.ascending else None
    return Page(items, older=older, newer=id_of(items[0]))


def link_header(url: str, query: Mapping[str, Sequence[str]], page: Page[Any]) -> str:
    """The value of the `Link` header (RFC 8288), `next` first; empty if the page has neither `older` nor `newer`.

    `query` maps each parameter to all its values, as in `QueryDict.lists`; the links keep those that are not bounds.
    """
    others = {name: values for name, values in query.items() if name not in _BOUNDS}
    begin = f"{url}?{urlencode(others, doseq=True)}&" if others else f"{url}?"
    links = []
    if page.older is not None:
        links.append(f'<{begin}max_id={page.older}>; rel="next"')
    if page.newer is not None:
        links.append(f'<{begin}min_id={page.newer}>; rel="prev"')
    return ", ".join(links)


def refuse_moments(query: Mapping[str, str], names: Sequence[str] = MOMENTS) -> None:
    """Raise BadRequest for a time parameter that a list does not support. Ignoring it would show the newest page."""
    if asked := [name for name in names if query.get(name)]:
        raise BadRequest(f"This list does not support {asked[0]}.", code="bad_parameter")


def parse_moment(text: str, name: str) -> datetime:
    """A moment in ISO 8601, UTC unless it names its zone. Raises BadRequest for anything else."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequest(f"{name} is not a time in ISO 8601.", code="bad_moment") from None


def id_after(moment: datetime) -> int:
    """The lowest id of the next second: an exclusive upper bound that admits all ids of the second of `moment`."""
    return max(0, min(first_id_at(int(moment.timestamp()) + 1), MAX_ID))


def parse_day(text: str) -> datetime:
    """The start (UTC) of a day given as 2026-11-20. Raises BadRequest for anything else."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise not_a_day() from None


def not_a_day() -> BadRequest:
    return BadRequest(_("Enter the day like this: 2026-11-20."), code="bad_moment")


def _day_bound(query: Mapping[str, str]) -> int | None:
    """The exclusive upper bound for `date` (UTC): the first id after that day."""
    text = query.get("date")
    return id_after(parse_day(text).replace(hour=23, minute=59, second=59)) if text else None


def _moment_bound(query: Mapping[str, str]) -> int | None:
    text = query.get("until")
    return id_after(parse_moment(text, "until")) if text else None


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
    if not (text.isascii() and text.isdigit()) or len(text) > LIMIT_MAX_DIGITS:
        raise BadRequest("limit is not a number.", code="bad_limit")
    return max(1, min(int(text), maximum))
