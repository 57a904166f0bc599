"""Pagination in the API: the query parameters, and the `Link` header with the next and the previous page."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.addresses import absolute
from apps.pagination import Cursor, Page, link_header

PEOPLE_DEFAULT, MAX_PEOPLE = 40, 80
ENDS_EARLY = "X-Feed-Ends-Early"
CURSOR_PARAMETERS = [
    OpenApiParameter("max_id", str, description="Older than this, exclusive."),
    OpenApiParameter("since_id", str, description="Newer than this id, newest first."),
    OpenApiParameter("min_id", str, description="The items immediately newer than this id."),
    OpenApiParameter("limit", int, description="How many at most."),
]

# For lists of posts. The id of a post begins with its time, so a time can be a bound too.
POSTS_PARAMETERS = [
    *CURSOR_PARAMETERS,
    OpenApiParameter("date", str, description="Up to the end of this day (UTC), like 2026-11-20."),
    OpenApiParameter(
        "until", str, description="Up to this second, in ISO 8601; in UTC unless it names a zone."
    ),
]


def posts_cursor(request: Request) -> Cursor:
    """The cursor of a page of posts."""
    return Cursor.from_query(request.query_params, by_time=True)


def people_cursor(request: Request) -> Cursor:
    """The cursor of a page of accounts, which is longer than a page of posts."""
    return Cursor.from_query(request.query_params, default=PEOPLE_DEFAULT, maximum=MAX_PEOPLE)


def paged(request: Request, page: Page[Any], body: object) -> Response:
    """A response with the `Link` header of a page and, if the page ends early, the header that says so."""
    link = link_header(absolute(request.path), dict(request.query_params.lists()), page)
    return Response(body, headers=({"Link": link} if link else {}) | ends_early_header(page))


def ends_early_header(page: Page[Any]) -> dict[str, str]:
    """The header that marks a page as shorter than requested although more items follow; empty for other pages."""
    return {ENDS_EARLY: "true"} if page.ends_early else {}
