"""The aggregate feed in the API."""

from typing import Annotated, TypedDict
from urllib.parse import urlencode

from django.urls import URLPattern, path
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.addresses import absolute
from apps.aggregate.queries import Action, ActionCursor, Verb, aggregate_page
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import DateTime, timestamp
from apps.api.entities.status import StatusJson, status_json
from feedcache.stats import stage


class ActionJson(TypedDict):
    """An action of an account: a like, a repost or a follow."""

    verb: Annotated[str, Verb]
    group_key: Annotated[
        str, "The verb and the object; show actions with the same key on one line."
    ]
    created_at: DateTime
    account: Annotated[AccountJson, "The account that did it."]
    status: Annotated[StatusJson | None, "The liked or reposted status."]
    target_account: Annotated[AccountJson | None, "The followed account."]


def action_json(action: Action) -> ActionJson:
    return {
        "verb": action.verb.value,
        "group_key": action.group_key,
        "created_at": timestamp(action.created_at),
        "account": account_json(action.actor),
        "status": status_json(action.item) if action.item else None,
        "target_account": account_json(action.target) if action.target else None,
    }


@operation(
    "Likes, reposts and follows by the people you follow",
    list[ActionJson],
    errors=[400, 401],
    description="Single actions, newest first. Their `group_key` lets clients show `A, B and 3 others liked ...`. "
    "Follow the `Link` header: no action is lost or repeated.",
    parameters=[
        OpenApiParameter("after", str, description="From the `Link` header."),
        OpenApiParameter("limit", int, description="At most this many; clamped."),
    ],
)
@endpoint(GET="read:statuses")
def aggregate(request: Request) -> Response:
    """A page of the aggregate feed, without the actions of people who hide them (`hides_activity`)."""
    cursor = ActionCursor.from_query(request.query_params)
    page = aggregate_page(viewer_of(request), cursor)
    with stage("present"):
        body = [action_json(action) for action in page.items]
    headers = None
    if page.after is not None:
        query = urlencode({"after": str(page.after), "limit": cursor.limit})
        headers = {"Link": f'<{absolute(request.path)}?{query}>; rel="next"'}
    return Response(body, headers=headers)


urlpatterns: list[URLPattern] = [path("aggregate", aggregate)]
