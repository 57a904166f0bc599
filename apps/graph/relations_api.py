"""The API's changes of relations, and one's own lists of people: follow, block, mute, note, follow requests."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from apps.accounts.api import viewer_of
from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.accounts.schema import AccountSchema, ProblemSchema
from apps.accounts.serializers import account_json
from apps.graph import actions, request_actions
from apps.graph.api import CURSOR_PARAMETERS, PEOPLE_DEFAULT, PEOPLE_MOST, paged
from apps.graph.relationships import blocked_page, muted_page, relationships, requests_page
from apps.graph.schema import (
    FollowInput,
    MutedAccountSchema,
    MuteInput,
    NoteInput,
    RelationshipSchema,
)
from apps.graph.serializers import muted_json, relationship_json
from apps.paging import Cursor, Page
from apps.scopes import scopes

Act = Callable[[User, User, dict[str, Any]], None]
Endpoint = Callable[..., Response]
CHANGED = {
    200: RelationshipSchema,
    400: ProblemSchema,
    401: ProblemSchema,
    403: ProblemSchema,
    404: ProblemSchema,
    422: ProblemSchema,
    429: ProblemSchema,
}


def _change(
    name: str,
    summary: str,
    act: Act,
    *,
    scope: str,
    said: type[Serializer[Any]] | None = None,
    about: str = "",
) -> Endpoint:
    """An endpoint that changes how the viewer stands to an account, and answers how that is now."""

    @scopes(POST=scope)
    @extend_schema(
        operation_id=f"{name}_account",
        tags=["accounts"],
        summary=summary,
        description=about or None,
        request=said,
        responses=CHANGED,
    )
    @api_view(["POST"])
    def endpoint(request: Request, account_id: int) -> Response:
        viewer, other = viewer_of(request), user_by_id(account_id)
        act(viewer, other, _said(request, said) if said else {})
        return Response(relationship_json(relationships(viewer.pk, [other.pk])[0]))

    return endpoint


def _said(request: Request, form: type[Serializer[Any]]) -> dict[str, Any]:
    said = form(data=request.data)
    said.is_valid(raise_exception=True)
    return dict(said.validated_data)


follow = _change(
    "follow",
    "Follow an account",
    lambda viewer, other, said: actions.follow_user(
        viewer, other, reposts=said["reblogs"], notify=said["notify"]
    ),
    said=FollowInput,
    about="A locked account is asked. Of an account that is followed already, or asked, what is said changes.",
    scope="write:follows",
)
unfollow = _change(
    "unfollow",
    "Stop following an account, or asking to",
    lambda viewer, other, _said: actions.unfollow_user(viewer, other),
    scope="write:follows",
)
remove_from_followers = _change(
    "remove_from_followers",
    "End an account's following of you",
    lambda viewer, other, _said: actions.remove_follower(viewer, other),
    scope="write:follows",
)
block = _change(
    "block",
    "Block an account",
    lambda viewer, other, _said: actions.block_user(viewer, other),
    scope="write:blocks",
)
unblock = _change(
    "unblock",
    "End a block",
    lambda viewer, other, _said: actions.unblock_user(viewer, other),
    scope="write:blocks",
)
mute = _change(
    "mute",
    "Mute an account",
    lambda viewer, other, said: actions.mute_user(
        viewer, other, notifications=said["notifications"], seconds=said["duration"]
    ),
    said=MuteInput,
    about="Muting again changes the terms. A mute with a duration ends within seconds of its time.",
    scope="write:mutes",
)
unmute = _change(
    "unmute",
    "End a mute",
    lambda viewer, other, _said: actions.unmute_user(viewer, other),
    scope="write:mutes",
)
note = _change(
    "note",
    "Note something about an account, for yourself",
    lambda viewer, other, said: actions.note_about(viewer, other, said["comment"]),
    said=NoteInput,
    about="An empty comment takes the note away.",
    scope="write:accounts",
)
authorize = _change(
    "authorize",
    "Let an account that asked follow you",
    lambda viewer, other, _said: request_actions.approve_request(viewer, other),
    scope="write:follows",
)
reject = _change(
    "reject",
    "Do not let an account that asked follow you",
    lambda viewer, other, _said: request_actions.reject_request(viewer, other),
    scope="write:follows",
)


def _own_list(
    name: str, summary: str, query: Callable[[User, Cursor], Page[User]], *, scope: str
) -> Callable[..., Response]:
    @scopes(GET=scope)
    @extend_schema(
        operation_id=name,
        tags=["accounts"],
        summary=summary,
        description="Follow the `Link` header: the cursor is no account id.",
        parameters=CURSOR_PARAMETERS,
        responses={200: AccountSchema(many=True), 400: ProblemSchema, 401: ProblemSchema},
    )
    @api_view(["GET"])
    def endpoint(request: Request) -> Response:
        page = query(viewer_of(request), _cursor(request))
        return paged(request, page, [account_json(user) for user in page.items])

    return endpoint


blocks = _own_list("blocks", "Whom you have blocked", blocked_page, scope="read:blocks")
follow_requests = _own_list(
    "follow_requests", "Who asks to follow you", requests_page, scope="read:follows"
)


@scopes(GET="read:mutes")
@extend_schema(
    operation_id="mutes",
    tags=["accounts"],
    summary="Whom you have muted",
    description="Follow the `Link` header: the cursor is no account id.",
    parameters=CURSOR_PARAMETERS,
    responses={200: MutedAccountSchema(many=True), 400: ProblemSchema, 401: ProblemSchema},
)
@api_view(["GET"])
def mutes(request: Request) -> Response:
    """Whom the viewer has muted, the newest first, and until when."""
    page = muted_page(viewer_of(request), _cursor(request))
    return paged(request, page, [muted_json(user, ends_at) for user, ends_at in page.items])


def _cursor(request: Request) -> Cursor:
    return Cursor.from_query(request.query_params, default=PEOPLE_DEFAULT, most=PEOPLE_MOST)
