"""Lists (in the Mastodon shape), circles and feeds by rules as JSON."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from rest_framework import serializers

from apps.addresses import absolute
from apps.api.entities.base import LANGUAGE, Input, Uri
from apps.feeds.actions import MAX_RULES
from apps.feeds.models import NAME_MAX_CHARACTERS, WORDS_MAX_CHARACTERS, Feed
from apps.feeds.queries import handles_in
from apps.graph.groups.queries import CircleChoice
from apps.graph.models import RepliesPolicy, UserList


class ListJson(TypedDict):
    """A list of people."""

    id: str
    title: str
    replies_policy: Annotated[str, RepliesPolicy]
    exclusive: Annotated[bool, "Its people are not on the home page."]


def list_json(user_list: UserList) -> ListJson:
    return {
        "id": str(user_list.pk),
        "title": user_list.name,
        "replies_policy": user_list.replies_policy,
        "exclusive": user_list.is_exclusive,
    }


class ListInput(Input):
    """A new list. Unknown fields are ignored."""

    title = serializers.CharField(source="name", max_length=UserList.NAME_MAX_CHARACTERS)
    replies_policy = serializers.ChoiceField(RepliesPolicy.values, default=RepliesPolicy.LIST.value)
    exclusive = serializers.BooleanField(source="is_exclusive", default=False)


class ListChange(Input):
    """The fields to change; those left out keep their values."""

    title = serializers.CharField(
        source="name", max_length=UserList.NAME_MAX_CHARACTERS, required=False
    )
    replies_policy = serializers.ChoiceField(RepliesPolicy.values, required=False)
    exclusive = serializers.BooleanField(source="is_exclusive", required=False)


class PeopleInput(Input):
    """Accounts by id; in a form `account_ids[]`."""

    account_ids = serializers.ListField(child=serializers.CharField(max_length=20), max_length=100)


class CircleJson(TypedDict):
    """A circle that the viewer may post to."""

    id: str
    title: str
    is_own: bool
    is_shared: Annotated[bool, "Its members may post to it."]


def circle_json(circle: CircleChoice) -> CircleJson:
    return {
        "id": str(circle.id),
        "title": circle.name,
        "is_own": circle.is_own,
        "is_shared": circle.is_shared,
    }


class FeedJson(TypedDict):
    """A feed by rules: posts that match any of the include rules and none of the exclude rules."""

    id: str
    name: str
    url: Annotated[Uri, "Its page; if it is public, with .atom, .rss or .json for feed readers."]
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
    public: Annotated[bool, "Everybody may read it, without its rules."]
    pinned: Annotated[bool, "It is a tab beside the timelines."]


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
