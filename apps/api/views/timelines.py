"""Timelines: home, public, accounts, lists, tags, likes, bookmarks; explanations; conversations."""

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.status import StatusJson, status_json, statuses_as_bytes
from apps.api.entities.timeline import (
    ActivityJson,
    CatchUpJson,
    ConversationJson,
    ExplanationJson,
    JourneyJson,
    PageCheckJson,
    ReceiptJson,
    catch_up_json,
    conversation_json,
    explanation_json,
    journey_json,
    page_check_json,
    receipt_json,
)
from apps.api.openapi import EMPTY_OBJECT
from apps.api.pagination import CURSOR_PARAMETERS, POSTS_PARAMETERS, paged, posts_cursor
from apps.api.params import (
    PROMOTED_PARAMETERS,
    is_true,
    note_shown,
    optional_bool,
    wants_promoted,
)
from apps.audit import explain as reasons
from apps.audit.journey.post import journey_of
from apps.audit.own_page.check import check_page
from apps.errors import BadRequest
from apps.graph.groups.queries import own_group
from apps.graph.models import UserList
from apps.http import requests
from apps.notifications.conversations.actions import mark_read, remove_conversation
from apps.notifications.conversations.queries import conversations_page, get_conversation
from apps.notifications.queries import home_read_id
from apps.pagination import Cursor, Page, parse_moment
from apps.tags.names import normalize
from apps.tags.queries import tag_named
from apps.throttling import check_rate_limit
from apps.timeline.fanout.author_receipts import receipt_of
from apps.timeline.history.as_of import home_as_of
from apps.timeline.history.catch_up import catch_up as timeline_since
from apps.timeline.history.unread import get_activity
from apps.timeline.home import home_timeline
from apps.timeline.list import bookmarks_timeline, favourites_timeline, list_timeline
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.profile import ProfileFilter, pinned_posts, profile_timeline
from apps.timeline.public import MAX_NAMES, TagQuery, public_timeline, tag_timeline
from feedcache.stats import stage

PROFILE_FLAGS = ["only_media", "pinned", "exclude_replies", "exclude_reblogs", "exclude_direct"]
TAG_MAX_CHARACTERS = 101  # including the #
REMOTE = OpenApiParameter("remote", bool, description="Only posts from other sites, so none.")


@operation(
    "The posts of the accounts that you follow",
    list[StatusJson],
    name="home_timeline",
    errors=[400, 401],
    parameters=[
        *POSTS_PARAMETERS,
        OpenApiParameter(
            "exclude_read",
            bool,
            description="Leave out posts that you have read; by default as in your settings.",
        ),
        *PROMOTED_PARAMETERS,
        OpenApiParameter(
            "as_of",
            str,
            description="The timeline at this time (ISO 8601), without posts you may not see now. See docs/api.md.",
        ),
    ],
)
@endpoint(GET="read:statuses")
def home(request: Request) -> Response:
    """The viewer's home timeline."""
    query = request.query_params
    if query.get("as_of"):
        return _home_as_of(request)
    page = home_timeline(
        viewer_of(request),
        posts_cursor(request),
        exclude_read=optional_bool(query, "exclude_read"),
        promoted=wants_promoted(request),
    )
    return statuses_page(request, page)


def _home_as_of(request: Request) -> Response:
    check_rate_limit("past", str(viewer_of(request).pk))
    query = request.query_params.dict()
    if optional_bool(query, "exclude_read") or wants_promoted(request):
        text = "as_of does not support exclude_read or promoted: the history of both is not stored."
        raise BadRequest(text, code="bad_parameter")
    moment = parse_moment(query.pop("as_of"), "as_of")
    past = home_as_of(viewer_of(request), moment, Cursor.from_query(query, by_time=True))
    return statuses_page(request, past.page)


@operation(
    "All public posts",
    list[StatusJson],
    name="public_timeline",
    errors=[400],
    parameters=[
        *POSTS_PARAMETERS,
        OpenApiParameter("only_media", bool, description="Only posts with pictures."),
        OpenApiParameter("local", bool, description="No effect: all posts are from this site."),
        REMOTE,
    ],
)
@endpoint(GET="read:statuses", public=True)
def public(request: Request) -> Response:
    """The public timeline."""
    query = request.query_params
    cursor, only_media = posts_cursor(request), is_true(query.get("only_media"))
    if is_true(query.get("remote")):
        return statuses_page(request, Page())
    page = public_timeline(requests.viewer_of(request), cursor, only_media=only_media)
    return statuses_page(request, page)


@operation(
    "The posts of an account",
    list[StatusJson],
    tags=["accounts"],
    errors=[400, 404],
    description="`pinned` returns all pinned posts, most recently pinned first, and ignores all other parameters.",
    parameters=[
        *POSTS_PARAMETERS,
        *(OpenApiParameter(name, bool) for name in PROFILE_FLAGS),
        OpenApiParameter("tagged", str, description="Only posts with this hashtag, without the #."),
    ],
)
@endpoint(GET="read:statuses", public=True)
def account_statuses(request: Request, account_id: int) -> Response:
    """An account's posts as the viewer may see them."""
    author, viewer = user_by_id(account_id), requests.viewer_of(request)
    flags = {name: is_true(request.query_params.get(name)) for name in PROFILE_FLAGS}
    cursor = posts_cursor(request)
    if flags["pinned"]:
        return statuses_page(request, Page(pinned_posts(author, viewer)))
    profile_filter = ProfileFilter(
        replies=not flags["exclude_replies"],
        reposts=not flags["exclude_reblogs"],
        mentioned=not flags["exclude_direct"],
        only_pictures=flags["only_media"],
        tag=request.query_params.get("tagged", "")[:TAG_MAX_CHARACTERS].removeprefix("#"),
    )
    page = profile_timeline(author, viewer, cursor, profile_filter)
    return statuses_page(request, page)


@operation("Posts that you like", list[StatusJson], errors=[400, 401], parameters=CURSOR_PARAMETERS)
@endpoint(GET="read:favourites")
def favourites(request: Request) -> Response:
    """The posts that the viewer likes. Follow the `Link` header: the cursor is not a status id."""
    return statuses_page(
        request, favourites_timeline(viewer_of(request), Cursor.from_query(request.query_params))
    )


@operation(
    "Posts that you bookmarked", list[StatusJson], errors=[400, 401], parameters=CURSOR_PARAMETERS
)
@endpoint(GET="read:bookmarks")
def bookmarks(request: Request) -> Response:
    """The viewer's bookmarks. Follow the `Link` header: the cursor is not a status id."""
    return statuses_page(
        request, bookmarks_timeline(viewer_of(request), Cursor.from_query(request.query_params))
    )


@operation(
    "New posts on your home timeline since your last request",
    ActivityJson,
    errors=[400, 401],
    description="Includes posts that were delivered late, even if their ids are older. Without "
    "`last_id` you get the newest posts.",
    parameters=[
        OpenApiParameter("last_id", str, description="From the previous response, or a status id."),
        OpenApiParameter("limit", int),
        *PROMOTED_PARAMETERS,
    ],
)
@endpoint(GET="read:statuses")
def activity(request: Request) -> Response:
    """The unread posts; continue from the `last_id` of the response."""
    query, viewer = request.query_params, viewer_of(request)
    unread = get_activity(
        viewer,
        query.get("last_id"),
        limit=Cursor.from_query(query).limit,
        promoted=wants_promoted(request),
    )
    note_shown(request, viewer.pk, unread.items)
    body = [status_json(item) for item in unread.items]
    return Response(ActivityJson(items=body, last_id=unread.last_id, more=unread.more))


@operation(
    "The posts of the people in one of your lists",
    list[StatusJson],
    name="list_timeline",
    errors=[400, 401, 404],
    parameters=POSTS_PARAMETERS,
)
@endpoint(GET="read:lists")
def of_list(request: Request, list_id: int) -> Response:
    """A list's timeline."""
    viewer = viewer_of(request)
    cursor = posts_cursor(request)
    page = list_timeline(viewer, own_group(UserList, viewer, list_id), cursor)
    return statuses_page(request, page)


@operation(
    "Public posts with a tag",
    list[StatusJson],
    name="tag_timeline",
    errors=[400, 404],
    parameters=[
        *POSTS_PARAMETERS,
        OpenApiParameter("any[]", str, many=True, description="Or any of these tags, at most 4."),
        OpenApiParameter("all[]", str, many=True, description="And all of these tags, at most 4."),
        OpenApiParameter("none[]", str, many=True, description="None of these tags, at most 4."),
        OpenApiParameter("only_media", bool),
        OpenApiParameter("local", bool, description="No effect: all posts are from this site."),
        REMOTE,
    ],
)
@endpoint(GET="read:statuses", public=True)
def of_tag(request: Request, name: str) -> Response:
    """The timeline of a tag; empty if nobody uses the tag."""
    query = request.query_params
    cursor = posts_cursor(request)
    tag_query = TagQuery(
        tag_named(name).name,
        any_of=_tag_names(request, "any"),
        all_of=_tag_names(request, "all"),
        none_of=_tag_names(request, "none"),
        only_media=is_true(query.get("only_media")),
    )
    page = tag_timeline(requests.viewer_of(request), tag_query, cursor)
    return statuses_page(request, Page() if is_true(query.get("remote")) else page)


def _tag_names(request: Request, name: str) -> list[str]:
    query = request.query_params
    names = map(normalize, [*query.getlist(f"{name}[]"), *query.getlist(name)])
    return list(dict.fromkeys(filter(None, names)))[:MAX_NAMES]


def statuses_page(request: Request, page: Page[FeedItem]) -> Response:
    """A page of statuses with its `Link` header."""
    with stage("present"):
        viewer = requests.viewer_of(request)
        if viewer is not None:
            note_shown(request, viewer.pk, page.items)
        return paged(request, page, statuses_as_bytes(page.items))


@operation("Why a status is or is not on your home timeline", ExplanationJson, tags=["explain"])
@endpoint(GET="read:statuses")
def explain_status(request: Request, status_id: int) -> Response:
    """Explain why a status is or is not on the home timeline."""
    return Response(explanation_json(reasons.explain(viewer_of(request), status_id)))


@operation(
    "How many readers one of your statuses reached, and when", ReceiptJson, errors=[401, 403, 404]
)
@endpoint(GET="read:statuses")
def receipt(request: Request, status_id: int) -> Response:
    """The receipt of a post's delivery, for its author only."""
    return Response(receipt_json(receipt_of(viewer_of(request), status_id)))


@operation("How one of your statuses reached its readers", JourneyJson, errors=[401, 403, 404])
@endpoint(GET="read:statuses")
def journey(request: Request, status_id: int) -> Response:
    """The journey of a post, for its author only."""
    return Response(journey_json(journey_of(viewer_of(request), status_id)))


@operation(
    "What you missed on your home timeline",
    CatchUpJson,
    errors=[401],
    description="The statuses of the accounts and tags you follow since your home marker: at most 200, from at "
    "most seven days. Fetch the statuses by their ids.",
)
@endpoint(GET="read:statuses")
def catch_up(request: Request) -> Response:
    """The posts since the viewer last stopped reading, listed by author and by the number of reactions."""
    viewer = viewer_of(request)
    read_id = home_read_id(viewer)
    return Response(catch_up_json(timeline_since(viewer, read_id), read_id))


@operation(
    "Your home timeline, with the reason for each status",
    list[ExplanationJson],
    tags=["explain"],
    errors=[400, 401],
    parameters=POSTS_PARAMETERS,
)
@endpoint(GET="read:statuses")
def explain_home(request: Request) -> Response:
    """A page of the home timeline, with an explanation for each post."""
    page = reasons.explain_home(viewer_of(request), posts_cursor(request))
    return paged(request, page, [explanation_json(explanation) for explanation in page.items])


@operation(
    "Whether a page of your home timeline matches the database",
    PageCheckJson,
    tags=["explain"],
    errors=[400, 401, 429],
    description="Loads the page as usual, and compares it with a page made from PostgreSQL alone.",
    parameters=POSTS_PARAMETERS,
)
@endpoint(GET="read:statuses")
def audit_mine(request: Request) -> Response:
    """Recompute a page of the viewer's home timeline and compare it with the served page; continue with `max_id`."""
    return Response(page_check_json(check_page(viewer_of(request), posts_cursor(request))))


@operation(
    "Your private conversations, one entry for each thread",
    list[ConversationJson],
    errors=[400, 401],
    description="The cursor is the id of the last status in a conversation.",
    parameters=CURSOR_PARAMETERS,
)
@endpoint(GET="read:statuses")
def conversations(request: Request) -> Response:
    """The viewer's conversations, ordered by their newest messages."""
    page = conversations_page(viewer_of(request), Cursor.from_query(request.query_params))
    return paged(request, page, [conversation_json(conversation) for conversation in page.items])


@operation(
    "Remove a conversation from your list",
    EMPTY_OBJECT,
    name="remove_conversation",
    description="The next message brings it back.",
)
@endpoint(DELETE="write:conversations")
def conversation(request: Request, conversation_id: int) -> Response:
    """Remove one of the viewer's conversations from the list; its posts stay."""
    remove_conversation(viewer_of(request), conversation_id)
    return Response({})


@operation("Mark a conversation as read", ConversationJson)
@endpoint(POST="write:conversations")
def read_conversation(request: Request, conversation_id: int) -> Response:
    """Mark a conversation as read."""
    viewer = viewer_of(request)
    mark_read(viewer, conversation_id)
    return Response(conversation_json(get_conversation(viewer, conversation_id)))
