"""Explanations: why a status is on the viewer's home timeline, or why not."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.entities.explanation import ExplanationJson, explanation_json
from apps.api.openapi import Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.audit.explain.reasons import explain, explain_home
from apps.paging import Cursor
from apps.scopes import scopes


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="explain_status",
    tags=["explain"],
    summary="Why a status is on your home timeline, or why not",
    responses={200: Entity(ExplanationJson), **problems(401, 404)},
)
@api_view(["GET"])
def status(request: Request, status_id: int) -> Response:
    """Why one status is there or not."""
    return Response(explanation_json(explain(viewer_of(request), status_id)))


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="explain_home",
    tags=["explain"],
    summary="Your home timeline, each status with why it is there",
    parameters=CURSOR_PARAMETERS,
    responses={200: Entity(ExplanationJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def home(request: Request) -> Response:
    """A page of the home timeline, explained."""
    page = explain_home(viewer_of(request), Cursor.from_query(request.query_params))
    return paged(request, page, [explanation_json(explanation) for explanation in page.items])
