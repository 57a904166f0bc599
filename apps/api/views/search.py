"""Search, trends, suggestions and tags."""

from collections.abc import Callable, Collection

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.account import (
    AccountJson,
    FeaturedTagJson,
    SuggestionJson,
    account_json,
    featured_tag_json,
    suggestion_json,
)
from apps.api.entities.search import (
    FeaturedTagInput,
    SearchJson,
    TagJson,
    tag_json,
)
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
from apps.api.params import is_true, offset_of, shows_its_answer, validated
from apps.errors import BadRequest, invalid
from apps.http.requests import limit_searches
from apps.http.requests import viewer_of as optional_viewer_of
from apps.pagination import Cursor, Page
from apps.scopes import ANY_TOKEN
from apps.search.queries import post_at_url, search_people, search_posts
from apps.search.query_parser import parse_query
from apps.search.suggestions import dismiss_suggestion, listed_people, suggested_people
from apps.search.trends import recommended_posts, trending_posts
from apps.tags import actions, queries
from apps.tags.models import Tag
from apps.tags.names import normalize
from apps.tags.queries import followed_page, tag_named, tag_usages, tags_beginning
from apps.tags.trends import trending_tags
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.word_filters import apply_filters
from feedcache.ids import parse_id

FOLLOWED_DEFAULT, MAX_FOLLOWED = 100, 200
TRENDING_DEFAULT, MAX_TRENDING = 10, 20
KINDS = ("accounts", "statuses", "hashtags")
DIRECTORY_ORDERS = ("active", "new")
LIMIT = OpenApiParameter("limit", int, description="The maximum number of each kind; clamped.")
OFFSET = OpenApiParameter("offset", int, description="Results to skip, at most 150.")


@operation(
    "Find accounts, posts and tags",
    SearchJson,
    errors=[400, 422, 429],
    description="Finds words, phrases in quotes, and from:alice, before:2026-11-01, after:2026-11-01, "
    "has:image, is:reply, lang:zh. "
    "Finds public posts and your own. The address of a post or a profile finds only that post or profile.",
    parameters=[
        OpenApiParameter("q", str, required=True),
        OpenApiParameter("type", str, enum=KINDS),
        OpenApiParameter("account_id", str, description="Posts of this account only."),
        OpenApiParameter("following", bool, description="Only accounts that you follow."),
        OpenApiParameter("max_id", str),
        OpenApiParameter("min_id", str),
        OpenApiParameter("date", str, description="Posts up to the end of this day (UTC)."),
        OpenApiParameter("until", str, description="Posts up to this second, in ISO 8601."),
        OpenApiParameter("resolve", bool, description="No effect: there are no other sites."),
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
        raise BadRequest("type must be accounts, statuses or hashtags.")
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
        results["hashtags"] = _tags_json(tags, viewer, are_in_use=True)
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
        OpenApiParameter("resolve", bool, description="No effect: there are no other sites."),
        LIMIT,
        OFFSET,
    ],
)
@endpoint(GET="read:accounts")
def search_accounts(request: Request) -> Response:
    """Accounts by words of the name, the beginning of the handle, or a similar handle. An exact handle comes first."""
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
    "Trending posts: the public posts with the most likes and reposts",
    list[StatusJson],
    tags=["trends"],
    errors=[400],
    parameters=[LIMIT, OFFSET],
)
@endpoint(GET=ANY_TOKEN, public=True)
def trending_statuses(request: Request) -> Response:
    """The trending posts, at most one per author; ranked every few minutes."""
    viewer = optional_viewer_of(request)
    limit = Cursor.from_query(request.query_params).limit
    items = trending_posts(viewer, limit=limit, offset=offset_of(request.query_params))
    return Response([status_json(item) for item in items])


@operation(
    "Popular posts of people you do not follow, each recommended to you once",
    list[StatusJson],
    tags=["trends"],
    errors=[400, 401],
    description="Excludes posts that you have read or liked. Each call recommends different posts.",
    parameters=[LIMIT],
)
@endpoint(GET="read:statuses")
def recommended(request: Request) -> Response:
    """Popular posts that are new to the viewer."""
    limit = Cursor.from_query(request.query_params).limit
    viewer = viewer_of(request)
    items = recommended_posts(viewer, limit=limit) if shows_its_answer(request) else []
    return Response([status_json(item) for item in items])


@operation(
    "Accounts that you may want to follow",
    list[SuggestionJson],
    tags=["accounts"],
    errors=[400, 401],
    parameters=[LIMIT],
)
@endpoint(GET="read:accounts")
def suggestions(request: Request) -> Response:
    """The most followed accounts that the viewer has not followed, asked to follow, blocked, muted or dismissed."""
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
    """The suggested accounts without the sources of the suggestions."""
    return Response([account_json(user) for user in _suggested(request)])


@operation(
    "Do not suggest an account again", EMPTY_OBJECT, name="dismiss_suggestion", tags=["accounts"]
)
@endpoint(DELETE="write:accounts")
def dismissed(request: Request, account_id: int) -> Response:
    """Dismiss a suggestion. The latest 200 dismissals of the viewer are kept."""
    dismiss_suggestion(viewer_of(request), account_id)
    return Response({})


@operation("A tag and how much it is used", TagJson, tags=["tags"], errors=[404])
@endpoint(GET=ANY_TOKEN, public=True)
def show_tag(request: Request, name: str) -> Response:
    """A tag, whether anybody has used it or not."""
    return _tag(tag_named(name), optional_viewer_of(request))


def _change_tag(
    name: str, summary: str, change: Callable[[User, str], object], *, scope: str = "write:follows"
) -> Callable[..., Response]:
    @operation(summary, TagJson, name=f"{name}_tag", tags=["tags"], errors=[401, 404, 422])
    @endpoint(POST=scope)
    def view(request: Request, name: str) -> Response:
        viewer = viewer_of(request)
        change(viewer, name)
        return _tag(tag_named(name), viewer)

    return view


follow_tag = _change_tag(
    "follow", "Follow a tag, so that its posts are on your home page", actions.follow_tag
)
unfollow_tag = _change_tag("unfollow", "Unfollow a tag", actions.unfollow_tag)
feature_tag = _change_tag(
    "feature", "Show a tag on your profile", actions.feature_tag, scope="write:accounts"
)
unfeature_tag = _change_tag(
    "unfeature", "Remove a tag from your profile", actions.unfeature_tag, scope="write:accounts"
)


def _tag(tag: Tag, viewer: User | None) -> Response:
    return Response(_tags_json([tag], viewer)[0])


def _tags_json(
    tags: Collection[Tag], viewer: User | None, *, are_in_use: bool = False
) -> list[TagJson]:
    usages, featured = tag_usages(tags, viewer, are_in_use=are_in_use), queries.featured_ids(viewer)
    return [tag_json(usage, featured) for usage in usages]


@operation(
    "The tags you follow",
    list[TagJson],
    tags=["tags"],
    errors=[400, 401],
    parameters=CURSOR_PARAMETERS,
)
@endpoint(GET="read:follows")
def followed_tags(request: Request) -> Response:
    """The tags that the viewer follows, most recently followed first; follow the `Link` header."""
    viewer, query = viewer_of(request), request.query_params
    cursor = Cursor.from_query(query, default=FOLLOWED_DEFAULT, maximum=MAX_FOLLOWED)
    page = followed_page(viewer, cursor)
    return paged(request, page, _tags_json(page.items, viewer))


def _trends(name: str) -> Callable[..., Response]:
    @operation(
        "Trending tags: those used by the most accounts",
        list[TagJson],
        name=name,
        tags=["trends"],
        errors=[400],
        parameters=[
            OpenApiParameter("limit", int, description="At most this many; clamped."),
            OpenApiParameter("offset", int, description="Results to skip."),
        ],
    )
    @endpoint(GET=ANY_TOKEN, public=True)
    def view(request: Request) -> Response:
        query = request.query_params
        maximum = Cursor.from_query(query, default=TRENDING_DEFAULT, maximum=MAX_TRENDING).limit
        page = trending_tags(maximum=maximum, offset=offset_of(query))
        return Response(_tags_json(page, optional_viewer_of(request), are_in_use=True))

    return view


trending_tag_usages = _trends("trending_tags")
trends = _trends("trends")  # the same list at its older address


@operation(
    "The tags on your profile", list[FeaturedTagJson], method="GET", tags=["tags"], errors=[401]
)
@operation(
    "Show a tag on your profile",
    FeaturedTagJson,
    method="POST",
    name="create_featured_tag",
    tags=["tags"],
    request=FeaturedTagInput,
    errors=[401, 404, 422],
)
@endpoint(GET="read:accounts", POST="write:accounts")
def featured_tags(request: Request) -> Response:
    """The tags on the viewer's profile, most used first; at most ten."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return _featured(viewer)
    fields = validated(FeaturedTagInput(data=request.data))
    if normalize(fields["name"]) is None:
        raise invalid("name", _("This cannot be a tag."))
    row = actions.feature_tag(viewer, fields["name"])
    (use,) = (use for use in queries.featured_tags(viewer.pk) if use.row.pk == row.pk)
    return Response(featured_tag_json(use, viewer))


@operation("Remove a tag from your profile, by its id there", EMPTY_OBJECT, tags=["tags"])
@endpoint(DELETE="write:accounts")
def featured_tag(request: Request, row_id: int) -> Response:
    """Remove a tag from the viewer's profile."""
    actions.remove_featured_tag(viewer_of(request), row_id)
    return Response({})


@operation(
    "Tags that you use and could show on your profile", list[TagJson], tags=["tags"], errors=[401]
)
@endpoint(GET="read:accounts")
def featured_tag_suggestions(request: Request) -> Response:
    """The ten tags that the viewer uses most in public posts, except those on the profile."""
    viewer = viewer_of(request)
    tags = queries.tags_to_feature(viewer.pk, maximum=actions.MAX_FEATURED)
    return Response([tag_json(usage) for usage in tag_usages(tags, viewer)])


@operation("The tags on a profile", list[FeaturedTagJson], tags=["accounts"], errors=[404])
@endpoint(GET=ANY_TOKEN, public=True)
def account_featured_tags(_request: Request, account_id: int) -> Response:
    """The tags on the profile of an account, most used first."""
    return _featured(user_by_id(account_id))


def _featured(owner: User) -> Response:
    uses = queries.featured_tags(owner.pk)
    return Response([featured_tag_json(use, owner) for use in uses])


@operation(
    "The directory: accounts that want to be found",
    list[AccountJson],
    tags=["accounts"],
    errors=[400],
    parameters=[
        OpenApiParameter("order", str, enum=DIRECTORY_ORDERS, description="By default `active`."),
        OpenApiParameter("local", bool, description="No effect: all accounts are on this site."),
        LIMIT,
        OFFSET,
    ],
)
@endpoint(GET=ANY_TOKEN, public=True)
def directory(request: Request) -> Response:
    """`active`: the authors of the newest 2,000 public posts, the latest first; `new`: the newest 500 accounts.

    Lists only accounts that want to be found, without those that the viewer blocks or mutes, or that block the viewer.
    """
    query = request.query_params
    order = query.get("order") or "active"
    if order not in DIRECTORY_ORDERS:
        raise BadRequest("order must be active or new.", code="bad_parameter")
    people = listed_people(
        optional_viewer_of(request),
        newest_first=order == "new",
        limit=people_cursor(request).limit,
        offset=offset_of(query),
    )
    return Response([account_json(user) for user in people])


def _suggested(request: Request) -> list[User]:
    cursor = people_cursor(request)
    return suggested_people(viewer_of(request), limit=cursor.limit)


def _account_id(request: Request) -> int | None:
    text = request.query_params.get("account_id")
    try:
        return parse_id(text) if text else None
    except ValueError:
        raise BadRequest("account_id is not an id.") from None
