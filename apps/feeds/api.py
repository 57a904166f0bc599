"""Rule-based feeds in the API: their entities and endpoints."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.addresses import absolute
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.base import LANGUAGE, Input, Uri
from apps.api.entities.status import StatusJson, status_json
from apps.api.openapi import EMPTY_OBJECT
from apps.api.pagination import POSTS_PARAMETERS, paged, posts_cursor
from apps.api.params import validated
from apps.feeds.actions import MAX_RULES, change_feed, create_feed, delete_feed
from apps.feeds.models import NAME_MAX_CHARACTERS, WORDS_MAX_CHARACTERS, Feed
from apps.feeds.queries import feeds_of, handles_in, own_feed, readable_feed
from apps.feeds.timeline import feed_timeline
from apps.http import requests
from feedcache.stats import stage


class FeedJson(TypedDict):
    """A rule-based feed: posts that match any of the include rules and none of the exclude rules."""

    id: str
    name: str
    url: Annotated[
        Uri, "The feed's page; if the feed is public, it may link to versions for feed readers."
    ]
    include_people: Annotated[list[str], "Handles."]
    include_tags: list[str]
    include_words: Annotated[list[str], "Words and phrases."]
    exclude_people: list[str]
    exclude_tags: list[str]
    exclude_words: list[str]
    languages: Annotated[list[str], "Empty: all languages."]
    only_media: bool
    without_replies: bool
    without_reposts: bool
    public: Annotated[bool, "Everybody may read the feed, but not its rules."]
    pinned: Annotated[bool, "The feed has a tab next to the timelines."]


def feeds_json(feeds: Sequence[Feed]) -> list[FeedJson]:
    handles = handles_in(feeds)

    def named(ids: Sequence[int]) -> list[str]:
        return [handles[pk] for pk in ids if pk in handles]

    return [
        {
            "id": str(feed.pk),
            "name": feed.name,
            "url": absolute(feed.url),
            "include_people": named(feed.include_people),
            "include_tags": feed.include_tags,
            "include_words": feed.include_words,
            "exclude_people": named(feed.exclude_people),
            "exclude_tags": feed.exclude_tags,
            "exclude_words": feed.exclude_words,
            "languages": feed.languages,
            "only_media": feed.only_media,
            "without_replies": feed.without_replies,
            "without_reposts": feed.without_reposts,
            "public": feed.is_public,
            "pinned": feed.is_pinned,
        }
        for feed in feeds
    ]


def _texts() -> serializers.ListField:
    text = serializers.CharField(max_length=WORDS_MAX_CHARACTERS)
    return serializers.ListField(child=text, max_length=MAX_RULES, required=False)


class FeedChange(Input):
    """The fields to change; those left out keep their values."""

    name = serializers.CharField(max_length=NAME_MAX_CHARACTERS, required=False)
    include_people, include_tags, include_words = _texts(), _texts(), _texts()
    exclude_people, exclude_tags, exclude_words = _texts(), _texts(), _texts()
    languages = serializers.ListField(
        child=serializers.RegexField(LANGUAGE, max_length=10), max_length=MAX_RULES, required=False
    )
    only_media = serializers.BooleanField(required=False)
    without_replies = serializers.BooleanField(required=False)
    without_reposts = serializers.BooleanField(required=False)
    public = serializers.BooleanField(source="is_public", required=False)
    pinned = serializers.BooleanField(source="is_pinned", required=False)


class FeedInput(FeedChange):
    """A new feed, with at least one include rule. Unknown fields are ignored."""

    name = serializers.CharField(max_length=NAME_MAX_CHARACTERS)


class FeedStatusJson(StatusJson):
    """A status on a feed's timeline."""

    x_because: Annotated[list[str], "The include rules that match. Empty unless the feed is yours."]


@operation("Your rule-based feeds", list[FeedJson], method="GET", tags=["feeds"], errors=[401])
@operation(
    "Create a rule-based feed",
    FeedJson,
    method="POST",
    name="create_feed",
    tags=["feeds"],
    request=FeedInput,
    errors=[400, 401, 422],
)
@endpoint(GET="read:lists", POST="write:lists")
def feeds(request: Request) -> Response:
    """List the viewer's feeds, at most 20, or create one."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response(feeds_json(feeds_of(viewer)))
    fields = validated(FeedInput(data=request.data))
    return Response(feeds_json([create_feed(viewer, **fields)])[0])


@operation("One of your feeds", FeedJson, method="GET", name="show_feed", tags=["feeds"])
@operation(
    "Change a feed", FeedJson, method="PUT", name="change_feed", tags=["feeds"], request=FeedChange
)
@operation("Delete a feed", EMPTY_OBJECT, method="DELETE", name="delete_feed", tags=["feeds"])
@endpoint(GET="read:lists", PUT="write:lists", DELETE="write:lists")
def feed(request: Request, feed_id: int) -> Response:
    """Show, change or delete a feed; its address never changes."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response(feeds_json([own_feed(viewer, feed_id)])[0])
    if request.method == "DELETE":
        delete_feed(viewer, feed_id)
        return Response({})
    fields = validated(FeedChange(data=request.data))
    return Response(feeds_json([change_feed(viewer, feed_id, **fields)])[0])


@operation(
    "The posts in a rule-based feed",
    list[FeedStatusJson],
    name="feed_timeline",
    tags=["feeds"],
    errors=[400, 404, 422, 429],
    description="The feed must be yours or public. Other people see only its public statuses. A page may be short "
    "or empty although there is more: follow the `Link` header.",
    parameters=POSTS_PARAMETERS,
)
@endpoint(GET="read:lists", public=True)
def of_feed(request: Request, feed_id: int) -> Response:
    """A page of the posts that match a feed."""
    viewer, cursor = requests.viewer_of(request), posts_cursor(request)
    feed = readable_feed(requests.viewer_id_of(request), feed_id)
    if feed.include_words:
        requests.limit_searches(request)
    page = feed_timeline(feed, viewer, cursor)
    with stage("present"):
        body: list[FeedStatusJson] = [
            {**status_json(item), "x_because": list(item.because)} for item in page.items
        ]
        return paged(request, page, body)


urlpatterns: list[URLPattern] = [
    path("feeds", feeds),
    path("feeds/<int:feed_id>", feed),
    path("feeds/<int:feed_id>/timeline", of_feed),
]
