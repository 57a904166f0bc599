"""Search, trends and suggestions."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.api.authentication import viewer_of
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.search import SearchJson, SuggestionJson, TrendsLinkJson, suggestion_json
from apps.api.entities.status import StatusJson, status_json
from apps.api.entities.tag import tag_json
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.pagination import MAX_PEOPLE, PEOPLE_DEFAULT, people_cursor
from apps.api.params import is_true, offset_of
from apps.errors import BadRequest
from apps.filters.models import FilterContext
from apps.http.requests import client_address
from apps.http.requests import viewer_of as anybody_of
from apps.paging import Cursor
from apps.scopes import ANY_TOKEN, scopes
from apps.search.people_search import dismiss, people_found, suggested
from apps.search.post_search import post_at, posts_found
from apps.search.query import parse_query
from apps.search.trends import trending_posts
from apps.tags.queries import known, tags_beginning
from apps.throttling import check_rate_limit
from apps.timeline.pipeline.filters import apply_filters
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import parse_id

KINDS = ("accounts", "statuses", "hashtags")
LIMIT = OpenApiParameter("limit", int, description="How many of each kind at most; clamped.")
OFFSET = OpenApiParameter("offset", int, description="How many to pass over, at most 150.")


@scopes(GET="read:search")
@extend_schema(
    operation_id="search",
    tags=["search"],
    summary="Find accounts, posts and tags",
    description=(
        "Words, phrases in quotes, and from:alice, before:2026-11-01, after:2026-11-01, has:image, is:reply, lang:zh. "
        "Public posts are found, and one's own. The address of a post or of a profile finds just that."
    ),
    parameters=[
        OpenApiParameter("q", str, required=True),
        OpenApiParameter("type", str, enum=KINDS),
        OpenApiParameter("account_id", str, description="Posts of this account only."),
        OpenApiParameter("following", bool, description="Only accounts that you follow."),
        OpenApiParameter("max_id", str),
        OpenApiParameter("min_id", str),
        OpenApiParameter("resolve", bool, description="There are no other sites to ask."),
        LIMIT,
        OFFSET,
    ],
    responses={200: Entity(SearchJson), **problems(400, 429)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def search(request: Request) -> Response:
    """What fits, in up to three groups."""
    _limit_rate(request)
    query, viewer = request.query_params, anybody_of(request)
    kind, text, offset = (
        query.get("type") or "",
        query.get("q", ""),
        offset_of(request.query_params),
    )
    if kind and kind not in KINDS:
        raise BadRequest("type is one of accounts, statuses, hashtags.")
    cursor = Cursor.from_query(query)
    results: SearchJson = {"accounts": [], "statuses": [], "hashtags": []}
    if kind in {"", "accounts"}:
        people = people_found(
            viewer,
            text,
            limit=cursor.limit,
            offset=offset,
            only_followed=is_true(query.get("following")),
        )
        results["accounts"] = [account_json(user) for user in people]
    if kind in {"", "statuses"}:
        items = _posts(request, viewer, text, cursor, offset)
        results["statuses"] = [status_json(item) for item in apply_filters(viewer, None, items)]
    if kind in {"", "hashtags"}:
        tags = tags_beginning(text.strip(), maximum=offset + cursor.limit)[offset:]
        results["hashtags"] = [tag_json(usage) for usage in known(tags, viewer, are_in_use=True)]
    return Response(results)


def _posts(
    request: Request, viewer: User | None, text: str, cursor: Cursor, offset: int
) -> list[FeedItem]:
    if (post := post_at(viewer, text)) is not None:
        return [post]
    cursor = Cursor(max_id=cursor.max_id, min_id=cursor.min_id, limit=offset + cursor.limit)
    page = posts_found(viewer, parse_query(text), cursor, author_id=_account_id(request))
    return page.items[offset:]


@scopes(GET="read:accounts")
@extend_schema(
    operation_id="search_accounts",
    tags=["search"],
    summary="Find accounts",
    parameters=[
        OpenApiParameter("q", str, required=True),
        OpenApiParameter("following", bool, description="Only accounts that you follow."),
        OpenApiParameter("resolve", bool, description="There are no other sites to ask."),
        LIMIT,
        OFFSET,
    ],
    responses={200: Entity(AccountJson, many=True), **problems(400, 401, 429)},
)
@api_view(["GET"])
def accounts(request: Request) -> Response:
    """Accounts by a part of the name or the beginning of the handle; the one of exactly this handle first."""
    _limit_rate(request)
    query, viewer = request.query_params, viewer_of(request)
    limit = Cursor.from_query(query, default=PEOPLE_DEFAULT, maximum=MAX_PEOPLE).limit
    people = people_found(
        viewer,
        query.get("q", ""),
        limit=limit,
        offset=offset_of(request.query_params),
        only_followed=is_true(query.get("following")),
    )
    return Response([account_json(user) for user in people])


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="trending_statuses",
    tags=["trends"],
    summary="Public posts that are liked and passed on most now",
    parameters=[LIMIT, OFFSET],
    responses={200: Entity(StatusJson, many=True), **problems(400)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def trends(request: Request) -> Response:
    """One post of each author at most; ranked every few minutes."""
    viewer = anybody_of(request)
    limit = Cursor.from_query(request.query_params).limit
    items = trending_posts(
        viewer.pk if viewer else None, limit=limit, offset=offset_of(request.query_params)
    )
    return Response(
        [status_json(item) for item in apply_filters(viewer, FilterContext.PUBLIC, items)]
    )


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="trending_links",
    tags=["trends"],
    summary="Links that many share: none, this site does not count them",
    responses={200: Entity(TrendsLinkJson, many=True)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def links(_request: Request) -> Response:
    """Nothing, for clients that ask."""
    return Response([])


@scopes(GET="read:accounts")
@extend_schema(
    operation_id="suggestions",
    tags=["accounts"],
    summary="Accounts that you may want to follow",
    parameters=[LIMIT],
    responses={200: Entity(SuggestionJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def suggestions(request: Request) -> Response:
    """The most followed accounts that one does not follow, block or mute yet."""
    return Response([suggestion_json(user) for user in _suggested(request)])


@scopes(GET="read:accounts")
@extend_schema(
    operation_id="suggested_accounts",
    tags=["accounts"],
    summary="The same in the older form",
    parameters=[LIMIT],
    responses={200: Entity(AccountJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def suggested_accounts(request: Request) -> Response:
    """Accounts without why."""
    return Response([account_json(user) for user in _suggested(request)])


@scopes(DELETE="write:accounts")
@extend_schema(
    operation_id="dismiss_suggestion",
    tags=["accounts"],
    summary="Do not suggest an account again",
    responses={200: EMPTY_OBJECT, **problems(401, 404)},
)
@api_view(["DELETE"])
def dismissed(request: Request, account_id: int) -> Response:
    """Wave a suggestion away."""
    dismiss(viewer_of(request), account_id)
    return Response({})


def _suggested(request: Request) -> list[User]:
    cursor = people_cursor(request)
    return suggested(viewer_of(request), limit=cursor.limit)


def _limit_rate(request: Request) -> None:
    viewer = anybody_of(request)
    check_rate_limit("search", str(viewer.pk) if viewer else client_address(request._request))  # noqa: SLF001 -- DRF has no public name for it


def _account_id(request: Request) -> int | None:
    text = request.query_params.get("account_id")
    try:
        return parse_id(text) if text else None
    except ValueError:
        raise BadRequest("account_id is not an id.") from None
