"""Statuses: create, show, edit, delete, and the viewer's actions on them."""

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.api.authentication import viewer_of
from apps.api.entities.account import account_json
from apps.api.entities.status import (
    ContextJson,
    DeletedStatusJson,
    ScheduledStatusJson,
    StatusJson,
    media_json,
    scheduled_json,
    status_json,
)
from apps.api.inputs.status import (
    VISIBILITIES,
    InteractionPolicyInput,
    MediaAttribute,
    PollInput,
    StatusEditInput,
    StatusInput,
)
from apps.api.openapi import Entity, problems
from apps.api.params import id_params, is_true, validated
from apps.engagement import actions as engagement
from apps.errors import NotFound
from apps.filters.models import FilterContext
from apps.http import requests
from apps.http.requests import viewer_id_of
from apps.http.verification import may_act_as_staff
from apps.posts.actions.drafts import Draft, UnexpectedMentions
from apps.posts.actions.edit import pin_post, unpin_post
from apps.posts.actions.mute import mute_thread, unmute_thread
from apps.posts.actions.schedule import schedule_post
from apps.posts.content.post import Picture
from apps.posts.models import QuotePolicy
from apps.posts.uploads import uploaded_pictures
from apps.scopes import scopes
from apps.timeline import publishing
from apps.timeline.pipeline.filters import apply_filters, apply_filters_to_thread, mark_filtered
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.thread import published_item, thread, visible_item

ACTION_ERRORS = problems(400, 401, 403, 404, 422, 429)
MAX_STATUSES = 100  # shown at once
# shared: an instance copies its fields, which takes longer than the validation
_NEW_STATUS = StatusInput()


@scopes(GET="read:statuses", POST="write:statuses")
@extend_schema(
    methods=["GET"],
    operation_id="show_statuses",
    tags=["statuses"],
    summary="Several posts",
    parameters=[OpenApiParameter("id[]", str, many=True)],
    responses={200: Entity(StatusJson, many=True), **problems(400)},
)
@extend_schema(
    methods=["POST"],
    operation_id="create_status",
    tags=["statuses"],
    summary="Publish a post",
    parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
    request=StatusInput,
    responses={
        200: PolymorphicProxySerializer(
            "StatusOrScheduledStatus", [Entity(StatusJson), Entity(ScheduledStatusJson)], None
        ),
        **problems(400, 401, 403, 404, 409, 422, 429),
    },
)
@api_view(["GET", "POST"])
@permission_classes([AllowAny])
def several(request: Request) -> Response:
    """Show posts, or publish one. The same Idempotency-Key gives the same post, however often it is sent."""
    if request.method == "GET":
        items = hydrate(viewer_id_of(request), id_params(request, maximum=MAX_STATUSES)).items
        filtered = apply_filters(requests.viewer_of(request), None, items)
        return Response([status_json(item) for item in filtered])
    if not isinstance(request.user, User):
        raise NotAuthenticated
    try:
        return _publish(request)
    except UnexpectedMentions as refusal:  # clients show whom the text would reach
        users = users_by_id(refusal.user_ids)
        refusal.extensions["unexpected_accounts"] = [
            account_json(users[user_id]) for user_id in refusal.user_ids if user_id in users
        ]
        raise


def _publish(request: Request) -> Response:
    fields: dict[str, Any] = _NEW_STATUS.run_validation(request.data)
    viewer = viewer_of(request)
    # registered applications only: the name of a personal token is private
    application = getattr(request.auth, "application", None)
    draft = Draft(
        body=fields["status"],
        visibility=VISIBILITIES.get(fields["visibility"], viewer.post_visibility),
        circle_id=_id(fields["circle_id"]),
        reply_to_id=_id(fields["in_reply_to_id"]),
        quote_of_id=_id(fields["quoted_status_id"]),
        content_warning=fields["spoiler_text"],
        sensitive=viewer.post_sensitive if fields["sensitive"] is None else fields["sensitive"],
        language=fields["language"] or viewer.post_language,
        media_ids=[int(number) for number in fields["media_ids"]],
        poll=PollInput.draft(fields["poll"]),
        quote_policy=fields["quote_approval_policy"] or QuotePolicy.PUBLIC,
        allowed_mentions=_ids(fields["allowed_mentions"]),
        application=getattr(application, "name", ""),
        website=getattr(application, "website", ""),
    )
    if fields["scheduled_at"] is not None:
        scheduled = schedule_post(
            viewer, draft, fields["scheduled_at"], idempotency_key=_key(request)
        )
        return Response(scheduled_json(scheduled))
    post = publishing.publish(viewer, draft, idempotency_key=_key(request))
    item = published_item(viewer, post)
    response = Response(status_json(mark_filtered(viewer, FilterContext.THREAD, item)))
    if post.is_repeated:
        response.headers["Idempotency-Replayed"] = "true"
    return response


def _key(request: Request) -> str:
    """The client's key, prefixed apart from the site's own keys."""
    key = request.headers.get("Idempotency-Key", "")
    return f"client:{key}" if key else ""


@scopes(GET="read:statuses", PUT="write:statuses", DELETE="write:statuses")
@extend_schema(
    methods=["GET"],
    operation_id="show_status",
    tags=["statuses"],
    summary="A post",
    responses={200: Entity(StatusJson), **problems(404)},
)
@extend_schema(
    methods=["PUT"],
    operation_id="edit_status",
    tags=["statuses"],
    summary="Change the text of your post",
    request=StatusEditInput,
    responses={200: Entity(StatusJson), **problems(400, 401, 404, 422)},
)
@extend_schema(
    methods=["DELETE"],
    operation_id="delete_status",
    tags=["statuses"],
    summary="Delete your post",
    description="Its pictures wait a day for another post, to write it anew, unless `delete_media` is true.",
    parameters=[OpenApiParameter("delete_media", bool)],
    responses={200: Entity(DeletedStatusJson), **problems(400, 401, 404)},
)
@api_view(["GET", "PUT", "DELETE"])
@permission_classes([AllowAny])
def one(request: Request, status_id: int) -> Response:
    """Show, edit or delete a post."""
    if request.method == "GET":
        return _show(request, status_id)
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return _edit(request, status_id) if request.method == "PUT" else _delete(request, status_id)


def _show(request: Request, status_id: int) -> Response:
    item = visible_item(viewer_id_of(request), status_id)
    if isinstance(request.user, User):
        engagement.read_post(request.user, item.shown.id)
    return Response(
        status_json(mark_filtered(requests.viewer_of(request), FilterContext.THREAD, item))
    )


def _edit(request: Request, status_id: int) -> Response:
    viewer = viewer_of(request)
    fields = validated(StatusEditInput(data=request.data))
    media_ids = fields.get("media_ids")
    publishing.edit(
        viewer,
        status_id,
        body=fields["status"],
        content_warning=fields.get("spoiler_text"),
        sensitive=fields.get("sensitive"),
        language=fields.get("language"),
        media_ids=None if media_ids is None else [int(number) for number in media_ids],
        pictures=[
            MediaAttribute.change(attributes) for attributes in fields.get("media_attributes", ())
        ],
        poll=PollInput.draft(fields.get("poll")),
        quote_policy=fields.get("quote_approval_policy"),
    )
    return _status(viewer, status_id)


def _delete(request: Request, status_id: int) -> Response:
    viewer = viewer_of(request)
    item = visible_item(viewer.pk, status_id)
    if not item.flags.own and not may_act_as_staff(request):
        raise NotFound(_("This post isn't here."))
    before = status_json(item)
    deleted = publishing.delete(status_id, by=viewer, keep_pictures=not _drops_pictures(request))
    # pictures free for another post have new URLs, for their owner only
    uploads = uploaded_pictures(viewer, [picture.id for picture in item.post.pictures])
    media = [media_json(Picture.of(picture)) for picture in uploads]
    body: DeletedStatusJson = {**before, "text": deleted.body, "media_attachments": media}
    return Response(body)


def _drops_pictures(request: Request) -> bool:
    fields: Any = request.data
    return is_true(str(request.query_params.get("delete_media") or fields.get("delete_media")))


@scopes(PUT="write:statuses")
@extend_schema(
    operation_id="interaction_policy",
    tags=["statuses"],
    summary="Choose who may quote your post",
    request=InteractionPolicyInput,
    responses={200: Entity(StatusJson), **problems(400, 401, 404, 422)},
)
@api_view(["PUT"])
def interaction_policy(request: Request, status_id: int) -> Response:
    """Quotes that are there stay."""
    viewer = viewer_of(request)
    fields = validated(InteractionPolicyInput(data=request.data))
    publishing.set_quote_policy(viewer, status_id, fields["quote_approval_policy"])
    return _status(viewer, status_id)


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="status_context",
    tags=["statuses"],
    summary="What a post answers and what answers it",
    responses={200: Entity(ContextJson), **problems(404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def context(request: Request, status_id: int) -> Response:
    """The thread around a post."""
    filtered = apply_filters_to_thread(
        requests.viewer_of(request), thread(viewer_id_of(request), status_id)
    )
    ancestors = [status_json(item) for item in filtered.ancestors if item is not None]
    descendants = [status_json(item) for item in filtered.descendants]
    return Response(ContextJson(ancestors=ancestors, descendants=descendants))


def _action(
    name: str, summary: str, act: Callable[[User, int], object], *, scope: str
) -> Callable[..., Response]:
    @scopes(POST=scope)
    @extend_schema(
        operation_id=f"{name}_status",
        tags=["statuses"],
        summary=summary,
        request=None,
        responses={200: Entity(StatusJson), **ACTION_ERRORS},
    )
    @api_view(["POST"])
    def endpoint(request: Request, status_id: int) -> Response:
        viewer = viewer_of(request)
        act(viewer, status_id)
        return _status(viewer, status_id)

    return endpoint


favourite = _action("favourite", "Like a post", engagement.like_post, scope="write:favourites")
unfavourite = _action(
    "unfavourite", "Take back a like", engagement.unlike_post, scope="write:favourites"
)
bookmark = _action(
    "bookmark", "Keep a post for later", engagement.bookmark_post, scope="write:bookmarks"
)
unbookmark = _action(
    "unbookmark", "Drop a bookmark", engagement.unbookmark_post, scope="write:bookmarks"
)
unreblog = _action(
    "unreblog",
    "Take back a repost, named by the post it shares",
    publishing.undo_repost,
    scope="write:statuses",
)
pin = _action("pin", "Put your post at the top of your profile", pin_post, scope="write:accounts")
unpin = _action("unpin", "Take it from there", unpin_post, scope="write:accounts")
mute = _action("mute", "Hear nothing more of a post's thread", mute_thread, scope="write:mutes")
unmute = _action("unmute", "Hear of it again", unmute_thread, scope="write:mutes")


@scopes(POST="write:statuses")
@extend_schema(
    operation_id="reblog_status",
    tags=["statuses"],
    summary="Share a public post",
    request=None,
    responses={200: Entity(StatusJson), **problems(400, 401, 403, 404, 429)},
)
@api_view(["POST"])
def reblog(request: Request, status_id: int) -> Response:
    """Share a post: the answer is the new status that wraps it; twice is once."""
    viewer = viewer_of(request)
    repost = publishing.repost(viewer, status_id)
    return _status(viewer, repost.pk)


def _status(viewer: User, post_id: int) -> Response:
    return Response(
        status_json(mark_filtered(viewer, FilterContext.THREAD, visible_item(viewer.pk, post_id)))
    )


def _ids(texts: list[str] | None) -> list[int] | None:
    return None if texts is None else [int(text) for text in texts]


def _id(text: str | None) -> int | None:
    return int(text) if text else None
