"""Notifications (single ones in v1, groups in v2), read markers, and the policy that holds notifications back."""

from collections.abc import Callable, Collection

from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.queries import user_by_id, users_by_id
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.notification import (
    TYPES,
    AccountIdsInput,
    GroupedNotificationsJson,
    MarkersJson,
    NotificationJson,
    NotificationPolicyJson,
    NotificationRequestJson,
    PolicyInput,
    ReadMarkersInput,
    RequestsMergedJson,
    UnreadCountJson,
    groups_json,
    held_back_json,
    markers_json,
    notification_json,
    policy_json,
)
from apps.api.openapi import EMPTY_OBJECT
from apps.api.pagination import CURSOR_PARAMETERS, MAX_PEOPLE, PEOPLE_DEFAULT, paged, people_cursor
from apps.api.params import id_in_body, is_true, validated
from apps.errors import BadRequest, NotFound
from apps.notifications import actions
from apps.notifications.actions import (
    accept_notifications_from,
    change_policy,
    dismiss_group,
    dismiss_notifications_from,
)
from apps.notifications.grouping import (
    GROUP_KEY_PREFIXES,
    actors_page,
    get_group,
    groups_page,
    unread_group_count,
)
from apps.notifications.models import ReadMarker
from apps.notifications.queries import (
    MAX_UNREAD,
    get_notification,
    held_back_notifications,
    notifications_page,
    policy_of,
    read_markers,
    unread_count,
)
from apps.pagination import Cursor
from feedcache.ids import parse_id

GROUPS_DEFAULT, MAX_GROUPS = 40, 80
UNREAD_GROUPS_DEFAULT, MAX_UNREAD_GROUPS = 100, 1000
EXPANSIONS = ("full", "partial_avatars")
GROUPED_PARAMETER = OpenApiParameter(
    "grouped_types[]", str, many=True, description="Types to group; by default all possible."
)
Act = Callable[[User, list[int]], None]
INCLUDE_FILTERED = OpenApiParameter("include_filtered", bool, description="Include held-back ones.")
CHOICE_PARAMETERS = [
    OpenApiParameter("types[]", str, many=True, description="Only these types."),
    OpenApiParameter("exclude_types[]", str, many=True, description="All types except these."),
    OpenApiParameter("account_id", str, description="Only notifications from this account."),
]


@operation(
    "Your notifications",
    list[NotificationJson],
    errors=[400, 401],
    parameters=[
        *CURSOR_PARAMETERS,
        *CHOICE_PARAMETERS,
        INCLUDE_FILTERED,
    ],
)
@endpoint(GET="read:notifications")
def notifications(request: Request) -> Response:
    """The viewer's notifications, newest first. Reading them here does not mark them as read."""
    cursor = Cursor.from_query(request.query_params)
    page = notifications_page(
        viewer_of(request),
        cursor,
        kinds=kinds_of(request),
        actor_id=actor_of(request),
        include_filtered=is_true(request.query_params.get("include_filtered")),
    )
    return paged(request, page, [notification_json(notification) for notification in page.items])


@operation(
    "The number of unread notifications",
    UnreadCountJson,
    errors=[400, 401],
    parameters=[*CHOICE_PARAMETERS, OpenApiParameter("limit", int, description="At most 100.")],
)
@endpoint(GET="read:notifications")
def unread_notifications(request: Request) -> Response:
    """The number of unread notifications, at most 100."""
    maximum = Cursor.from_query(request.query_params, default=MAX_UNREAD, maximum=MAX_UNREAD).limit
    kinds, actor_id = kinds_of(request), actor_of(request)
    count = unread_count(viewer_of(request), kinds=kinds, actor_id=actor_id)
    return Response(UnreadCountJson(count=min(maximum, count)))


@operation("One notification", NotificationJson)
@endpoint(GET="read:notifications")
def notification(request: Request, notification_id: int) -> Response:
    """One of the viewer's notifications."""
    return Response(notification_json(get_notification(viewer_of(request), notification_id)))


@operation("Delete a notification", EMPTY_OBJECT)
@endpoint(POST="write:notifications")
def dismiss_notification(request: Request, notification_id: int) -> Response:
    """Delete one of the viewer's notifications."""
    actions.dismiss(viewer_of(request), notification_id)
    return Response({})


def _clear(name: str) -> Callable[..., Response]:
    @operation("Delete all notifications", EMPTY_OBJECT, name=name, errors=[401])
    @endpoint(POST="write:notifications")
    def view(request: Request) -> Response:
        """Delete all of the viewer's notifications."""
        actions.clear(viewer_of(request))
        return Response({})

    return view


clear_notifications = _clear("clear_notifications")
clear_grouped_notifications = _clear("clear_grouped_notifications")


@operation(
    "Your read markers",
    MarkersJson,
    method="GET",
    tags=["timelines"],
    errors=[401],
    parameters=[OpenApiParameter("timeline[]", str, many=True, enum=ReadMarker.Timeline.values)],
)
@operation(
    "Move your read markers",
    MarkersJson,
    method="POST",
    name="mark_read",
    tags=["timelines"],
    request=ReadMarkersInput,
    errors=[401, 422],
    description="A marker never moves back.",
)
@endpoint(GET="read:statuses", POST="write:statuses")
def markers(request: Request) -> Response:
    """The viewer's read markers for home and for notifications."""
    viewer = viewer_of(request)
    timelines = request.query_params.getlist("timeline[]") or ReadMarker.Timeline.values
    if request.method == "POST":
        fields = validated(ReadMarkersInput(data=request.data))
        timelines = list(fields)
        with transaction.atomic():  # if one id is refused, no marker moves
            for timeline, marker in fields.items():
                last_read_id = id_in_body(marker["last_read_id"], "last_read_id")
                actions.mark_read(viewer, last_read_id, timeline=ReadMarker.Timeline(timeline))
    markers_by_timeline = read_markers(viewer)
    asked = {name: marker for name, marker in markers_by_timeline.items() if name in timelines}
    return Response(markers_json(asked))


def kinds_of(request: Request) -> list[str] | None:
    """The requested kinds of notifications, None for all. Unknown types are ignored."""
    types = set(request.query_params.getlist("types[]")) or set(TYPES.values())
    types -= set(request.query_params.getlist("exclude_types[]"))
    if types >= set(TYPES.values()):
        return None
    return [kind for kind, name in TYPES.items() if name in types]


def actor_of(request: Request) -> int | None:
    """The requested `account_id`; None if it is missing. Raises BadRequest if it is not an id."""
    text = request.query_params.get("account_id")
    if not text:
        return None
    try:
        return parse_id(text)
    except ValueError:
        raise BadRequest(_("An account id must be a number.")) from None


@operation(
    "Your notifications, in groups",
    GroupedNotificationsJson,
    errors=[400, 401],
    description="The same event from several accounts within twelve hours is one group. A group that "
    "does not fit on a page continues on the next one, with the same key.",
    parameters=[
        *CURSOR_PARAMETERS,
        *CHOICE_PARAMETERS,
        GROUPED_PARAMETER,
        OpenApiParameter("expand_accounts", str, enum=EXPANSIONS),
        INCLUDE_FILTERED,
    ],
)
@endpoint(GET="read:notifications")
def grouped_notifications(request: Request) -> Response:
    """The viewer's notifications in groups, newest first. Reading them here does not mark them as read."""
    cursor = Cursor.from_query(request.query_params, default=GROUPS_DEFAULT, maximum=MAX_GROUPS)
    page = groups_page(
        viewer_of(request),
        cursor,
        kinds=kinds_of(request),
        actor_id=actor_of(request),
        grouped=_grouped(request),
        include_filtered=is_true(request.query_params.get("include_filtered")),
    )
    partial = request.query_params.get("expand_accounts") == "partial_avatars"
    return paged(request, page, groups_json(page.items, partial=partial))


@operation("One group of notifications", GroupedNotificationsJson)
@endpoint(GET="read:notifications")
def notification_group(request: Request, group_key: str) -> Response:
    """A group by its key, with up to a thousand notifications."""
    return Response(groups_json([get_group(viewer_of(request), group_key)]))


@operation("The accounts in a notification group", list[AccountJson], parameters=CURSOR_PARAMETERS)
@endpoint(GET="read:notifications")
def notification_group_accounts(request: Request, group_key: str) -> Response:
    """The accounts in a group, most recent first. Follow the `Link` header: the cursor is not an account id."""
    page = actors_page(viewer_of(request), group_key, people_cursor(request))
    return paged(request, page, [account_json(person) for person in page.items])


@operation("Delete a group of notifications", EMPTY_OBJECT)
@endpoint(POST="write:notifications")
def dismiss_notification_group(request: Request, group_key: str) -> Response:
    """Delete the notifications of a group. The response to a malformed key is 404."""
    dismiss_group(viewer_of(request), group_key)
    return Response({})


@operation(
    "The number of unread groups of notifications",
    UnreadCountJson,
    errors=[400, 401],
    parameters=[
        *CHOICE_PARAMETERS,
        GROUPED_PARAMETER,
        OpenApiParameter("limit", int, description="At most 1,000."),
    ],
)
@endpoint(GET="read:notifications")
def unread_notification_groups(request: Request) -> Response:
    """The number of groups that the newest thousand unread notifications form."""
    maximum = Cursor.from_query(
        request.query_params, default=UNREAD_GROUPS_DEFAULT, maximum=MAX_UNREAD_GROUPS
    ).limit
    count = unread_group_count(
        viewer_of(request),
        maximum=maximum,
        kinds=kinds_of(request),
        actor_id=actor_of(request),
        grouped=_grouped(request),
    )
    return Response(UnreadCountJson(count=count))


def _grouped(request: Request) -> Collection[str]:
    types = request.query_params.getlist("grouped_types[]")
    if not types:
        return frozenset(GROUP_KEY_PREFIXES)
    return {kind for kind, word in GROUP_KEY_PREFIXES.items() if word in types}


@operation(
    "Your notification policy",
    NotificationPolicyJson,
    method="GET",
    errors=[401],
)
@operation(
    "Change your notification policy",
    NotificationPolicyJson,
    method="PATCH",
    name="change_notification_policy",
    request=PolicyInput,
    errors=[400, 401, 422],
    description="Applies to later notifications. Those that are held back stay in the requests until you accept "
    "or dismiss them; those that are dropped are not stored.",
)
@endpoint(GET="read:notifications", PATCH="write:notifications")
def notification_policy(request: Request) -> Response:
    """The viewer's policy, and how many notifications it holds back."""
    viewer = viewer_of(request)
    if request.method == "PATCH":
        fields = validated(PolicyInput(data=request.data))
        change_policy(viewer, **fields)
    return Response(policy_json(policy_of(viewer), held_back_notifications(viewer)))


@operation(
    "The accounts whose notifications are held back",
    list[NotificationRequestJson],
    errors=[400, 401],
    description="One entry per account, with its id. Covers the newest thousand of these notifications.",
)
@endpoint(GET="read:notifications")
def notification_requests(request: Request) -> Response:
    """The accounts whose notifications are held back, newest first; at most `limit`."""
    limit = Cursor.from_query(
        request.query_params, default=PEOPLE_DEFAULT, maximum=MAX_PEOPLE
    ).limit
    return Response(
        [held_back_json(entry) for entry in held_back_notifications(viewer_of(request))[:limit]]
    )


@operation("The notifications from one account that are held back", NotificationRequestJson)
@endpoint(GET="read:notifications")
def notification_request(request: Request, account_id: int) -> Response:
    """The held-back notifications from one account."""
    for held in held_back_notifications(viewer_of(request), actor_id=account_id):
        return Response(held_back_json(held))
    raise NotFound(_("No notifications from this account are held back."))


@operation("Whether accepted notifications are listed already", RequestsMergedJson, errors=[401])
@endpoint(GET="read:notifications")
def notification_requests_merged(request: Request) -> Response:
    """Always true, because accepted notifications are added to the list immediately."""
    viewer_of(request)
    return Response(RequestsMergedJson(merged=True))


def _for_one(name: str, summary: str, act: Act) -> Callable[..., Response]:
    @operation(summary, EMPTY_OBJECT, name=f"{name}_notification_request")
    @endpoint(POST="write:notifications")
    def view(request: Request, account_id: int) -> Response:
        act(viewer_of(request), [user_by_id(account_id).pk])
        return Response({})

    return view


def _for_several(name: str, summary: str, act: Act) -> Callable[..., Response]:
    @operation(
        summary,
        EMPTY_OBJECT,
        name=f"{name}_notification_requests",
        request=AccountIdsInput,
        errors=[400, 401, 422],
    )
    @endpoint(POST="write:notifications")
    def view(request: Request) -> Response:
        fields = validated(AccountIdsInput(data=request.data))
        accounts = users_by_id([int(account_id) for account_id in fields["id"]])
        act(viewer_of(request), list(accounts))
        return Response({})

    return view


accept = _for_one("accept", "Accept all notifications from an account", accept_notifications_from)
dismiss = _for_one("dismiss", "Dismiss held-back notifications", dismiss_notifications_from)
accept_several = _for_several(
    "accept", "Accept the notifications of several accounts", accept_notifications_from
)
dismiss_several = _for_several(
    "dismiss", "Dismiss the held-back notifications of several accounts", dismiss_notifications_from
)
