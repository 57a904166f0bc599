"""Mastodon's endpoints for links: the posts with a link, and the links that trend."""

from django.urls import URLPattern, path
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.decorators import endpoint, operation
from apps.api.entities.search import TagDayJson, day_json
from apps.api.entities.status import PreviewCardJson, StatusJson, preview_card_json
from apps.api.pagination import POSTS_PARAMETERS, posts_cursor
from apps.api.params import offset_of
from apps.api.views.timelines import statuses_page
from apps.http.requests import viewer_of
from apps.pagination import Cursor
from apps.previews.queries import TrendingLink, link_timeline, trending_links
from apps.scopes import ANY_TOKEN


class TrendsLinkJson(PreviewCardJson):
    """A page that several people link to."""

    history: list[TagDayJson]


def trends_link_json(link: TrendingLink) -> TrendsLinkJson:
    days = [day_json(day) for day in link.history]
    return {**preview_card_json(link.preview), "history": days}


@operation(
    "Public posts with a link",
    list[StatusJson],
    name="link_timeline",
    tags=["timelines"],
    errors=[400, 404],
    parameters=[
        OpenApiParameter("url", str, required=True, description="`url` of a `card`, or the link."),
        *POSTS_PARAMETERS,
    ],
)
@endpoint(GET="read:statuses", public=True)
def of_link(request: Request) -> Response:
    """The public posts that show a preview of the page at `url`. Responds with 404 if the page has no preview."""
    cursor = posts_cursor(request)
    page = link_timeline(viewer_of(request), request.query_params.get("url", ""), cursor)
    return statuses_page(request, page)


@operation(
    "Trending links: the pages that most people link to in public posts",
    list[TrendsLinkJson],
    name="trending_links",
    tags=["trends"],
    errors=[400],
    parameters=[
        OpenApiParameter("limit", int, description="At most this many; clamped."),
        OpenApiParameter("offset", int, description="Results to skip, at most 150."),
    ],
)
@endpoint(GET=ANY_TOKEN, public=True)
def links(request: Request) -> Response:
    """Pages to which at least two accounts linked in the last two days."""
    query = request.query_params
    offset, limit = offset_of(query), Cursor.from_query(query, default=10, maximum=20).limit
    found = trending_links()[offset : offset + limit]
    return Response([trends_link_json(link) for link in found])


urlpatterns: list[URLPattern] = [
    path("timelines/link", of_link),
    path("trends/links", links),
]
