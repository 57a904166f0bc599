"""Conversations."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.entities.conversation import ConversationJson, conversation_json
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.conversations.actions import mark_read, remove_conversation
from apps.conversations.queries import conversations_page, one_conversation
from apps.paging import Cursor
from apps.scopes import scopes


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="conversations",
    tags=["timelines"],
    summary="Your talk with mentioned people, one entry for each thread",
    description="The cursor is the id of the last status of a conversation.",
    parameters=CURSOR_PARAMETERS,
    responses={200: Entity(ConversationJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def conversations(request: Request) -> Response:
    """The viewer's conversations, the newest said first."""
    page = conversations_page(viewer_of(request), Cursor.from_query(request.query_params))
    return paged(request, page, [conversation_json(conversation) for conversation in page.items])


@scopes(DELETE="write:conversations")
@extend_schema(
    operation_id="remove_conversation",
    tags=["timelines"],
    summary="Take a conversation off your list",
    description="What is said in it next brings it back.",
    responses={
        200: EMPTY_OBJECT,
        **problems(401, 404),
    },
)
@api_view(["DELETE"])
def one(request: Request, conversation_id: int) -> Response:
    """Forget one of the viewer's conversations; its posts stay."""
    remove_conversation(viewer_of(request), conversation_id)
    return Response({})


@scopes(POST="write:conversations")
@extend_schema(
    operation_id="read_conversation",
    tags=["timelines"],
    summary="Mark a conversation as read",
    request=None,
    responses={200: Entity(ConversationJson), **problems(401, 404)},
)
@api_view(["POST"])
def read(request: Request, conversation_id: int) -> Response:
    """Note that the viewer has read it."""
    viewer = viewer_of(request)
    mark_read(viewer, conversation_id)
    return Response(conversation_json(one_conversation(viewer, conversation_id)))
