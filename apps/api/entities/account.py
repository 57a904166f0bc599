"""Accounts, relationships and reports as JSON, in the Mastodon shape."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NotRequired, TypedDict
from urllib.parse import urlencode

import orjson
from django.conf import settings
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.models import PRIVACY, QuotePolicy, User
from apps.addresses import absolute, picture_address
from apps.api.entities.base import (
    ID,
    LANGUAGE,
    Date,
    DateTime,
    Input,
    Object,
    UploadField,
    Uri,
    optional_timestamp,
    timestamp,
)
from apps.api.hooks import COLLECTIONS
from apps.graph.actions import NOTE_MAX_CHARACTERS
from apps.graph.familiar_followers import FamiliarFollowers
from apps.graph.queries import Relationship
from apps.moderation.models import COMMENT_MAX_CHARACTERS, Category, Report
from apps.posts.content.text import html, line_html
from apps.tags.queries import OwnUse
from feedcache.ids import second_of
from feedcache.local_cache import exact_size


class FieldJson(TypedDict):
    """A line of a profile."""

    name: str
    value: str
    verified_at: DateTime | None


class FeatureApprovalJson(TypedDict):
    """Who may add an account to a collection."""

    automatic: list[str]
    manual: list[str]
    current_user: Annotated[str, ["automatic", "denied", "unknown"]]


_NOBODY: FeatureApprovalJson = {"automatic": [], "manual": [], "current_user": "denied"}


class AccountJson(TypedDict):
    """An account as others see it."""

    id: Annotated[str, "A decimal number as a string."]
    username: str
    acct: str
    display_name: str
    locked: bool
    bot: bool
    group: bool
    discoverable: bool
    indexable: bool
    noindex: bool
    created_at: DateTime
    note: Annotated[str, "HTML."]
    url: Uri
    uri: Uri
    avatar: Uri
    avatar_static: Uri
    avatar_description: str
    header: Uri
    header_static: Uri
    header_description: str
    hide_collections: Annotated[bool, "Always false: there is no such setting."]
    show_media: Annotated[bool, "Always true: there is no such setting."]
    show_media_replies: Annotated[bool, "Always true: there is no such setting."]
    show_featured: Annotated[bool, "Always true: there is no such setting."]
    feature_approval: FeatureApprovalJson
    followers_count: int
    following_count: int
    statuses_count: int
    last_status_at: Date | None
    emojis: list[Object]
    roles: list[Object]
    fields: list[FieldJson]
    limited: NotRequired[Annotated[Literal[True], "Staff have limited the account."]]


def account_json(user: User) -> AccountJson:
    """An account as JSON; `user.counts` must be loaded. If its card is cached, all but the counts is cached too."""
    if user.derived is None:  # not from a cached card (`accounts.cache`)
        return _account_json(user)
    key = "json", settings.SITE_URL
    cached: AccountJson | None = user.derived.get(key)
    if cached is None:
        cached = user.derived[key] = _account_json(user)
    counts = user.counts
    return {
        **cached,
        "followers_count": counts.followers,
        "following_count": counts.following,
        "statuses_count": counts.posts,
    }


def account_as_bytes(user: User, site: str) -> bytes:
    """An account as encoded JSON, cached with its card until a count changes. `site` is `settings.SITE_URL`."""
    if user.derived is None:
        return orjson.dumps(account_json(user))
    key = site, user.shown_counts
    cached: tuple[object, bytes] = user.derived.get("bytes", (None, b""))
    if cached[0] != key:  # one entry per user, replaced when a count changes
        cached = user.derived["bytes"] = key, exact_size(orjson.dumps(account_json(user)))
    return cached[1]


def _account_json(user: User) -> AccountJson:
    address, picture, banner = absolute(user.url), user.avatar_url, user.header_url
    picture = absolute(picture) if picture else picture_address("img/avatar.svg")
    banner = absolute(banner) if banner else picture_address("img/banner.svg")
    account: AccountJson = {
        "id": str(user.pk),
        "username": user.handle,
        "acct": user.handle,
        "display_name": user.name,
        "locked": user.is_locked,
        "bot": user.is_bot,
        "group": False,
        "discoverable": user.is_discoverable,
        "indexable": user.is_indexable,
        "noindex": not user.is_indexable,
        "created_at": timestamp(user.created_at),
        "note": html(user.bio, handles=None, origin=settings.SITE_URL),
        "url": address,
        "uri": address,
        "avatar": picture,
        "avatar_static": picture,
        "avatar_description": user.avatar_alt,
        "header": banner,
        "header_static": banner,
        "header_description": user.header_alt,
        "hide_collections": False,
        "show_media": True,
        "show_media_replies": True,
        "show_featured": True,
        "feature_approval": next((one.approval(user) for one in COLLECTIONS), _NOBODY),
        "followers_count": user.counts.followers,
        "following_count": user.counts.following,
        "statuses_count": user.counts.posts,
        # only the day, so that the cached card stays valid when another post is published on the same day
        "last_status_at": day_of(user.counts.last_open_post_id),
        "emojis": [],
        "roles": [],
        "fields": [
            {
                "name": name,
                "value": line_html(value, origin=settings.SITE_URL),
                "verified_at": None,
            }
            for name, value in user.lines
        ],
    }
    if user.limited_at:
        account["limited"] = True
    return account


class SourceJson(TypedDict):
    """The fields that the owner of an account can edit."""

    privacy: str
    sensitive: bool
    language: str | None
    quote_policy: Annotated[str, QuotePolicy]
    note: str
    fields: list[FieldJson]
    follow_requests_count: int
    discoverable: bool
    indexable: bool
    hide_collections: bool
    attribution_domains: Annotated[list[str], "Always empty."]


class RoleJson(TypedDict):
    """The account's role. It has no permissions, even for staff."""

    id: str
    name: str
    color: str
    permissions: str
    highlighted: bool
    collection_limit: int


class CredentialAccountJson(AccountJson):
    """The viewer's own account."""

    source: SourceJson
    role: RoleJson


def credential_account_json(user: User, *, requests: int) -> CredentialAccountJson:
    """The viewer's own account as JSON. `requests` is the number of pending follow requests."""
    source: SourceJson = {
        "privacy": PRIVACY[user.post_visibility],
        "sensitive": user.post_sensitive,
        "language": user.post_language or None,
        "quote_policy": user.quote_policy,
        "note": user.bio,
        "fields": _plain_fields(user),
        "discoverable": user.is_discoverable,
        "indexable": user.is_indexable,
        "hide_collections": False,
        "attribution_domains": [],
        "follow_requests_count": requests,
    }
    role: RoleJson = {"id": "0", "name": "", "color": "", "permissions": "0", "highlighted": False,
                      "collection_limit": sum(one.limit for one in COLLECTIONS)}  # fmt: skip
    return {**account_json(user), "source": source, "role": role}


def _plain_fields(user: User) -> list[FieldJson]:
    """The lines of a profile as their owner wrote them."""
    return [{"name": name, "value": value, "verified_at": None} for name, value in user.lines]


class FeaturedTagJson(TypedDict):
    """A tag on a profile. `statuses_count` is the number of the account's public posts with the tag, as a string."""

    id: Annotated[str, "For `DELETE`; not the id of the tag."]
    name: str
    url: Annotated[Uri, "The account's posts with the tag."]
    statuses_count: str
    last_status_at: Date | None


def featured_tag_json(use: OwnUse, owner: User) -> FeaturedTagJson:
    tag = use.row.tag
    return {
        "id": str(use.row.pk),
        "name": tag.name,
        "url": absolute(f"/search?{urlencode({'q': f'from:{owner.handle} #{tag.name}'})}"),
        "statuses_count": str(use.uses),
        "last_status_at": day_of(use.last_post_id),
    }


class ProfileJson(TypedDict):
    """The viewer's own profile for editing, with the texts as the viewer wrote them."""

    id: str
    display_name: str
    note: str
    fields: list[FieldJson]
    avatar: Annotated[Uri | None, "Null if no picture was uploaded."]
    avatar_static: Uri | None
    avatar_description: str
    header: Annotated[Uri | None, "Null if no picture was uploaded."]
    header_static: Uri | None
    header_description: str
    locked: bool
    bot: bool
    hide_collections: bool
    discoverable: bool
    indexable: bool
    show_media: bool
    show_media_replies: bool
    show_featured: bool
    attribution_domains: list[str]
    featured_tags: list[FeaturedTagJson]


def profile_json(user: User, featured: Iterable[OwnUse]) -> ProfileJson:
    avatar = absolute(user.avatar_url) if user.avatar_url else None
    header = absolute(user.header_url) if user.header_url else None
    return {
        "id": str(user.pk),
        "display_name": user.display_name,
        "note": user.bio,
        "fields": _plain_fields(user),
        "avatar": avatar,
        "avatar_static": avatar,
        "avatar_description": user.avatar_alt,
        "header": header,
        "header_static": header,
        "header_description": user.header_alt,
        "locked": user.is_locked,
        "bot": user.is_bot,
        "hide_collections": False,
        "discoverable": user.is_discoverable,
        "indexable": user.is_indexable,
        "show_media": True,
        "show_media_replies": True,
        "show_featured": True,
        "attribution_domains": [],
        "featured_tags": [featured_tag_json(use, user) for use in featured],
    }


PreferencesJson = TypedDict(
    "PreferencesJson",
    {
        "posting:default:visibility": str,
        "posting:default:sensitive": bool,
        "posting:default:language": str | None,
        "posting:default:quote_policy": str,
        "reading:expand:media": str,
        "reading:expand:spoilers": bool,
        "reading:autoplay:gifs": bool,
    },
)
PreferencesJson.__doc__ = "The viewer's preferences for writing and reading."


def preferences_json(user: User) -> PreferencesJson:
    return {
        "posting:default:visibility": PRIVACY[user.post_visibility],
        "posting:default:sensitive": user.post_sensitive,
        "posting:default:language": user.post_language or None,
        "posting:default:quote_policy": user.quote_policy,
        "reading:expand:media": "default",
        "reading:expand:spoilers": False,
        "reading:autoplay:gifs": user.plays_loops,
    }


def day_of(post_id: int | None) -> Date | None:
    """The day (UTC) of a post; None without an id."""
    return datetime.fromtimestamp(second_of(post_id), UTC).date().isoformat() if post_id else None


class RelationshipJson(TypedDict):
    """The viewer's relationship to an account."""

    id: str
    following: bool
    showing_reblogs: bool
    notifying: bool
    languages: list[str] | None
    followed_by: bool
    blocking: bool
    blocked_by: bool
    muting: bool
    muting_notifications: bool
    muting_expires_at: DateTime | None
    requested: bool
    requested_by: bool
    domain_blocking: bool
    endorsed: bool
    note: str


def relationship_json(relationship: Relationship) -> RelationshipJson:
    return {
        "id": str(relationship.id),
        "following": relationship.following,
        "showing_reblogs": relationship.shows_reposts,
        "notifying": relationship.notifies,
        "languages": list(relationship.languages) or None,
        "followed_by": relationship.followed_by,
        "blocking": relationship.blocking,
        "blocked_by": relationship.blocked_by,
        "muting": relationship.muting,
        "muting_notifications": relationship.mutes_notifications,
        "muting_expires_at": optional_timestamp(relationship.mute_ends_at),
        "requested": relationship.requested,
        "requested_by": relationship.requested_by,
        "domain_blocking": False,  # there are no remote domains
        "endorsed": relationship.endorsed,
        "note": relationship.note,
    }


class MutedAccountJson(AccountJson):
    """An account that the viewer has muted."""

    mute_expires_at: DateTime | None


def muted_account_json(user: User, ends_at: datetime | None) -> MutedAccountJson:
    return {**account_json(user), "mute_expires_at": optional_timestamp(ends_at)}


class FamiliarFollowersJson(TypedDict):
    """The followers of an account whom the viewer also follows."""

    id: str
    accounts: list[AccountJson]


def familiar_followers_json(user_id: int, familiar: FamiliarFollowers) -> FamiliarFollowersJson:
    return {"id": str(user_id), "accounts": [account_json(user) for user in familiar.people]}


class ReportJson(TypedDict):
    """A report by the viewer."""

    id: str
    action_taken: bool
    action_taken_at: DateTime | None
    category: Annotated[str, Category]
    comment: str
    forwarded: Annotated[bool, "Always false: there are no other sites."]
    created_at: DateTime
    status_ids: list[str]
    collection_ids: list[str]
    rule_ids: list[str]
    target_account: AccountJson


def report_json(
    report: Report, target: User, post_ids: Collection[int], collection_ids: Collection[int]
) -> ReportJson:
    return {
        "id": str(report.pk),
        "action_taken": report.resolved_at is not None,
        "action_taken_at": optional_timestamp(report.resolved_at),
        "category": report.category,
        "comment": report.comment,
        "forwarded": False,
        "created_at": timestamp(report.created_at),
        "status_ids": [str(post_id) for post_id in post_ids],
        "collection_ids": [str(number) for number in collection_ids],
        "rule_ids": [str(number) for number in report.rule_ids],
        "target_account": account_json(target),
    }


class LineInput(Input):
    """A line of a profile."""

    name = serializers.CharField(allow_blank=True, default="")
    value = serializers.CharField(allow_blank=True, default="")


@extend_schema_field(LineInput(many=True))
class LinesField(serializers.Field[Any, Any, Any, Any]):
    """The lines of a profile: a list, or an object whose keys are indexes, as HTML forms send it."""

    def to_internal_value(self, data: Any) -> list[tuple[str, str]]:
        rows = LineInput(data=list(data.values()) if isinstance(data, dict) else data, many=True)
        if not rows.is_valid():
            raise serializers.ValidationError(_("A line needs a name and a value."))
        return [(row["name"], row["value"]) for row in rows.validated_data]

    def to_representation(self, value: Any) -> Any:
        return value


class OnlyField(serializers.BooleanField):
    """A Mastodon setting with only one possible value here. The other value is refused, not ignored."""

    def __init__(self, *, only: bool, **options: Any) -> None:
        super().__init__(**options)
        self.only = only

    def to_internal_value(self, data: Any) -> bool:
        if super().to_internal_value(data) != self.only:
            raise serializers.ValidationError(_("This site has no such setting."))
        return self.only


class PostingInput(Input):
    """The defaults of new posts."""

    privacy = serializers.ChoiceField(list(PRIVACY.values()), required=False)
    sensitive = serializers.BooleanField(required=False)
    language = serializers.RegexField(LANGUAGE, required=False, allow_blank=True, allow_null=True)
    quote_policy = serializers.ChoiceField(QuotePolicy.values, required=False)


class ProfileInput(Input):
    """The fields of a profile to change. `validated_data` holds the arguments of `update_profile`, and `is_locked`."""

    display_name = serializers.CharField(required=False, allow_blank=True)
    note = serializers.CharField(
        required=False, allow_blank=True, source="bio", trim_whitespace=False
    )
    locked = serializers.BooleanField(required=False, source="is_locked")
    bot = serializers.BooleanField(required=False, source="is_bot")
    discoverable = serializers.BooleanField(required=False, source="is_discoverable")
    indexable = serializers.BooleanField(required=False, source="is_indexable")
    avatar = UploadField(required=False, allow_empty_file=True)
    header = UploadField(required=False, allow_empty_file=True)
    avatar_description = serializers.CharField(
        required=False, allow_blank=True, source="avatar_alt"
    )
    header_description = serializers.CharField(
        required=False, allow_blank=True, source="header_alt"
    )
    fields_attributes = LinesField(required=False, source="lines")
    hide_collections = OnlyField(only=False, required=False)
    show_media = OnlyField(only=True, required=False)
    show_media_replies = OnlyField(only=True, required=False)
    show_featured = OnlyField(only=True, required=False)
    source = PostingInput(required=False)  # type: ignore[assignment]  # Mastodon's name; fields of DRF have a `source` too

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for name in ("hide_collections", "show_media", "show_media_replies", "show_featured"):
            attrs.pop(name, None)
        posting = attrs.pop("source", {})
        if "privacy" in posting:
            visibility_by_name = {name: visibility for visibility, name in PRIVACY.items()}
            attrs["post_visibility"] = visibility_by_name[posting["privacy"]]
        if "sensitive" in posting:
            attrs["post_sensitive"] = posting["sensitive"]
        if "language" in posting:
            attrs["post_language"] = posting["language"] or ""
        if "quote_policy" in posting:
            attrs["quote_policy"] = posting["quote_policy"]
        return attrs


MAX_LANGUAGES = 20  # per follow


class FollowInput(Input):
    """The options of a follow; absent fields stay unchanged.

    By default, a new follow shows reblogs and posts in all languages, and sends no notifications.
    """

    reblogs = serializers.BooleanField(source="reposts", default=None)
    notify = serializers.BooleanField(default=None)
    languages = serializers.ListField(
        child=serializers.RegexField(LANGUAGE, allow_blank=True),
        max_length=MAX_LANGUAGES,
        default=None,
        help_text="Show only statuses in these languages, such as `en`, on the home timeline; empty: all.",
    )

    def validate_languages(self, value: list[str] | None) -> list[str] | None:
        """Drop empty strings: in form encoding, an empty list is sent as one empty string."""
        return None if value is None else [language for language in value if language]


class MuteInput(Input):
    """The options of a mute: whether it covers notifications, and how long it lasts."""

    notifications = serializers.BooleanField(
        default=None, help_text="Mute notifications too; null means true."
    )
    duration = serializers.IntegerField(
        source="seconds",
        default=0,
        min_value=0,
        help_text="In seconds, at most a year; 0 means indefinitely.",
    )

    def validate_notifications(self, value: bool | None) -> bool:  # noqa: FBT001 -- DRF's own signature
        return value is not False


class NoteInput(Input):
    """The viewer's private note about an account."""

    comment = serializers.CharField(
        source="text", allow_blank=True, default="", max_length=NOTE_MAX_CHARACTERS
    )


class DomainInput(Input):
    """The domain of another site."""

    domain = serializers.RegexField(r"\A[^\s/@]+\Z", max_length=253)


class ReportInput(Input):
    """A report about an account. `forward` is ignored, because there are no other sites."""

    account_id = serializers.RegexField(ID)
    status_ids = serializers.ListField(child=serializers.RegexField(ID), default=list)
    collection_ids = serializers.ListField(child=serializers.RegexField(ID), default=list)
    comment = serializers.CharField(allow_blank=True, default="", max_length=COMMENT_MAX_CHARACTERS)
    category = serializers.ChoiceField(
        Category.values,
        required=False,
        help_text="By default `violation` with `rule_ids`, otherwise `other`.",
    )
    rule_ids = serializers.ListField(
        child=serializers.RegexField(ID), default=list, help_text="The ids of the broken rules."
    )


class SuggestionJson(TypedDict):
    """A suggested account, and the source of the suggestion, which is always the most followed accounts."""

    source: str
    sources: list[str]
    account: AccountJson


def suggestion_json(user: User) -> SuggestionJson:
    return {"source": "global", "sources": ["most_followed"], "account": account_json(user)}
