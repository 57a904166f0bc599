"""Endpoints for staff: current trends, which nobody reviews. Hidden posts and suspended accounts do not trend."""

from collections.abc import Callable

from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.admin_api.accounts import TAGS, reader_of
from apps.admin_api.entities import (
    AdminTagJson,
    AdminTrendingStatusJson,
    AdminTrendsLinkPublisherJson,
    admin_tag_json,
    admin_trending_status_json,
)
from apps.api.decorators import endpoint, operation
from apps.api.entities.search import TrendsLinkJson
from apps.api.openapi import EMPTY_OBJECT
from apps.api.params import offset_of
from apps.errors import Invalid
from apps.pagination import Cursor
from apps.search.trends import trending_posts
from apps.tags.queries import tag_usages
from apps.tags.trends import trending_tags

READ, WRITE = "admin:read", "admin:write"
_PAGE = [
    OpenApiParameter("limit", int, description="At most this many; clamped."),
    OpenApiParameter("offset", int, description="Results to skip, at most 150."),
]


@operation(
    "Trending tags (staff)",
    list[AdminTagJson],
    name="admin_trending_tags",
    tags=TAGS,
    errors=[400, 401, 403],
    parameters=_PAGE,
)
@endpoint(GET=READ)
def tags(request: Request) -> Response:
    """The trending tags as visitors see them."""
    reader_of(request, "tags", "tag")
    query = request.query_params
    limit = Cursor.from_query(query).limit
    found = trending_tags(maximum=limit, offset=offset_of(query))
    return Response([admin_tag_json(one) for one in tag_usages(found, None, are_in_use=True)])


@operation(
    "Trending posts (staff)",
    list[AdminTrendingStatusJson],
    name="admin_trending_statuses",
    tags=TAGS,
    errors=[400, 401, 403],
    parameters=_PAGE,
)
@endpoint(GET=READ)
def statuses(request: Request) -> Response:
    """The trending posts as visitors see them."""
    reader_of(request, "search", "trendingpost")
    query = request.query_params
    limit = Cursor.from_query(query).limit
    items = trending_posts(None, limit=limit, offset=offset_of(query))
    return Response([admin_trending_status_json(item) for item in items])


def _empty(name: str, summary: str, entity: type) -> Callable[..., Response]:
    @operation(
        summary,
        list[entity],  # type: ignore[valid-type]  # a TypedDict
        name=name,
        tags=TAGS,
        description="Always empty: the site does not count links.",
        errors=[401, 403],
    )
    @endpoint(GET=READ)
    def view(request: Request) -> Response:
        reader_of(request, "search", "trendingpost")
        return Response([])

    return view


links = _empty("admin_trending_links", "Trending links (staff)", TrendsLinkJson)
publishers = _empty(
    "admin_trends_publishers", "Sites of trending links (staff)", AdminTrendsLinkPublisherJson
)


def _review(kind: str, act: str) -> Callable[..., Response]:
    """The endpoint `approve` or `reject` of a kind of trends, which refuses every request."""

    @operation(
        f"{act.capitalize()} a trend: refused, because nobody reviews trends (staff)",
        EMPTY_OBJECT,
        name=f"admin_{act}_{kind}",
        tags=TAGS,
        errors=[401, 403, 422],
    )
    @endpoint(POST=WRITE)
    def view(request: Request, trend_id: str) -> Response:
        """Refuse the request: always 422."""
        del trend_id
        reader_of(request, "search", "trendingpost")
        text = _("Trends are not reviewed on this site. A post that is hidden does not trend.")
        raise Invalid(text, code="no_review")

    return view


urlpatterns: list[URLPattern] = [
    path("admin/trends/tags", tags),
    path("admin/trends/statuses", statuses),
    path("admin/trends/links", links),
    path("admin/trends/links/publishers", publishers),
    *[
        path(f"admin/trends/{kind}/<str:trend_id>/{act}", _review(kind.replace("/", "_"), act))
        for kind in ("tags", "statuses", "links", "links/publishers")
        for act in ("approve", "reject")
    ],
]
