"""The API's reads of the graph: how one stands to accounts, the lists of people, circles."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.queries import user_by_id, users_by_id
from apps.addresses import absolute
from apps.api.accounts.accounts import asked_ids, viewer_of
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.relationship import (
    CircleJson,
    FamiliarFollowersJson,
    RelationshipJson,
    circle_json,
    familiar_json,
    relationship_json,
)
from apps.api.openapi import Entity, problems
from apps.graph.circle_queries import circles_to_post_to
from apps.graph.familiar import common_followers
from apps.graph.queries import followers_page, following_page
from apps.graph.relationships import endorsed_page
from apps.graph.relationships import relationships as standing_to
from apps.http.requests import viewer_id_of
from apps.paging import Cursor, Page, link_header
from apps.scopes import scopes

PEOPLE_DEFAULT, MAX_PEOPLE = 40, 80
MAX_RELATIONSHIPS = 100
MAX_FAMILIAR = 20

CURSOR_PARAMETERS = [
    OpenApiParameter("max_id", str, description="Older than this, exclusive."),
    OpenApiParameter("since_id", str, description="Newer than this, from the newest down."),
    OpenApiParameter("min_id", str, description="The page just above this."),
    OpenApiParameter("limit", int, description="How many at most; clamped."),
]


@scopes(GET="read:follows")
@extend_schema(
    operation_id="relationships",
    tags=["accounts"],
    summary="How you stand to accounts",
    parameters=[OpenApiParameter("id[]", str, many=True)],
    responses={200: Entity(RelationshipJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def relationships(request: Request) -> Response:
    """The relations to up to 100 accounts, in the order asked."""
    ids = asked_ids(request, maximum=MAX_RELATIONSHIPS)
    return Response([relationship_json(one) for one in standing_to(viewer_of(request).pk, ids)])


@scopes(GET="read:follows")
@extend_schema(
    operation_id="familiar_followers",
    tags=["accounts"],
    summary="Who of those you follow follows accounts",
    parameters=[OpenApiParameter("id[]", str, many=True)],
    responses={200: Entity(FamiliarFollowersJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def familiar_followers(request: Request) -> Response:
    """For up to 20 accounts up to 40 people each, the best known first; accounts that do not exist are left out."""
    viewer, ids = viewer_of(request), asked_ids(request, maximum=MAX_FAMILIAR)
    others = users_by_id(ids)
    found = common_followers(viewer, others.values(), limit=PEOPLE_DEFAULT)
    asked = [user_id for user_id in dict.fromkeys(ids) if user_id in others]
    return Response([familiar_json(user_id, found[user_id]) for user_id in asked])


@scopes(GET="read:lists")
@extend_schema(
    operation_id="circles",
    tags=["circles"],
    summary="The circles you may post to",
    responses={200: Entity(CircleJson, many=True), **problems(401)},
)
@api_view(["GET"])
def circles(request: Request) -> Response:
    """Own circles and shared ones, at most 200; they are made and filled on the settings pages."""
    return Response([circle_json(circle) for circle in circles_to_post_to(viewer_of(request))])


def _people(
    name: str, summary: str, query: Callable[[User, int | None, Cursor], Page[User]]
) -> Callable[..., Response]:
    @scopes(GET="read:accounts")
    @extend_schema(
        operation_id=name,
        tags=["accounts"],
        summary=summary,
        parameters=CURSOR_PARAMETERS,
        responses={200: Entity(AccountJson, many=True), **problems(400, 404)},
    )
    @api_view(["GET"])
    @permission_classes([AllowAny])
    def endpoint(request: Request, account_id: int) -> Response:
        cursor = Cursor.from_query(request.query_params, default=PEOPLE_DEFAULT, maximum=MAX_PEOPLE)
        page = query(user_by_id(account_id), viewer_id_of(request), cursor)
        return paged(request, page, [account_json(user) for user in page.items])

    return endpoint


followers = _people("account_followers", "Who follows an account", followers_page)
following = _people("account_following", "Whom an account follows", following_page)
endorsed = _people("account_endorsements", "Whom an account recommends", endorsed_page)


def paged(request: Request, page: Page[Any], body: object) -> Response:
    """A list with its `Link` header."""
    link = link_header(absolute(request.path), request.query_params, page)
    return Response(body, headers={"Link": link} if link else None)
