"""The ranked timeline."""

from urllib.parse import urlencode

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.addresses import absolute
from apps.api.authentication import viewer_of
from apps.api.entities.ranked import PresetJson, RankedStatusJson, reason_json
from apps.api.entities.status import status_json
from apps.api.inputs.ranked import PresetInput
from apps.api.openapi import Entity, problems
from apps.api.params import validated
from apps.filters.models import FilterContext
from apps.scopes import scopes
from apps.timeline.pipeline.filters import apply_filters
from apps.timeline.ranking.ordering import RankCursor, choose_preset, preset_of, ranked_page
from feedcache.timing import stage


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="ranked_timeline",
    tags=["timelines"],
    summary="The newest posts of your home timeline in order of their score, each with its reason",
    description="The order is made with the first page and kept for a day: follow the `Link` header, and no status comes twice.",
    parameters=[
        OpenApiParameter("session", str, description="The order, from the `Link` header."),
        OpenApiParameter("after", str, description="The last status of the page before."),
        OpenApiParameter("limit", int, description="How many at most; clamped."),
    ],
    responses={
        200: Entity(RankedStatusJson, many=True),
        **problems(400, 401, 404),
    },
)
@api_view(["GET"])
def ranked(request: Request) -> Response:
    """A page of the viewer's order."""
    viewer, cursor = viewer_of(request), RankCursor.from_query(request.query_params)
    page = ranked_page(viewer, session_id=cursor.session, after=cursor.after, limit=cursor.limit)
    with stage("present"):
        items = {item.id: item for item in apply_filters(viewer, FilterContext.HOME, page.items)}
        body: list[RankedStatusJson] = [
            {
                **status_json(items[entry.item.id]),
                "x_reason": reason_json(entry.scored, page.preset, entry.item.shown.author.handle),
            }
            for entry in page.entries
            if entry.item.id in items
        ]
    headers = None
    if page.after is not None:
        query = urlencode({"session": page.session, "after": page.after, "limit": cursor.limit})
        headers = {"Link": f'<{absolute(request.path)}?{query}>; rel="next"'}
    return Response(body, headers=headers)


@scopes(GET="read:accounts", PUT="write:accounts")
@extend_schema(
    methods=["GET"],
    operation_id="ranking_preset",
    tags=["timelines"],
    summary="How your ranked timeline is made",
    responses={200: Entity(PresetJson), **problems(401)},
)
@extend_schema(
    methods=["PUT"],
    operation_id="choose_ranking_preset",
    tags=["timelines"],
    summary="Choose how your ranked timeline is made",
    request=PresetInput,
    responses={200: Entity(PresetJson), **problems(401, 422)},
)
@api_view(["GET", "PUT"])
def preset(request: Request) -> Response:
    """The preset of the viewer's choice."""
    viewer = viewer_of(request)
    if request.method == "PUT":
        fields = validated(PresetInput(data=request.data))
        return Response(PresetJson(preset=choose_preset(viewer, fields["preset"]).value))
    return Response(PresetJson(preset=preset_of(viewer).value))
