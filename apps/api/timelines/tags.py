"""Tags: shown, followed, trending."""

from collections.abc import Callable

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.api.authentication import viewer_of
from apps.api.entities.tag import FeaturedTagJson, TagJson, tag_json
from apps.api.openapi import Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.api.params import offset_of
from apps.http import requests
from apps.paging import Cursor
from apps.scopes import ANY_TOKEN, scopes
from apps.tags import actions
from apps.tags.models import Tag
from apps.tags.queries import followed_page, known, tag_named, trending

FOLLOWED_DEFAULT, MAX_FOLLOWED = 100, 200
TRENDING_DEFAULT, MAX_TRENDING = 10, 20


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="show_tag",
    tags=["tags"],
    summary="A tag and how much it is used",
    responses={200: Entity(TagJson), **problems(404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def show(request: Request, name: str) -> Response:
    """A tag, whether anybody has used it or not."""
    return _tag(tag_named(name), requests.viewer_of(request))


def _change(name: str, summary: str, change: Callable[[User, str], Tag]) -> Callable[..., Response]:
    @scopes(POST="write:follows")
    @extend_schema(
        operation_id=f"{name}_tag",
        tags=["tags"],
        summary=summary,
        request=None,
        responses={200: Entity(TagJson), **problems(401, 404, 422)},
    )
    @api_view(["POST"])
    def endpoint(request: Request, name: str) -> Response:
        viewer = viewer_of(request)
        return _tag(change(viewer, name), viewer)

    return endpoint


follow = _change("follow", "Read a tag on your home page", actions.follow_tag)
unfollow = _change("unfollow", "Read a tag no more", actions.unfollow_tag)


def _tag(tag: Tag, viewer: User | None) -> Response:
    return Response(tag_json(known([tag], viewer)[0]))


@scopes(GET="read:follows")
@extend_schema(
    operation_id="followed_tags",
    tags=["tags"],
    summary="The tags you follow",
    parameters=CURSOR_PARAMETERS,
    responses={200: Entity(TagJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def followed(request: Request) -> Response:
    """The tags that the viewer follows, the latest first; follow the `Link` header."""
    viewer, query = viewer_of(request), request.query_params
    cursor = Cursor.from_query(query, default=FOLLOWED_DEFAULT, maximum=MAX_FOLLOWED)
    page = followed_page(viewer, cursor)
    return paged(request, page, [tag_json(usage) for usage in known(page.items, viewer)])


def _trends(name: str) -> Callable[..., Response]:
    @scopes(GET=ANY_TOKEN)
    @extend_schema(
        operation_id=name,
        tags=["trends"],
        summary="The tags that most accounts use now",
        parameters=[
            OpenApiParameter("limit", int, description="How many at most; clamped."),
            OpenApiParameter("offset", int, description="How many to pass over."),
        ],
        responses={200: Entity(TagJson, many=True), **problems(400)},
    )
    @api_view(["GET"])
    @permission_classes([AllowAny])
    def endpoint(request: Request) -> Response:
        query = request.query_params
        maximum = Cursor.from_query(query, default=TRENDING_DEFAULT, maximum=MAX_TRENDING).limit
        page = trending(maximum=maximum, offset=offset_of(query))
        tags = known(page, requests.viewer_of(request), are_in_use=True)
        return Response([tag_json(usage) for usage in tags])

    return endpoint


trends = _trends("trending_tags")
trends_short = _trends("trends")  # the older address of the same


@scopes(GET="read:accounts")
@extend_schema(
    operation_id="featured_tags",
    tags=["tags"],
    summary="The tags on your profile: none, this site has no such feature",
    responses={200: Entity(FeaturedTagJson, many=True), **problems(401)},
)
@api_view(["GET"])
def featured(request: Request) -> Response:
    """Nothing, for clients that ask."""
    del request
    return Response([])


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="account_featured_tags",
    tags=["accounts"],
    summary="The tags on a profile: none, this site has no such feature",
    responses={200: Entity(FeaturedTagJson, many=True), **problems(404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def featured_of(request: Request, account_id: int) -> Response:
    """Nothing, for clients that ask about an account that exists."""
    del request
    user_by_id(account_id)
    return Response([])
