"""Follows, blocks, mutes, recommendations, notes and follow requests; lists of followers, followees and others."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from apps.accounts.models import User
from apps.accounts.queries import user_by_id, users_by_id
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.account import (
    AccountJson,
    DomainInput,
    FamiliarFollowersJson,
    FollowInput,
    MutedAccountJson,
    MuteInput,
    NoteInput,
    RelationshipJson,
    account_json,
    familiar_followers_json,
    muted_account_json,
    relationship_json,
)
from apps.api.openapi import EMPTY_OBJECT, Entity
from apps.api.pagination import CURSOR_PARAMETERS, PEOPLE_DEFAULT, paged, people_cursor
from apps.api.params import id_params, validated
from apps.errors import invalid
from apps.graph import actions
from apps.graph.familiar_followers import common_followers
from apps.graph.queries import (
    blocked_page,
    endorsed_page,
    followers_page,
    following_page,
    friends_page,
    muted_page,
    requests_page,
)
from apps.graph.queries import relationships as standing_to
from apps.http.requests import viewer_id_of
from apps.pagination import Cursor, Page

MAX_RELATIONSHIPS = 100
MAX_FAMILIAR = 20
T = TypeVar("T")


def _change(
    name: str,
    summary: str,
    act: Callable[..., None],
    *,
    scope: str,
    form: type[Serializer[Any]] | None = None,
    description: str = "",
) -> Callable[..., Response]:
    """An endpoint that changes the viewer's relationship to an account and responds with the new one.

    `act` is called with the viewer, the account, and the fields of `form` as keyword arguments.
    """

    @operation(
        summary,
        RelationshipJson,
        name=f"{name}_account",
        tags=["accounts"],
        request=form,
        errors=[400, 401, 403, 404, 422, 429],
        description=description or None,
    )
    @endpoint(POST=scope)
    def view(request: Request, account_id: int) -> Response:
        viewer, other = viewer_of(request), user_by_id(account_id)
        act(viewer, other, **(validated(form(data=request.data)) if form else {}))
        return Response(relationship_json(standing_to(viewer.pk, [other.pk])[0]))

    return view


follow = _change(
    "follow",
    "Follow an account",
    actions.follow_user,
    form=FollowInput,
    description="A locked account gets a request. If you already follow it, or have asked to, only the options change.",
    scope="write:follows",
)
unfollow = _change(
    "unfollow",
    "Unfollow an account, or withdraw a follow request",
    actions.unfollow_user,
    scope="write:follows",
)
remove_from_followers = _change(
    "remove_from_followers",
    "Remove an account from your followers",
    actions.remove_follower,
    scope="write:follows",
)
block = _change("block", "Block an account", actions.block_user, scope="write:blocks")
unblock = _change("unblock", "Unblock an account", actions.unblock_user, scope="write:blocks")
mute = _change(
    "mute",
    "Mute an account",
    actions.mute_user,
    form=MuteInput,
    description="Muting again changes the options. A mute with a duration ends within seconds of its expiry.",
    scope="write:mutes",
)
unmute = _change("unmute", "Unmute an account", actions.unmute_user, scope="write:mutes")
endorse = _change(
    "endorse",
    "Recommend an account on your profile",
    actions.endorse_user,
    description="You must follow the account. Unfollowing it ends the recommendation.",
    scope="write:accounts",
)
unendorse = _change(
    "unendorse", "Stop recommending an account", actions.unendorse_user, scope="write:accounts"
)
pin = _change(
    "pin",
    "Recommend an account, at the older address",
    actions.endorse_user,
    scope="write:accounts",
)
unpin = _change(
    "unpin",
    "Stop recommending an account, at the older address",
    actions.unendorse_user,
    scope="write:accounts",
)
note = _change(
    "note",
    "Write a private note about an account",
    actions.note_about,
    form=NoteInput,
    description="An empty comment deletes the note.",
    scope="write:accounts",
)
authorize = _change(
    "authorize",
    "Accept a follow request",
    actions.approve_request,
    scope="write:follows",
)
reject = _change(
    "reject",
    "Reject a follow request",
    actions.reject_request,
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
) -> Callable[..., Response]:
    """An endpoint for one of the viewer's own lists of people, newest first."""

    @operation(
        summary,
        Entity(entity, many=True),
        name=name,
        tags=["accounts"],
        errors=[400, 401],
        description="Follow the `Link` header: the cursor is not an account id.",
        parameters=CURSOR_PARAMETERS,
    )
    @endpoint(GET=scope)
    def view(request: Request) -> Response:
        cursor = people_cursor(request)
        page = query(viewer_of(request), cursor)
        return paged(request, page, [to_json(item) for item in page.items])

    return view


blocks = _own_list(
    "blocks", "The accounts that you have blocked", blocked_page, account_json, scope="read:blocks"
)
endorsements = _own_list(
    "endorsements",
    "The accounts that you recommend",
    lambda owner, cursor: endorsed_page(owner, owner.pk, cursor),
    account_json,
    scope="read:accounts",
)
follow_requests = _own_list(
    "follow_requests", "Requests to follow you", requests_page, account_json, scope="read:follows"
)
mutes = _own_list(
    "mutes",
    "The accounts that you have muted",
    muted_page,
    lambda row: muted_account_json(*row),
    scope="read:mutes",
    entity=MutedAccountJson,
)


@operation(
    "Blocked sites: always empty",
    list[str],
    method="GET",
    errors=[400, 401],
    parameters=CURSOR_PARAMETERS,
)
@operation(
    "Block a site: refused, because there are no other sites",
    EMPTY_OBJECT,
    method="POST",
    name="block_domain",
    request=DomainInput,
    errors=[401, 422],
)
@operation(
    "Unblock a site",
    EMPTY_OBJECT,
    method="DELETE",
    name="unblock_domain",
    request=DomainInput,
    errors=[401, 422],
)
@endpoint(GET="read:blocks", POST="write:blocks", DELETE="write:blocks")
def domain_blocks(request: Request) -> Response:
    """The site does not federate: the list is always empty, and no site can be blocked."""
    if request.method == "GET":
        people_cursor(request)  # 400 for a malformed cursor, as everywhere
        return Response([])
    validated(DomainInput(data=request.data))
    if request.method == "POST":
        raise invalid(
            "domain",
            _("This site is not connected to other sites, so there are none to block."),
            "no_federation",
        )
    return Response({})


@operation(
    "Your relationships with accounts",
    list[RelationshipJson],
    tags=["accounts"],
    errors=[400, 401],
    parameters=[OpenApiParameter("id[]", str, many=True)],
)
@endpoint(GET="read:follows")
def relationships(request: Request) -> Response:
    """The relationships to up to 100 accounts, each once, in the requested order; missing accounts are left out."""
    ids = id_params(request, maximum=MAX_RELATIONSHIPS)
    users = users_by_id(ids)
    existing = [user_id for user_id in dict.fromkeys(ids) if user_id in users]
    return Response(
        [relationship_json(row) for row in standing_to(viewer_of(request).pk, existing)]
    )


@operation(
    "Accounts that you follow and that follow these accounts",
    list[FamiliarFollowersJson],
    tags=["accounts"],
    errors=[400, 401],
    parameters=[OpenApiParameter("id[]", str, many=True)],
)
@endpoint(GET="read:follows")
def familiar_followers(request: Request) -> Response:
    """Up to 40 people for each of up to 20 accounts, the most followed first; missing accounts are left out."""
    viewer, ids = viewer_of(request), id_params(request, maximum=MAX_FAMILIAR)
    others = users_by_id(ids)
    familiar = common_followers(viewer, others.values(), limit=PEOPLE_DEFAULT)
    existing = [user_id for user_id in dict.fromkeys(ids) if user_id in others]
    return Response([familiar_followers_json(user_id, familiar[user_id]) for user_id in existing])


def _people_endpoint(
    name: str, summary: str, query: Callable[[User, int | None, Cursor], Page[User]]
) -> Callable[..., Response]:
    @operation(
        summary,
        list[AccountJson],
        name=name,
        tags=["accounts"],
        errors=[400, 404],
        parameters=CURSOR_PARAMETERS,
    )
    @endpoint(GET="read:accounts", public=True)
    def view(request: Request, account_id: int) -> Response:
        cursor = people_cursor(request)
        page = query(user_by_id(account_id), viewer_id_of(request), cursor)
        return paged(request, page, [account_json(user) for user in page.items])

    return view


followers = _people_endpoint("account_followers", "The followers of an account", followers_page)
following = _people_endpoint("account_following", "The followees of an account", following_page)
friends = _people_endpoint("account_friends", "The friends of an account", friends_page)
endorsed = _people_endpoint("account_endorsements", "Recommendations of an account", endorsed_page)
