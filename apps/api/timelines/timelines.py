"""The API's timelines: home, public, one account's statuses, bookmarks."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.api.authentication import viewer_of
from apps.api.entities.status import ActivityJson, StatusJson, status_json, statuses_as_bytes
from apps.api.openapi import Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.api.params import is_true
from apps.filters.models import FilterContext
from apps.http import requests
from apps.http.requests import viewer_id_of
from apps.lists.queries import own_list
from apps.paging import Cursor, Page
from apps.scopes import scopes
from apps.tags.names import normal_many
from apps.tags.queries import tag_named
from apps.timeline.home import get_activity, home_timeline
from apps.timeline.list import list_timeline
from apps.timeline.pipeline.filters import apply_filters, apply_filters_to_page
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.profile import ProfileFilter, pinned_posts, profile_timeline
from apps.timeline.public import public_timeline
from apps.timeline.reactions import bookmarks_timeline, favourites_timeline
from apps.timeline.tag import MAX_NAMES, TagQuery, tag_timeline
from feedcache.timing import stage

PROFILE_FLAGS = ["only_media", "pinned", "exclude_replies", "exclude_reblogs", "exclude_direct"]
TAG_MAX_CHARACTERS = 101  # with its #
REMOTE = OpenApiParameter("remote", bool, description="Posts of other sites: there are none.")
RESPONSES = {200: Entity(StatusJson, many=True), **problems(400)}


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="home_timeline",
    tags=["timelines"],
    summary="What the accounts you follow published",
    parameters=CURSOR_PARAMETERS,
    responses={**RESPONSES, **problems(401)},
)
@api_view(["GET"])
def home(request: Request) -> Response:
    """The viewer's home timeline."""
    page = home_timeline(viewer_of(request), Cursor.from_query(request.query_params))
    return statuses(request, page, FilterContext.HOME)


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="public_timeline",
    tags=["timelines"],
    summary="Everything said to everybody",
    parameters=[
        *CURSOR_PARAMETERS,
        OpenApiParameter("only_media", bool, description="Only posts with pictures."),
        OpenApiParameter("local", bool, description="All posts are of this site."),
        REMOTE,
    ],
    responses=RESPONSES,
)
@api_view(["GET"])
@permission_classes([AllowAny])
def public(request: Request) -> Response:
    """The public timeline."""
    query = request.query_params
    cursor, only_media = Cursor.from_query(query), is_true(query.get("only_media"))
    if is_true(query.get("remote")):
        return statuses(request, Page(), FilterContext.PUBLIC)
    page = public_timeline(viewer_id_of(request), cursor, only_media=only_media)
    return statuses(request, page, FilterContext.PUBLIC)


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="account_statuses",
    tags=["accounts"],
    summary="What an account published",
    description="`pinned` gives all that is pinned, the last pinned first, and heeds nothing else.",
    parameters=[
        *CURSOR_PARAMETERS,
        *(OpenApiParameter(name, bool) for name in PROFILE_FLAGS),
        OpenApiParameter("tagged", str, description="Only with this hashtag, without its #."),
    ],
    responses={**RESPONSES, **problems(404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def of_account(request: Request, account_id: int) -> Response:
    """An account's posts as the viewer may see them."""
    author, viewer_id = user_by_id(account_id), viewer_id_of(request)
    flags = {name: is_true(request.query_params.get(name)) for name in PROFILE_FLAGS}
    cursor = Cursor.from_query(request.query_params)
    if flags["pinned"]:
        return statuses(request, Page(pinned_posts(author, viewer_id)), FilterContext.ACCOUNT)
    profile_filter = ProfileFilter(
        replies=not flags["exclude_replies"],
        reposts=not flags["exclude_reblogs"],
        mentioned=not flags["exclude_direct"],
        only_pictures=flags["only_media"],
        tag=request.query_params.get("tagged", "")[:TAG_MAX_CHARACTERS].removeprefix("#"),
    )
    page = profile_timeline(author, viewer_id, cursor, profile_filter)
    return statuses(request, page, FilterContext.ACCOUNT)


@scopes(GET="read:favourites")
@extend_schema(
    operation_id="favourites",
    tags=["timelines"],
    summary="What you like",
    parameters=CURSOR_PARAMETERS,
    responses={**RESPONSES, **problems(401)},
)
@api_view(["GET"])
def favourites(request: Request) -> Response:
    """The posts that the viewer likes; follow the `Link` header, the cursor is not a status id."""
    return statuses(
        request, favourites_timeline(viewer_of(request), Cursor.from_query(request.query_params))
    )


@scopes(GET="read:bookmarks")
@extend_schema(
    operation_id="bookmarks",
    tags=["timelines"],
    summary="What you keep for later",
    parameters=CURSOR_PARAMETERS,
    responses={**RESPONSES, **problems(401)},
)
@api_view(["GET"])
def bookmarks(request: Request) -> Response:
    """The viewer's bookmarks; follow the `Link` header, the cursor is not a status id."""
    return statuses(
        request, bookmarks_timeline(viewer_of(request), Cursor.from_query(request.query_params))
    )


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="activity",
    tags=["timelines"],
    summary="What came to your home timeline since you last asked",
    description="Posts whose delivery was slow are told too, though their ids are older. Without `last_id`: the newest.",
    parameters=[
        OpenApiParameter("last_id", str, description="From the answer before, or a status id."),
        OpenApiParameter("limit", int),
    ],
    responses={200: Entity(ActivityJson), **problems(400, 401)},
)
@api_view(["GET"])
def activity(request: Request) -> Response:
    """What is unread; go on from the `last_id` of the answer."""
    limit = Cursor.from_query(request.query_params).limit
    viewer = viewer_of(request)
    unread = get_activity(viewer, request.query_params.get("last_id"), limit=limit)
    items = [status_json(item) for item in apply_filters(viewer, FilterContext.HOME, unread.items)]
    return Response(ActivityJson(items=items, last_id=unread.last_id, more=unread.more))


@scopes(GET="read:lists")
@extend_schema(
    operation_id="list_timeline",
    tags=["timelines"],
    summary="What the people in one of your lists said",
    parameters=CURSOR_PARAMETERS,
    responses={**RESPONSES, **problems(401, 404)},
)
@api_view(["GET"])
def of_list(request: Request, list_id: int) -> Response:
    """A list's timeline."""
    viewer = viewer_of(request)
    cursor = Cursor.from_query(request.query_params)
    page = list_timeline(viewer, own_list(viewer, list_id), cursor)
    return statuses(request, page, FilterContext.HOME)


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="tag_timeline",
    tags=["timelines"],
    summary="Public posts with a tag",
    parameters=[
        *CURSOR_PARAMETERS,
        OpenApiParameter("any[]", str, many=True, description="Or one of these, at most four."),
        OpenApiParameter("all[]", str, many=True, description="And each of these, at most four."),
        OpenApiParameter("none[]", str, many=True, description="And none of these, at most four."),
        OpenApiParameter("only_media", bool),
        OpenApiParameter("local", bool, description="All posts are of this site."),
        REMOTE,
    ],
    responses={**RESPONSES, **problems(404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def of_tag(request: Request, name: str) -> Response:
    """A tag's timeline; a tag that nobody uses has an empty one."""
    query = request.query_params
    cursor = Cursor.from_query(query)
    tag_query = TagQuery(
        tag_named(name).name,
        any_of=_tag_names(request, "any"),
        all_of=_tag_names(request, "all"),
        none_of=_tag_names(request, "none"),
        only_media=is_true(query.get("only_media")),
    )
    page = tag_timeline(viewer_id_of(request), tag_query, cursor)
    return statuses(request, Page() if is_true(query.get("remote")) else page, FilterContext.PUBLIC)


def _tag_names(request: Request, name: str) -> list[str]:
    query = request.query_params
    return normal_many([*query.getlist(f"{name}[]"), *query.getlist(name)])[:MAX_NAMES]


def statuses(
    request: Request, page: Page[FeedItem], context: FilterContext | None = None
) -> Response:
    """A page of statuses with its `Link` header; `context` is where filters apply."""
    with stage("present"):
        filtered = apply_filters_to_page(requests.viewer_of(request), context, page)
        return paged(request, filtered, statuses_as_bytes(filtered.items))
