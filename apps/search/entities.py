"""Search and suggestions as JSON, in the Mastodon shape."""

from typing import TypedDict

from apps.accounts.entities import AccountJson, account_json
from apps.accounts.models import User
from apps.entities import Uri
from apps.tags.entities import TagJson
from apps.timeline.entities import StatusJson


class SearchJson(TypedDict):
    """What was found; a group that was not asked for is empty."""

    accounts: list[AccountJson]
    statuses: list[StatusJson]
    hashtags: list[TagJson]


class SuggestionJson(TypedDict):
    """Somebody to follow, and why."""

    source: str
    sources: list[str]
    account: AccountJson


def suggestion_json(user: User) -> SuggestionJson:
    """Somebody whom many follow."""
    return {"source": "global", "sources": ["most_followed"], "account": account_json(user)}


class TrendsLinkJson(TypedDict):
    """A page that many posts link to; this site does not count them."""

    url: Uri
    title: str
