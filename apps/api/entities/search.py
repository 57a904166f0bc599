"""Search and suggestions as JSON, in the Mastodon shape."""

from typing import TypedDict

from apps.accounts.models import User
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import Uri
from apps.api.entities.status import StatusJson
from apps.api.entities.tag import TagJson


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
    return {"source": "global", "sources": ["most_followed"], "account": account_json(user)}


class TrendsLinkJson(TypedDict):
    """A page that many posts link to; this site does not count them."""

    url: Uri
    title: str
