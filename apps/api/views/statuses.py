"""Statuses: create (with an Idempotency-Key), show, edit and delete them; their history, actions on them, and the
people who liked or reposted them; polls, which have the id of their status; scheduled statuses.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer
from rest_framework.exceptions import NotAuthenticated, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.status import (
    FROM_MASTODON,
    ContextJson,
    DeletedStatusJson,
    InteractionPolicyInput,
    MediaAttribute,
    PollInput,
    PollJson,
    ScheduledStatusJson,
    ScheduleInput,
    StatusEditInput,
    StatusEditJson,
    StatusInput,
    StatusJson,
    StatusSourceJson,
    VoteInput,
    media_json,
    poll_json,
    scheduled_json,
    status_json,
    version_json,
)
from apps.api.openapi import EMPTY_OBJECT, Entity
from apps.api.pagination import CURSOR_PARAMETERS, paged, people_cursor
from apps.api.params import id_params, is_true, shows_its_answer, validated
from apps.api.throttling import counted_action, give_back_action
from apps.api.views.timelines import statuses_page
from apps.engagement import actions as engagement
from apps.engagement.actions import vote
from apps.engagement.marks import ROW_MARKS, RowMark
from apps.errors import Invalid, NotFound
from apps.filters.models import FilterContext
from apps.http import requests
from apps.http.requests import viewer_id_of
from apps.http.verification import may_act_as_staff
from apps.pagination import Cursor, Page
from apps.posts.actions.drafts import Draft, UnexpectedMentions
from apps.posts.actions.edit import pin_post, unpin_post
from apps.posts.actions.mute_thread import mute_thread, unmute_thread
from apps.posts.actions.schedule import (
    cancel,
    reschedule,
    schedule_post,
    scheduled_post,
    scheduled_posts,
)
from apps.posts.actions.uploads import uploaded_pictures
from apps.posts.content.post import Picture
from apps.posts.queries import source_of, versions_of
from apps.timeline import publishing
from apps.timeline.fanout.author_receipts import read_post
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.word_filters import apply_filters, mark_filtered
from apps.timeline.thread import (
    MAX_CONTEXT_ANCESTORS,
    apply_filters_to_thread,
    likers,
    published_item,
    quotes_timeline,
    reposters,
    thread,
    visible_item,
    visible_poll,
)

MAX_STATUSES = 100  # per request
# Shared by all requests: a new instance would copy its fields, which takes longer than the validation.
_NEW_STATUS = StatusInput()


@operation(
    "Several posts",
    list[StatusJson],
    method="GET",
    name="show_statuses",
    errors=[400],
    parameters=[OpenApiParameter("id[]", str, many=True)],
)
@operation(
    "Publish a post",
    PolymorphicProxySerializer(
        "StatusOrScheduledStatus", [Entity(StatusJson), Entity(ScheduledStatusJson)], None
    ),
    method="POST",
    name="create_status",
    request=StatusInput,
    errors=[400, 401, 403, 404, 409, 422, 429],
    parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
)
@endpoint(GET="read:statuses", POST="write:statuses", public=True, limit="publish")
def statuses(request: Request) -> Response:
    """Show posts, or publish one. Repeated requests with the same Idempotency-Key return the same post."""
    if request.method == "GET":
        items = hydrate(viewer_id_of(request), id_params(request, maximum=MAX_STATUSES)).items
        filtered = apply_filters(requests.viewer_of(request), None, items)
        return Response([status_json(item) for item in filtered])
    if not isinstance(request.user, User):
        raise NotAuthenticated
    try:
        return _publish(request)
    except (Invalid, ValidationError) as refusal:
        give_back_action(request)
        # clients show which accounts the text would reach
        if isinstance(refusal, UnexpectedMentions):
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
        visibility=FROM_MASTODON.get(fields["visibility"], viewer.post_visibility),
        circle_id=_id(fields["circle_id"]),
        reply_to_id=_id(fields["in_reply_to_id"]),
        quote_of_id=_id(fields["quoted_status_id"]),
        content_warning=fields["spoiler_text"],
        sensitive=viewer.post_sensitive if fields["sensitive"] is None else fields["sensitive"],
        language=fields["language"] or viewer.post_language,
        media_ids=[int(number) for number in fields["media_ids"]],
        poll=PollInput.draft(fields["poll"]),
        quote_policy=fields["quote_approval_policy"] or viewer.quote_policy,
        allowed_mentions=_ids(fields["allowed_mentions"]),
        application=getattr(application, "name", ""),
        website=getattr(application, "website", ""),
    )
    if fields["scheduled_at"] is not None:
        scheduled = schedule_post(
            viewer, draft, fields["scheduled_at"], idempotency_key=_key(request)
        )
        give_back_action(request)  # it counts when it is published
        return Response(scheduled_json(scheduled))
    published = publishing.publish(
        viewer, draft, idempotency_key=_key(request), counted=counted_action(request)
    )
    item = published_item(viewer, published.post.pk, published.content)
    response = Response(status_json(mark_filtered(viewer, FilterContext.THREAD, item)))
    if published.content is None:  # published before, by an identical request
        give_back_action(request)
        response.headers["Idempotency-Replayed"] = "true"
    return response


def _key(request: Request) -> str:
    """The client's Idempotency-Key, with a prefix that the site's own keys do not have."""
    key = request.headers.get("Idempotency-Key", "")
    return f"client:{key}" if key else ""


@operation("A post", StatusJson, method="GET", name="show_status", errors=[404])
@operation(
    "Change the text of your post",
    StatusJson,
    method="PUT",
    name="edit_status",
    request=StatusEditInput,
)
@operation(
    "Delete your post",
    DeletedStatusJson,
    method="DELETE",
    name="delete_status",
    errors=[400, 401, 404],
    description="For a day you can use its pictures in a new post, unless `delete_media` is true.",
    parameters=[OpenApiParameter("delete_media", bool)],
)
@endpoint(GET="read:statuses", PUT="write:statuses", DELETE="write:statuses", public=True)
def status(request: Request, status_id: int) -> Response:
    """Show, edit or delete a post."""
    if request.method == "GET":
        return _show(request, status_id)
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return _edit(request, status_id) if request.method == "PUT" else _delete(request, status_id)


def _show(request: Request, status_id: int) -> Response:
    item = visible_item(viewer_id_of(request), status_id)
    if isinstance(request.user, User) and shows_its_answer(request):
        read_post(request.user, item.shown.id)
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
    # the pictures that can be used in another post have new URLs, which only their owner can open
    uploads = uploaded_pictures(viewer, [picture.id for picture in item.post.pictures])
    media = [media_json(Picture.of(picture)) for picture in uploads]
    body: DeletedStatusJson = {**before, "text": deleted.body, "media_attachments": media}
    return Response(body)


def _drops_pictures(request: Request) -> bool:
    fields: Any = request.data
    return is_true(str(request.query_params.get("delete_media") or fields.get("delete_media")))


@operation("Choose who may quote your post", StatusJson, request=InteractionPolicyInput)
@endpoint(PUT="write:statuses")
def interaction_policy(request: Request, status_id: int) -> Response:
    """Choose who may quote a post; existing quotes stay."""
    viewer = viewer_of(request)
    fields = validated(InteractionPolicyInput(data=request.data))
    publishing.set_quote_policy(viewer, status_id, fields["quote_approval_policy"])
    return _status(viewer, status_id)


@operation("What a post replies to, and the replies to it", ContextJson, errors=[404])
@endpoint(GET="read:statuses", public=True)
def status_context(request: Request, status_id: int) -> Response:
    """The thread around a post."""
    found = thread(viewer_id_of(request), status_id, max_ancestors=MAX_CONTEXT_ANCESTORS)
    filtered = apply_filters_to_thread(requests.viewer_of(request), found)
    ancestors = [status_json(item) for item in filtered.ancestors if item is not None]
    descendants = [status_json(item) for item in filtered.descendants]
    return Response(ContextJson(ancestors=ancestors, descendants=descendants))


def _action(
    name: str, summary: str, action: Callable[[User, int], object], *, scope: str
) -> Callable[..., Response]:
    """An endpoint that calls `action` with the viewer and a post id, and responds with the changed post."""

    @operation(summary, StatusJson, name=f"{name}_status", errors=[400, 401, 403, 404, 422, 429])
    @endpoint(POST=scope)
    def view(request: Request, status_id: int) -> Response:
        viewer = viewer_of(request)
        action(viewer, status_id)
        return _status(viewer, status_id)

    return view


def _mark_actions(mark: RowMark) -> dict[str, Callable[..., Response]]:
    """The endpoints that set and remove a mark, such as a like, by the last part of their addresses."""
    _api, verb, scope, summary, undo_summary = mark.endpoint
    undo = _action(f"un{verb}", undo_summary, partial(engagement.remove_mark, mark), scope=scope)
    if mark.choice:
        return {f"{verb}/<str:name>": _choosing_action(mark), f"un{verb}": undo}
    return {
        verb: _action(verb, summary, partial(engagement.add_mark, mark), scope=scope),
        f"un{verb}": undo,
    }


def _choosing_action(mark: RowMark) -> Callable[..., Response]:
    _api, verb, scope, summary, _undo_summary = mark.endpoint
    name = OpenApiParameter("name", str, OpenApiParameter.PATH, enum=list(mark.names))

    @operation(
        summary,
        StatusJson,
        name=f"{verb}_status",
        errors=[400, 401, 403, 404, 422, 429],
        parameters=[name],
    )
    @endpoint(POST=scope)
    def view(request: Request, status_id: int, name: str) -> Response:
        viewer = viewer_of(request)
        engagement.add_mark(mark, viewer, status_id, mark.names.get(name, name))
        return _status(viewer, status_id)

    return view


def mark_paths(api: str) -> list[URLPattern]:
    """The routes that set and remove marks: favourite, unfavourite, bookmark, ..."""
    return [
        path(f"statuses/<int:status_id>/{end}", view)
        for mark in ROW_MARKS
        if mark.endpoint.api == api
        for end, view in _mark_actions(mark).items()
    ]


unreblog = _action(
    "unreblog",
    "Delete your repost, by the id of the original post",
    publishing.undo_repost,
    scope="write:statuses",
)
pin = _action("pin", "Pin your post to the top of your profile", pin_post, scope="write:accounts")
unpin = _action("unpin", "Unpin your post from your profile", unpin_post, scope="write:accounts")
mute = _action("mute", "Mute notifications of a thread", mute_thread, scope="write:mutes")
unmute = _action("unmute", "Unmute notifications of a thread", unmute_thread, scope="write:mutes")


@operation("Repost a public post", StatusJson, errors=[400, 401, 403, 404, 429])
@endpoint(POST="write:statuses", limit="publish")
def reblog_status(request: Request, status_id: int) -> Response:
    """Repost a post. The response is the new status that wraps it; a second call returns the same status."""
    viewer = viewer_of(request)
    repost = publishing.repost(viewer, status_id, counted=counted_action(request))
    return _status(viewer, repost.pk)


def _status(viewer: User, post_id: int) -> Response:
    return Response(
        status_json(mark_filtered(viewer, FilterContext.THREAD, visible_item(viewer.pk, post_id)))
    )


def _ids(texts: list[str] | None) -> list[int] | None:
    return None if texts is None else [int(text) for text in texts]


def _id(text: str | None) -> int | None:
    return int(text) if text else None


@operation("The versions of a post", list[StatusEditJson], errors=[404])
@endpoint(GET="read:statuses", public=True)
def status_history(request: Request, status_id: int) -> Response:
    """The versions, from the oldest to the current one; at most the newest 100."""
    status = visible_item(viewer_id_of(request), status_id).shown
    return Response([version_json(version, status.author) for version in versions_of(status.post)])


@operation("Your post as you wrote it", StatusSourceJson)
@endpoint(GET="read:statuses")
def status_source(request: Request, status_id: int) -> Response:
    """The text as it was written, for its author only."""
    post = source_of(viewer_of(request), status_id)
    return Response(
        StatusSourceJson(id=str(post.id), text=post.body, spoiler_text=post.content_warning)
    )


def _people_endpoint(
    name: str, summary: str, query: Callable[[int | None, int, Cursor], Page[User]]
) -> Callable[..., Response]:
    @operation(
        summary,
        list[AccountJson],
        name=name,
        errors=[400, 404],
        description="Follow the `Link` header: the cursor is not an account id.",
        parameters=CURSOR_PARAMETERS,
    )
    @endpoint(GET="read:accounts", public=True)
    def view(request: Request, status_id: int) -> Response:
        cursor = people_cursor(request)
        page = query(viewer_id_of(request), status_id, cursor)
        return paged(request, page, [account_json(user) for user in page.items])

    return view


favourited_by = _people_endpoint("favourited_by", "The accounts that like a post", likers)
reblogged_by = _people_endpoint("reblogged_by", "The accounts that reposted a post", reposters)


@operation(
    "The posts that quote a post", list[StatusJson], errors=[400, 404], parameters=CURSOR_PARAMETERS
)
@endpoint(GET="read:statuses", public=True)
def status_quotes(request: Request, status_id: int) -> Response:
    """The quotes of a post, newest first; follow the `Link` header."""
    cursor = Cursor.from_query(request.query_params)
    return statuses_page(request, quotes_timeline(requests.viewer_of(request), status_id, cursor))


@operation("Withdraw your post from a quote", StatusJson)
@endpoint(POST="write:statuses")
def revoke_quote(request: Request, status_id: int, quote_id: int) -> Response:
    """Remove the viewer's post `status_id` from the status `quote_id` that quotes it; the response is that status."""
    viewer = viewer_of(request)
    publishing.revoke_quote(viewer, status_id, quote_id)
    return _status(viewer, quote_id)


@operation("A poll", PollJson, tags=["polls"], errors=[404])
@endpoint(GET="read:statuses", public=True)
def show_poll(request: Request, poll_id: int) -> Response:
    """A poll as the viewer may see it."""
    return Response(poll_json(visible_poll(viewer_id_of(request), poll_id)))


@operation("Vote", PollJson, tags=["polls"], request=VoteInput, errors=[400, 401, 403, 404, 422])
@endpoint(POST="write:statuses")
def vote_in_poll(request: Request, poll_id: int) -> Response:
    """Vote in a poll, which is possible once. The response is the poll with the vote."""
    viewer = viewer_of(request)
    visible_poll(viewer.pk, poll_id)  # so that NotFound takes precedence over form errors
    fields = validated(VoteInput(data=request.data))
    vote(viewer, poll_id, fields["choices"])
    return Response(poll_json(visible_poll(viewer.pk, poll_id)))


@operation(
    "Your scheduled posts",
    list[ScheduledStatusJson],
    errors=[400, 401],
    parameters=CURSOR_PARAMETERS,
)
@endpoint(GET="read:statuses")
def scheduled_statuses(request: Request) -> Response:
    """The viewer's scheduled posts, most recently scheduled first. The cursor uses the ids of scheduled posts."""
    page = scheduled_posts(viewer_of(request), Cursor.from_query(request.query_params))
    return paged(request, page, [scheduled_json(row) for row in page.items])


@operation("A scheduled post", ScheduledStatusJson, method="GET", name="show_scheduled_status")
@operation(
    "Reschedule a scheduled post",
    ScheduledStatusJson,
    method="PUT",
    name="reschedule_status",
    request=ScheduleInput,
    errors=[401, 404, 422],
)
@operation("Cancel a scheduled post", EMPTY_OBJECT, method="DELETE", name="cancel_scheduled_status")
@endpoint(GET="read:statuses", PUT="write:statuses", DELETE="write:statuses")
def scheduled_status(request: Request, number: int) -> Response:
    """Show, reschedule or cancel a scheduled post."""
    viewer = viewer_of(request)
    if request.method == "DELETE":
        cancel(viewer, number)
        return Response({})
    if request.method == "GET":
        return Response(scheduled_json(scheduled_post(viewer, number)))
    fields = validated(ScheduleInput(data=request.data))
    return Response(scheduled_json(reschedule(viewer, number, fields["scheduled_at"])))
