"""The site and its announcements as JSON in the Mastodon shape, and its NodeInfo document."""

from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from apps.accounts.models import (
    BIO_MAX_CHARACTERS,
    LINE_MAX_CHARACTERS,
    MAX_LINES,
    NAME_MAX_CHARACTERS,
    PICTURE_ALT_MAX_CHARACTERS,
)
from apps.addresses import absolute, picture_address
from apps.api.entities.base import DateTime, Object, optional_timestamp, timestamp
from apps.api.hooks import COLLECTIONS, TRANSLATES, vapid_key
from apps.languages import WRITTEN
from apps.media.sandbox import PICTURE_TYPES
from apps.media.sizes import MAX_PIXELS
from apps.media.video import AUDIO_TYPES, MAX_FRAME_RATE, VIDEO_TYPES, is_available
from apps.moderation.house_rules import RuleJson, rules_json
from apps.notifications.announcements import VisibleAnnouncement
from apps.posts.actions.drafts import (
    ALT_MAX_CHARACTERS,
    MAX_PICTURES,
    POLL_OPTION_MAX_CHARACTERS,
    POLL_OPTIONS,
    POLL_SECONDS,
)
from apps.posts.content.text import URL_CHARACTERS, html
from apps.tags.actions import MAX_FEATURED
from apps.texts import normalise

# Clients derive the features of the API from these versions. Version 10 has collections, which an optional app adds.
MASTODON_VERSION = "4.6.0"
API_VERSION, WITHOUT_COLLECTIONS = 10, 9
# When the text of templates/_privacy.html and of templates/_about.html last changed.
TEXTS_CHANGED_AT = datetime(2026, 11, 27, tzinfo=UTC)
SOURCE = "https://github.com/feedsite/feedsite"
NODEINFO = "http://nodeinfo.diaspora.software/ns/schema/2.0"


class AccountLimitsJson(TypedDict):
    """Limits for accounts; lengths are in characters."""

    max_display_name_length: int
    max_note_length: int
    max_avatar_description_length: int
    max_header_description_length: int
    max_featured_tags: int
    max_pinned_statuses: int
    max_profile_fields: int
    profile_field_name_limit: int
    profile_field_value_limit: int


class StatusLimitsJson(TypedDict):
    """Limits for posts."""

    max_characters: int
    max_media_attachments: int
    characters_reserved_per_url: int


class MediaLimitsJson(TypedDict):
    """Limits for media, in characters, bytes, pixels or frames per second; 0 for video if it is not accepted."""

    supported_mime_types: list[str]
    description_limit: int
    image_size_limit: int
    image_matrix_limit: int
    video_size_limit: int
    video_frame_rate_limit: int
    video_matrix_limit: int


class PollLimitsJson(TypedDict):
    """Limits for polls; times are in seconds."""

    max_options: int
    max_characters_per_option: int
    min_expiration: int
    max_expiration: int


class LimitsJson(TypedDict):
    """The limits of the site."""

    accounts: AccountLimitsJson
    statuses: StatusLimitsJson
    media_attachments: MediaLimitsJson
    polls: PollLimitsJson


class InstanceUrlsJson(TypedDict):
    """Other addresses of the site."""

    streaming: str
    status: str | None
    about: str
    privacy_policy: str
    terms_of_service: str | None


class VapidJson(TypedDict):
    """The public key of web push; empty if the site does not support it."""

    public_key: str


class TranslationJson(TypedDict):
    """Whether posts can be translated."""

    enabled: bool


class FeedAccessJson(TypedDict):
    """Who may read a timeline. On this site, everybody may."""

    local: str
    remote: Annotated[str, "There are no posts from other sites."]


class TimelinesAccessJson(TypedDict):
    """Who may read which timelines."""

    live_feeds: FeedAccessJson
    hashtag_feeds: FeedAccessJson
    trending_link_feeds: FeedAccessJson


class ConfigurationJson(LimitsJson):
    """The limits, features and addresses of the site."""

    urls: InstanceUrlsJson
    vapid: VapidJson
    translation: TranslationJson
    timelines_access: TimelinesAccessJson
    limited_federation: Annotated[bool, "Always true: there are no other sites."]


class ThumbnailJson(TypedDict):
    """The picture that represents the site."""

    url: str
    description: str
    blurhash: str | None
    versions: dict[str, str]


class IconJson(TypedDict):
    """An icon of the site."""

    src: str
    size: str


class ActiveUsersJson(TypedDict):
    """The number of all accounts, because active ones are not counted separately."""

    active_month: int


class UsageJson(TypedDict):
    """Usage statistics."""

    users: ActiveUsersJson


class RegistrationsJson(TypedDict):
    """Whether people can sign up."""

    enabled: bool
    approval_required: bool
    reason_required: bool
    message: str | None
    min_age: int | None
    url: str


class ContactJson(TypedDict):
    """How to contact the people who run the site."""

    email: str
    account: Object | None


class InstanceJson(TypedDict):
    """The site."""

    domain: str
    title: str
    version: str
    source_url: str
    description: str
    wrapstodon: str | None
    usage: UsageJson
    thumbnail: ThumbnailJson
    icon: list[IconJson]
    languages: list[str]
    configuration: ConfigurationJson
    registrations: RegistrationsJson
    api_versions: dict[str, int]
    contact: ContactJson
    rules: list[RuleJson]


class StreamingAddressJson(TypedDict):
    """The address of the streaming API."""

    streaming_api: str


class InstanceStatsJson(TypedDict):
    """The size of the site."""

    user_count: int
    status_count: int
    domain_count: int


class InstanceV1Json(TypedDict):
    """The site, for older clients."""

    uri: str
    title: str
    short_description: str
    description: str
    email: str
    version: str
    urls: StreamingAddressJson
    stats: InstanceStatsJson
    thumbnail: str
    languages: list[str]
    registrations: bool
    approval_required: bool
    invites_enabled: bool
    configuration: LimitsJson
    contact_account: Object | None
    rules: list[RuleJson]


class TextJson(TypedDict):
    """Text about the site, in the language of the request."""

    updated_at: DateTime
    content: Annotated[str, "HTML."]


class LanguageJson(TypedDict):
    """A language that is offered for posts."""

    code: str
    name: Annotated[str, "Its name in the language itself."]


class DomainBlockJson(TypedDict):
    """A blocked site. It exists only in the schema, because this site does not federate and blocks none."""

    domain: str
    digest: str
    severity: str
    comment: str | None


class CustomEmojiJson(TypedDict):
    """A custom emoji. It exists only in the schema, because the site uses only Unicode emoji."""

    shortcode: str
    url: str
    static_url: str
    visible_in_picker: bool


class NodeinfoLinkJson(TypedDict):
    """The address of a document, and its type."""

    rel: str
    href: str


class NodeinfoLinksJson(TypedDict):
    """The address of the NodeInfo document."""

    links: list[NodeinfoLinkJson]


class NodeinfoJson(TypedDict):
    """The NodeInfo document, version 2.0."""

    version: str
    software: dict[str, str]
    protocols: list[str]
    services: dict[str, list[str]]
    openRegistrations: bool
    usage: Object
    metadata: Annotated[Object, "`upstream` is the software whose API this site implements."]


def instance_json(people: int) -> InstanceJson:
    """The site in version 2 of the entity; `people` is the number of accounts."""
    return {
        "domain": _host(),
        "title": settings.SITE_NAME,
        "version": _version(),
        "source_url": SOURCE,
        "description": _about(),
        "wrapstodon": None,
        "usage": {"users": {"active_month": people}},
        "thumbnail": {
            "url": picture_address("img/banner.svg"),
            "description": _("A red sun over green hills."),
            "blurhash": None,
            "versions": {},
        },
        "icon": [{"src": picture_address("favicon.svg"), "size": "any"}],
        "languages": _languages(),
        "configuration": {
            "urls": {
                "streaming": _streaming(),
                "status": None,
                "about": absolute("/about"),
                "privacy_policy": absolute("/privacy"),
                "terms_of_service": None,
            },
            "vapid": {"public_key": vapid_key()},
            **_limits(),
            "translation": {"enabled": any(is_on() for is_on in TRANSLATES)},
            "timelines_access": {
                "live_feeds": {"local": "public", "remote": "public"},
                "hashtag_feeds": {"local": "public", "remote": "public"},
                "trending_link_feeds": {"local": "public", "remote": "public"},
            },
            "limited_federation": True,
        },
        "registrations": {
            "enabled": True,
            "approval_required": False,
            "reason_required": False,
            "message": None,
            "min_age": None,
            "url": absolute("/join"),
        },
        "api_versions": {"mastodon": API_VERSION if COLLECTIONS else WITHOUT_COLLECTIONS},
        "contact": {"email": settings.DEFAULT_FROM_EMAIL, "account": None},
        "rules": rules_json(),
    }


def instance_v1_json(people: int, posts: int) -> InstanceV1Json:
    """The site in version 1 of the entity, for older clients."""
    return {
        "uri": _host(),
        "title": settings.SITE_NAME,
        "short_description": _about(),
        "description": _about(),
        "email": settings.DEFAULT_FROM_EMAIL,
        "version": _version(),
        "urls": {"streaming_api": _streaming()},
        "stats": {"user_count": people, "status_count": posts, "domain_count": 1},
        "thumbnail": picture_address("img/banner.svg"),
        "languages": _languages(),
        "registrations": True,
        "approval_required": False,
        "invites_enabled": False,
        "configuration": _limits(),
        "contact_account": None,
        "rules": rules_json(),
    }


def nodeinfo_json(people: int, posts: int) -> NodeinfoJson:
    return {
        "version": "2.0",
        "software": {"name": "feedsite", "version": settings.VERSION},
        "protocols": [],
        "services": {"inbound": [], "outbound": []},
        "openRegistrations": True,
        "usage": {"users": {"total": people}, "localPosts": posts},
        # programs that look for "mastodon" in the software's name also look in `upstream`
        "metadata": {
            "nodeName": settings.SITE_NAME,
            "upstream": {"name": "mastodon", "version": MASTODON_VERSION},
        },
    }


def nodeinfo_links_json() -> NodeinfoLinksJson:
    return {"links": [{"rel": NODEINFO, "href": absolute("/nodeinfo/2.0")}]}


def extended_description_json() -> TextJson:
    """The first part of the page /about."""
    return _text("_about.html", {"site_name": settings.SITE_NAME})


def privacy_policy_json() -> TextJson:
    """The page /privacy."""
    return _text("_privacy.html", privacy_facts())


def privacy_facts() -> dict[str, int]:
    """The numbers in the text of the privacy policy."""
    return {
        "home_history_days": settings.HOME_HISTORY_DAYS,
        "import_keep_days": settings.IMPORT_KEEP_DAYS,
    }


def _text(template: str, context: dict[str, Any]) -> TextJson:
    content = render_to_string(template, context).strip()
    return {
        "updated_at": timestamp(TEXTS_CHANGED_AT),
        "content": content.replace('href="/', f'href="{settings.SITE_URL}/'),
    }


def languages_json() -> list[LanguageJson]:
    return [{"code": code, "name": name} for code, name in WRITTEN]


def _limits() -> LimitsJson:
    """The limits in both versions of the entity."""
    takes_video = is_available()
    return {
        "accounts": {
            "max_display_name_length": NAME_MAX_CHARACTERS,
            "max_note_length": BIO_MAX_CHARACTERS,
            "max_avatar_description_length": PICTURE_ALT_MAX_CHARACTERS,
            "max_header_description_length": PICTURE_ALT_MAX_CHARACTERS,
            "max_featured_tags": MAX_FEATURED,
            "max_pinned_statuses": settings.PINNED_POSTS_MAX,
            "max_profile_fields": MAX_LINES,
            "profile_field_name_limit": LINE_MAX_CHARACTERS,
            "profile_field_value_limit": LINE_MAX_CHARACTERS,
        },
        "statuses": {
            "max_characters": settings.POST_MAX_CHARACTERS,
            "max_media_attachments": MAX_PICTURES,
            "characters_reserved_per_url": URL_CHARACTERS,
        },
        "media_attachments": {
            "supported_mime_types": [
                *PICTURE_TYPES,
                *([*VIDEO_TYPES, *AUDIO_TYPES] if takes_video else []),
            ],
            "description_limit": ALT_MAX_CHARACTERS,
            "image_size_limit": settings.PICTURE_MAX_BYTES,
            "image_matrix_limit": MAX_PIXELS,
            "video_size_limit": settings.VIDEO_MAX_BYTES if takes_video else 0,
            "video_frame_rate_limit": MAX_FRAME_RATE if takes_video else 0,
            "video_matrix_limit": settings.VIDEO_MAX_PIXELS if takes_video else 0,
        },
        "polls": {
            "max_options": POLL_OPTIONS[1],
            "max_characters_per_option": POLL_OPTION_MAX_CHARACTERS,
            "min_expiration": POLL_SECONDS[0],
            "max_expiration": POLL_SECONDS[1],
        },
    }


def _about() -> str:
    return _("Posts by the people you follow, in the order they were written.")


def _host() -> str:
    return str(settings.SITE_URL).partition("://")[2]


def _version() -> str:
    return f"{MASTODON_VERSION} (compatible; feedsite {settings.VERSION})"


def _languages() -> list[str]:
    return [code.split("-")[0] for code, _name in settings.LANGUAGES]


def _streaming() -> str:
    """The address of the streaming API. Clients replace the scheme with that of their transport."""
    return f"ws{settings.STREAMING_URL.removeprefix('http')}"


class ReactionJson(TypedDict):
    """An emoji with the number of people who reacted with it."""

    name: str
    count: int
    me: bool


class AnnouncementJson(TypedDict):
    """An announcement by staff to all members."""

    id: str
    content: Annotated[str, "HTML."]
    starts_at: DateTime | None
    ends_at: DateTime | None
    all_day: bool
    published_at: DateTime
    updated_at: DateTime
    read: bool
    mentions: Annotated[list[Object], "Always empty."]
    statuses: Annotated[list[Object], "Always empty."]
    tags: Annotated[list[Object], "Always empty."]
    emojis: Annotated[list[Object], "Always empty."]
    reactions: list[ReactionJson]


def announcement_json(announcement: VisibleAnnouncement) -> AnnouncementJson:
    row = announcement.announcement
    return {
        "id": str(row.pk),
        "content": html(normalise(row.text), handles=None, origin=settings.SITE_URL),
        "starts_at": optional_timestamp(row.starts_at),
        "ends_at": optional_timestamp(row.ends_at),
        "all_day": row.is_all_day,
        "published_at": timestamp(row.published_at),
        "updated_at": timestamp(row.updated_at),
        "read": announcement.is_read,
        "mentions": [],
        "statuses": [],
        "tags": [],
        "emojis": [],
        "reactions": [
            {"name": reaction.emoji, "count": reaction.count, "me": reaction.mine}
            for reaction in announcement.reactions
        ],
    }
