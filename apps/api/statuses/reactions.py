"""Who liked, reposted or quoted a status."""

from collections.abc import Callable

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.status import StatusJson
from apps.api.openapi import Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, paged, people_cursor
from apps.api.timelines.timelines import statuses
from apps.http.requests import viewer_id_of
from apps.paging import Cursor, Page
from apps.scopes import scopes
from apps.timeline.reactions import likers, quotes_timeline, reposters


def _people_endpoint(
    name: str, summary: str, query: Callable[[int | None, int, Cursor], Page[User]]
) -> Callable[..., Response]:
    @scopes(GET="read:accounts")
    @extend_schema(
        operation_id=name,
        tags=["statuses"],
        summary=summary,
        description="Follow the `Link` header: the cursor is no id of an account.",
        parameters=CURSOR_PARAMETERS,
        responses={200: Entity(AccountJson, many=True), **problems(400, 404)},
    )
    @api_view(["GET"])
    @permission_classes([AllowAny])
    def endpoint(request: Request, status_id: int) -> Response:
        cursor = people_cursor(request)
        page = query(viewer_id_of(request), status_id, cursor)
        return paged(request, page, [account_json(user) for user in page.items])

    return endpoint


favourited_by = _people_endpoint("favourited_by", "Who likes a post", likers)
reblogged_by = _people_endpoint("reblogged_by", "Who reposted a post", reposters)


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="status_quotes",
    tags=["statuses"],
    summary="What quotes a post",
    parameters=CURSOR_PARAMETERS,
    responses={200: Entity(StatusJson, many=True), **problems(400, 404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def quotes(request: Request, status_id: int) -> Response:
    """The posts that quote this one, newest first."""
    cursor = Cursor.from_query(request.query_params)
    return statuses(request, quotes_timeline(viewer_id_of(request), status_id, cursor))
