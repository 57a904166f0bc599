"""Where in an order a page lies, as addresses say it."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.errors import BadRequest
from apps.paging import DEFAULT_LIMIT, Cursor
from feedcache.ids import parse_id

SESSION_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Place:
    """An order, and the post behind which a page begins."""

    session: int | None
    after: int | None
    limit: int = DEFAULT_LIMIT


def place_in(query: Mapping[str, str]) -> Place:
    """Read `session`, `after` and `limit`. BadRequest when one of them is no number, or `after` comes without its order."""
    session, after = query.get("session") or None, query.get("after") or None
    limit = Cursor.from_query({"limit": query.get("limit", "")}).limit
    if session is None:
        if after is not None:
            raise BadRequest("after needs the session it belongs to.", code="bad_cursor")
        return Place(None, None, limit)
    if not (session.isascii() and session.isdecimal() and len(session) <= SESSION_MAX_DIGITS):
        raise BadRequest("session is not a valid cursor.", code="bad_cursor")
    try:
        return Place(int(session), parse_id(after) if after else None, limit)
    except ValueError:
        raise BadRequest("after is not a valid cursor.", code="bad_cursor") from None
