"""Endpoints for staff: current trends, which nobody reviews. Hidden posts and suspended accounts do not trend."""

from collections.abc import Callable

from django.apps import apps
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.admin_api.accounts import TAGS, reader_of
from apps.admin_api.entities import (
    AdminTagJson,
    AdminTrendingStatusJson,
    AdminTrendsLinkJson,
    AdminTrendsLinkPublisherJson,
    admin_tag_json,
    admin_trending_status_json,
)
from apps.api.decorators import endpoint, operation
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


@operation(
    "Trending links (staff)",
    list[AdminTrendsLinkJson],
    name="admin_trending_links",
    tags=TAGS,
    errors=[400, 401, 403],
    parameters=_PAGE,
)
@endpoint(GET=READ)
def links(request: Request) -> Response:
    """The trending links as visitors see them; always empty if the site has no link previews."""
    reader_of(request, "search", "trendingpost")
    query = request.query_params
    offset, limit = offset_of(query), Cursor.from_query(query).limit
    return Response(_links()[offset : offset + limit])


def _links() -> list[AdminTrendsLinkJson]:
    if not apps.is_installed("apps.previews"):
        return []
    from apps.previews.api import trends_link_json  # noqa: PLC0415 -- only if the app is installed
    from apps.previews.queries import trending_links  # noqa: PLC0415 -- as above

    return [
        {**trends_link_json(link), "id": str(link.id), "requires_review": False}
        for link in trending_links()
    ]


@operation(
    "Sites of trending links: always empty (staff)",
    list[AdminTrendsLinkPublisherJson],
    name="admin_trends_publishers",
    tags=TAGS,
    errors=[401, 403],
)
@endpoint(GET=READ)
def publishers(request: Request) -> Response:
    """Always empty: trends are not reviewed, so there are no sites to approve."""
    reader_of(request, "search", "trendingpost")
    return Response([])


def _review(kind: str, act: str) -> Callable[..., Response]:
    """The endpoint `approve` or `reject` for one kind of trends; it refuses every request."""

    @operation(
        f"{act.capitalize()} a trend: refused, because nobody reviews trends (staff)",
        EMPTY_OBJECT,
        name=f"admin_{act}_{kind}",
        tags=TAGS,
        errors=[401, 403, 422],
    )
    @endpoint(POST=WRITE)
    def view(request: Request, trend_id: str) -> Response:
        """Refuse the request. The response is always 422."""
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
