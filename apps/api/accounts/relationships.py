"""Changes of relationships (follow, block, mute, note, follow
requests), and the viewer's lists of people.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.api.authentication import viewer_of
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.relationship import (
    MutedAccountJson,
    RelationshipJson,
    muted_json,
    relationship_json,
)
from apps.api.inputs.relationship import FollowInput, MuteInput, NoteInput
from apps.api.openapi import Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, paged, people_cursor
from apps.api.params import validated
from apps.graph import actions, request_actions
from apps.graph.relationships import (
    blocked_page,
    endorsed_page,
    muted_page,
    relationships,
    requests_page,
)
from apps.paging import Cursor, Page
from apps.scopes import scopes

Endpoint = Callable[..., Response]
T = TypeVar("T")
CHANGED = {200: Entity(RelationshipJson), **problems(400, 401, 403, 404, 422, 429)}


def _change(
    name: str,
    summary: str,
    act: Callable[..., None],
    *,
    scope: str,
    form: type[Serializer[Any]] | None = None,
    description: str = "",
) -> Endpoint:
    """An endpoint that changes the viewer's relationship to
    an account and responds with the new one.

    `act` is called with the viewer, the account, and the fields of `form` as keyword arguments.
    """

    @scopes(POST=scope)
    @extend_schema(
        operation_id=f"{name}_account",
        tags=["accounts"],
        summary=summary,
        description=description or None,
        request=form,
        responses=CHANGED,
    )
    @api_view(["POST"])
    def endpoint(request: Request, account_id: int) -> Response:
        viewer, other = viewer_of(request), user_by_id(account_id)
        act(viewer, other, **(validated(form(data=request.data)) if form else {}))
        return Response(relationship_json(relationships(viewer.pk, [other.pk])[0]))

    return endpoint


follow = _change(
    "follow",
    "Follow an account",
    actions.follow_user,
    form=FollowInput,
    description="A locked account is asked. Of an account that is followed already, or asked, what is said changes.",
    scope="write:follows",
)
unfollow = _change(
    "unfollow",
    "Stop following an account, or asking to",
    actions.unfollow_user,
    scope="write:follows",
)
remove_from_followers = _change(
    "remove_from_followers",
    "End an account's following of you",
    actions.remove_follower,
    scope="write:follows",
)
block = _change(
    "block",
    "Block an account",
    actions.block_user,
    scope="write:blocks",
)
unblock = _change(
    "unblock",
    "End a block",
    actions.unblock_user,
    scope="write:blocks",
)
mute = _change(
    "mute",
    "Mute an account",
    actions.mute_user,
    form=MuteInput,
    description="Muting again changes the terms. A mute with a duration ends within seconds of its time.",
    scope="write:mutes",
)
unmute = _change(
    "unmute",
    "End a mute",
    actions.unmute_user,
    scope="write:mutes",
)
endorse = _change(
    "endorse",
    "Recommend an account on your profile",
    actions.endorse_user,
    description="One that you follow; it ends when you stop.",
    scope="write:accounts",
)
unendorse = _change(
    "unendorse",
    "Recommend an account no more",
    actions.unendorse_user,
    scope="write:accounts",
)
pin = _change(
    "pin",
    "Recommend an account, under the older name",
    actions.endorse_user,
    scope="write:accounts",
)
unpin = _change(
    "unpin",
    "Recommend an account no more, under the older name",
    actions.unendorse_user,
    scope="write:accounts",
)
note = _change(
    "note",
    "Note something about an account, for yourself",
    actions.note_about,
    form=NoteInput,
    description="An empty comment takes the note away.",
    scope="write:accounts",
)
authorize = _change(
    "authorize",
    "Let an account that asked follow you",
    request_actions.approve_request,
    scope="write:follows",
)
reject = _change(
    "reject",
    "Do not let an account that asked follow you",
    request_actions.reject_request,
    scope="write:follows",
)


def _own_list(
    name: str,
    summary: str,
    query: Callable[[User, Cursor], Page[T]],
    to_json: Callable[[T], AccountJson],
    *,
    scope: str,
    entity: type[AccountJson] = AccountJson,
) -> Endpoint:
    """An endpoint for one of the viewer's own lists of people, newest first."""

    @scopes(GET=scope)
    @extend_schema(
        operation_id=name,
        tags=["accounts"],
        summary=summary,
        description="Follow the `Link` header: the cursor is no account id.",
        parameters=CURSOR_PARAMETERS,
        responses={200: Entity(entity, many=True), **problems(400, 401)},
    )
    @api_view(["GET"])
    def endpoint(request: Request) -> Response:
        cursor = people_cursor(request)
        page = query(viewer_of(request), cursor)
        return paged(request, page, [to_json(item) for item in page.items])

    return endpoint


blocks = _own_list(
    "blocks", "Whom you have blocked", blocked_page, account_json, scope="read:blocks"
)
endorsements = _own_list(
    "endorsements",
    "Whom you recommend",
    lambda owner, cursor: endorsed_page(owner, owner.pk, cursor),
    account_json,
    scope="read:accounts",
)
follow_requests = _own_list(
    "follow_requests", "Who asks to follow you", requests_page, account_json, scope="read:follows"
)
mutes = _own_list(
    "mutes",
    "Whom you have muted",
    muted_page,
    lambda row: muted_json(*row),
    scope="read:mutes",
    entity=MutedAccountJson,
)
