"""Relationships, followers and followees, circles."""

from collections.abc import Callable

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.queries import user_by_id, users_by_id
from apps.api.authentication import viewer_of
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
from apps.api.pagination import CURSOR_PARAMETERS, PEOPLE_DEFAULT, paged, people_cursor
from apps.api.params import id_params
from apps.graph.circle_queries import circles_to_post_to
from apps.graph.familiar import common_followers
from apps.graph.queries import followers_page, following_page
from apps.graph.relationships import endorsed_page
from apps.graph.relationships import relationships as standing_to
from apps.http.requests import viewer_id_of
from apps.paging import Cursor, Page
from apps.scopes import scopes

MAX_RELATIONSHIPS = 100
MAX_FAMILIAR = 20


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
    ids = id_params(request, maximum=MAX_RELATIONSHIPS)
    return Response([relationship_json(row) for row in standing_to(viewer_of(request).pk, ids)])


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
    viewer, ids = viewer_of(request), id_params(request, maximum=MAX_FAMILIAR)
    others = users_by_id(ids)
    familiar = common_followers(viewer, others.values(), limit=PEOPLE_DEFAULT)
    existing = [user_id for user_id in dict.fromkeys(ids) if user_id in others]
    return Response([familiar_json(user_id, familiar[user_id]) for user_id in existing])


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


def _people_endpoint(
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
        cursor = people_cursor(request)
        page = query(user_by_id(account_id), viewer_id_of(request), cursor)
        return paged(request, page, [account_json(user) for user in page.items])

    return endpoint


followers = _people_endpoint("account_followers", "Who follows an account", followers_page)
following = _people_endpoint("account_following", "Whom an account follows", following_page)
endorsed = _people_endpoint("account_endorsements", "Whom an account recommends", endorsed_page)
