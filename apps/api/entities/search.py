"""Search results, tags and trends as JSON, in the Mastodon shape."""

from collections.abc import Collection
from datetime import UTC, datetime, time
from typing import Annotated, TypedDict

from rest_framework import serializers

from apps.addresses import absolute
from apps.api.entities.account import AccountJson
from apps.api.entities.base import Input, Uri
from apps.api.entities.status import StatusJson
from apps.tags.queries import Day, TagUsage


class TagDayJson(TypedDict):
    """The use of a tag on one day; numbers are strings, as clients expect."""

    day: Annotated[str, "The Unix time at which the day (UTC) begins."]
    uses: str
    accounts: str


class TagJson(TypedDict):
    """A tag with its last seven days, today first."""

    id: Annotated[str | None, "Null if nobody has used the tag yet."]
    name: str
    url: Uri
    history: list[TagDayJson]
    following: bool
    featuring: bool


def tag_json(usage: TagUsage, featured: Collection[int] = ()) -> TagJson:
    """A tag as JSON. `featured`: the ids of the tags on the viewer's own profile."""
    return {
        "id": str(usage.tag.pk) if usage.is_in_use else None,
        "name": usage.tag.name,
        "url": absolute(usage.tag.url),
        "history": [day_json(day) for day in usage.history],
        "following": usage.is_followed,
        "featuring": usage.tag.pk in featured,
    }


def day_json(day: Day) -> TagDayJson:
    midnight = datetime.combine(day.day, time(), UTC)
    return {
        "day": str(int(midnight.timestamp())),
        "uses": str(day.uses),
        "accounts": str(day.accounts),
    }


class FeaturedTagInput(Input):
    """A tag to show on one's profile, with or without its #."""

    name = serializers.CharField()


class SearchJson(TypedDict):
    """The results of a search; the list of a kind that was not requested is empty."""

    accounts: list[AccountJson]
    statuses: list[StatusJson]
    hashtags: list[TagJson]
