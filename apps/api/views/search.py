"""Search, trends, suggestions and tags."""

from collections.abc import Callable

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.account import AccountJson, SuggestionJson, account_json, suggestion_json
from apps.api.entities.search import FeaturedTagJson, SearchJson, TagJson, TrendsLinkJson, tag_json
from apps.api.entities.status import StatusJson, status_json
from apps.api.openapi import EMPTY_OBJECT
from apps.api.pagination import (
    CURSOR_PARAMETERS,
    MAX_PEOPLE,
    PEOPLE_DEFAULT,
    ends_early_header,
    paged,
    people_cursor,
    posts_cursor,
)
from apps.api.params import is_true, offset_of, shows_its_answer
from apps.errors import BadRequest
from apps.http.requests import limit_searches
from apps.http.requests import viewer_of as optional_viewer_of
from apps.pagination import Cursor, Page
from apps.scopes import ANY_TOKEN
from apps.search.queries import post_at_url, search_people, search_posts
from apps.search.query_parser import parse_query
from apps.search.suggestions import dismiss_suggestion, suggested_people
from apps.search.trends import recommended_posts, trending_posts
from apps.tags import actions
from apps.tags.models import Tag
from apps.tags.queries import followed_page, tag_named, tag_usages, tags_beginning
from apps.tags.trends import trending_tags
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.word_filters import apply_filters
from feedcache.ids import parse_id

FOLLOWED_DEFAULT, MAX_FOLLOWED = 100, 200
TRENDING_DEFAULT, MAX_TRENDING = 10, 20
KINDS = ("accounts", "statuses", "hashtags")
LIMIT = OpenApiParameter("limit", int, description="How many of each kind at most; clamped.")
OFFSET = OpenApiParameter("offset", int, description="How many to skip, at most 150.")


@operation(
    "Find accounts, posts and tags",
    SearchJson,
    errors=[400, 422, 429],
    description="Words, phrases in quotes, and from:alice, before:2026-11-01, after:2026-11-01, "
    "has:image, is:reply, lang:zh. "
    "Finds public posts and your own. The address of a post or of a profile finds exactly that one.",
    parameters=[
        OpenApiParameter("q", str, required=True),
        OpenApiParameter("type", str, enum=KINDS),
        OpenApiParameter("account_id", str, description="Posts of this account only."),
        OpenApiParameter("following", bool, description="Only accounts that you follow."),
        OpenApiParameter("max_id", str),
        OpenApiParameter("min_id", str),
        OpenApiParameter("date", str, description="Posts up to the end of this day (UTC)."),
        OpenApiParameter("until", str, description="Posts up to this second, in ISO 8601."),
        OpenApiParameter("resolve", bool, description="There are no other sites to ask."),
        LIMIT,
        OFFSET,
    ],
)
@endpoint(GET="read:search", public=True)
def search(request: Request) -> Response:
    """Matching accounts, posts and tags."""
    limit_searches(request)
    query, viewer = request.query_params, optional_viewer_of(request)
    kind, text, offset = query.get("type") or "", query.get("q", ""), offset_of(query)
    if kind and kind not in KINDS:
        raise BadRequest("type is one of accounts, statuses, hashtags.")
    cursor = posts_cursor(request)
    results: SearchJson = {"accounts": [], "statuses": [], "hashtags": []}
    page: Page[FeedItem] = Page()
    if kind in {"", "accounts"}:
        people = search_people(
            viewer,
            text,
            limit=cursor.limit,
            offset=offset,
            only_followed=is_true(query.get("following")),
        )
        results["accounts"] = [account_json(user) for user in people]
    if kind in {"", "statuses"}:
        page = _posts(request, viewer, text, cursor, offset)
        shown = apply_filters(viewer, None, page.items)
        results["statuses"] = [status_json(item) for item in shown]
    if kind in {"", "hashtags"}:
        tags = tags_beginning(text.strip(), maximum=offset + cursor.limit)[offset:]
        results["hashtags"] = [
            tag_json(usage) for usage in tag_usages(tags, viewer, are_in_use=True)
        ]
    return Response(results, headers=ends_early_header(page))


def _posts(
    request: Request, viewer: User | None, text: str, cursor: Cursor, offset: int
) -> Page[FeedItem]:
    if (post := post_at_url(viewer, text)) is not None:
        return Page([post])
    cursor = Cursor(max_id=cursor.max_id, min_id=cursor.min_id, limit=offset + cursor.limit)
    page = search_posts(viewer, parse_query(text), cursor, author_id=_account_id(request))
    return page.with_items(page.items[offset:])


@operation(
    "Find accounts",
    list[AccountJson],
    errors=[400, 401, 422, 429],
    parameters=[
        OpenApiParameter("q", str, required=True),
        OpenApiParameter("following", bool, description="Only accounts that you follow."),
        OpenApiParameter("resolve", bool, description="There are no other sites to ask."),
        LIMIT,
        OFFSET,
    ],
)
@endpoint(GET="read:accounts")
def search_accounts(request: Request) -> Response:
    """Accounts by a part of the name or the beginning of the handle; the account with exactly this handle is first."""
    limit_searches(request)
    query, viewer = request.query_params, viewer_of(request)
    limit = Cursor.from_query(query, default=PEOPLE_DEFAULT, maximum=MAX_PEOPLE).limit
    people = search_people(
        viewer,
        query.get("q", ""),
        limit=limit,
        offset=offset_of(request.query_params),
        only_followed=is_true(query.get("following")),
    )
    return Response([account_json(user) for user in people])


@operation(
    "Public posts that are liked and reposted most at present",
    list[StatusJson],
    tags=["trends"],
    errors=[400],
    parameters=[LIMIT, OFFSET],
)
@endpoint(GET=ANY_TOKEN, public=True)
def trending_statuses(request: Request) -> Response:
    """At most one post per author; ranked every few minutes."""
    viewer = optional_viewer_of(request)
    limit = Cursor.from_query(request.query_params).limit
    items = trending_posts(viewer, limit=limit, offset=offset_of(request.query_params))
    return Response([status_json(item) for item in items])


@operation(
    "Popular posts of people you do not follow, each recommended to you once",
    list[StatusJson],
    tags=["trends"],
    errors=[400, 401],
    description="None that you have read or liked. Every call recommends other posts.",
    parameters=[LIMIT],
)
@endpoint(GET="read:statuses")
def recommended(request: Request) -> Response:
    """Popular posts that the viewer does not know."""
    limit = Cursor.from_query(request.query_params).limit
    viewer = viewer_of(request)
    items = recommended_posts(viewer, limit=limit) if shows_its_answer(request) else []
    return Response([status_json(item) for item in items])


@operation(
    "Links that many people share: always empty, this site does not count them",
    list[TrendsLinkJson],
    tags=["trends"],
    errors=[],
)
@endpoint(GET=ANY_TOKEN, public=True)
def trending_links(_request: Request) -> Response:
    """Always empty; for clients that ask."""
    return Response([])


@operation(
    "Accounts that you may want to follow",
    list[SuggestionJson],
    tags=["accounts"],
    errors=[400, 401],
    parameters=[LIMIT],
)
@endpoint(GET="read:accounts")
def suggestions(request: Request) -> Response:
    """The most followed accounts that the viewer does not follow, block or mute."""
    return Response([suggestion_json(user) for user in _suggested(request)])


@operation(
    "Accounts that you may want to follow, for older clients",
    list[AccountJson],
    tags=["accounts"],
    errors=[400, 401],
    parameters=[LIMIT],
)
@endpoint(GET="read:accounts")
def suggested_accounts(request: Request) -> Response:
    """The accounts alone, without the reasons."""
    return Response([account_json(user) for user in _suggested(request)])


@operation(
    "Do not suggest an account again", EMPTY_OBJECT, name="dismiss_suggestion", tags=["accounts"]
)
@endpoint(DELETE="write:accounts")
def dismissed(request: Request, account_id: int) -> Response:
    """Dismiss a suggestion for good."""
    dismiss_suggestion(viewer_of(request), account_id)
    return Response({})


@operation("A tag and how much it is used", TagJson, tags=["tags"], errors=[404])
@endpoint(GET=ANY_TOKEN, public=True)
def show_tag(request: Request, name: str) -> Response:
    """A tag, whether anybody has used it or not."""
    return _tag(tag_named(name), optional_viewer_of(request))


def _change_tag(
    name: str, summary: str, change: Callable[[User, str], Tag]
) -> Callable[..., Response]:
    @operation(summary, TagJson, name=f"{name}_tag", tags=["tags"], errors=[401, 404, 422])
    @endpoint(POST="write:follows")
    def view(request: Request, name: str) -> Response:
        viewer = viewer_of(request)
        return _tag(change(viewer, name), viewer)

    return view


follow_tag = _change_tag(
    "follow", "Follow a tag: its posts are on your home page", actions.follow_tag
)
unfollow_tag = _change_tag("unfollow", "Unfollow a tag", actions.unfollow_tag)


def _tag(tag: Tag, viewer: User | None) -> Response:
    return Response(tag_json(tag_usages([tag], viewer)[0]))


@operation(
    "The tags you follow",
    list[TagJson],
    tags=["tags"],
    errors=[400, 401],
    parameters=CURSOR_PARAMETERS,
)
@endpoint(GET="read:follows")
def followed_tags(request: Request) -> Response:
    """The tags that the viewer follows, the last followed first; follow the `Link` header."""
    viewer, query = viewer_of(request), request.query_params
    cursor = Cursor.from_query(query, default=FOLLOWED_DEFAULT, maximum=MAX_FOLLOWED)
    page = followed_page(viewer, cursor)
    return paged(request, page, [tag_json(usage) for usage in tag_usages(page.items, viewer)])


def _trends(name: str) -> Callable[..., Response]:
    @operation(
        "The tags that most accounts use at present",
        list[TagJson],
        name=name,
        tags=["trends"],
        errors=[400],
        parameters=[
            OpenApiParameter("limit", int, description="How many at most; clamped."),
            OpenApiParameter("offset", int, description="How many to skip."),
        ],
    )
    @endpoint(GET=ANY_TOKEN, public=True)
    def view(request: Request) -> Response:
        query = request.query_params
        maximum = Cursor.from_query(query, default=TRENDING_DEFAULT, maximum=MAX_TRENDING).limit
        page = trending_tags(maximum=maximum, offset=offset_of(query))
        tags = tag_usages(page, optional_viewer_of(request), are_in_use=True)
        return Response([tag_json(usage) for usage in tags])

    return view


trending_tag_usages = _trends("trending_tags")
trends = _trends("trends")  # the same at its older address


@operation(
    "The tags on your profile: none, this site has no such feature",
    list[FeaturedTagJson],
    tags=["tags"],
    errors=[401],
)
@endpoint(GET="read:accounts")
def featured_tags(request: Request) -> Response:
    """Always empty; for clients that ask."""
    del request
    return Response([])


@operation(
    "The tags on a profile: none, this site has no such feature",
    list[FeaturedTagJson],
    tags=["accounts"],
    errors=[404],
)
@endpoint(GET=ANY_TOKEN, public=True)
def account_featured_tags(request: Request, account_id: int) -> Response:
    """Always empty for an existing account; for clients that ask."""
    del request
    user_by_id(account_id)
    return Response([])


def _suggested(request: Request) -> list[User]:
    cursor = people_cursor(request)
    return suggested_people(viewer_of(request), limit=cursor.limit)


def _account_id(request: Request) -> int | None:
    text = request.query_params.get("account_id")
    try:
        return parse_id(text) if text else None
    except ValueError:
        raise BadRequest("account_id is not an id.") from None
