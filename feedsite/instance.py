"""What the site says of itself to programs: its limits, its size, its version."""

from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Model
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.serializers import absolute, picture_address
from apps.caches.local import LocalCache
from apps.moderation.rules import rules_json
from apps.pixels import MAX_PIXELS
from apps.posts.drafts import (
    ALT_MAX_CHARACTERS,
    MAX_PICTURES,
    POLL_OPTION_MAX_CHARACTERS,
    POLL_OPTIONS,
    POLL_SECONDS,
)
from apps.posts.models import Post
from apps.posts.text import URL_CHARACTERS
from apps.scopes import ANY_TOKEN, scopes
from feedsite import __version__
from feedsite.instanceschema import (
    EmojiSchema,
    InstanceSchema,
    InstanceV1Schema,
    NodeinfoLinksSchema,
    NodeinfoSchema,
    RuleSchema,
)

MASTODON_VERSION = "4.3.0"  # whose API this one follows; clients read what they may use from it
API_VERSION = 2  # as that version counts it
SOURCE = "https://github.com/feedsite/feedsite"
PICTURE_TYPES = ["image/jpeg", "image/png", "image/webp", "image/gif"]
SIZES_SECONDS = 60.0
COUNTED_MOST = 10_000
NODEINFO = "http://nodeinfo.diaspora.software/ns/schema/2.0"

_sizes: LocalCache[str, dict[str, int]] = LocalCache(most=1, ttl_seconds=SIZES_SECONDS)


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="instance",
    tags=["instance"],
    summary="What this site is and allows",
    responses={200: InstanceSchema},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def instance(_request: Request) -> Response:
    """The site, as newer clients want it."""
    return Response(
        {
            "domain": _host(),
            "title": settings.SITE_NAME,
            "version": _version(),
            "source_url": SOURCE,
            "description": _about(),
            "usage": {"users": {"active_month": _size()["users"]}},
            "thumbnail": {
                "url": picture_address("img/banner.svg"),
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
                    "privacy_policy": absolute("/about"),
                    "terms_of_service": None,
                },
                "vapid": {"public_key": ""},
                **_configuration(),
                "translation": {"enabled": False},
            },
            "registrations": {
                "enabled": True,
                "approval_required": False,
                "message": None,
                "url": absolute("/join"),
            },
            "api_versions": {"mastodon": API_VERSION},
            "contact": {"email": settings.DEFAULT_FROM_EMAIL, "account": None},
            "rules": rules_json(),
        }
    )


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="instance_v1",
    tags=["instance"],
    summary="What this site is and allows, for older clients",
    responses={200: InstanceV1Schema},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def instance_v1(_request: Request) -> Response:
    """The site, as older clients want it."""
    size = _size()
    return Response(
        {
            "uri": _host(),
            "title": settings.SITE_NAME,
            "short_description": _about(),
            "description": _about(),
            "email": settings.DEFAULT_FROM_EMAIL,
            "version": _version(),
            "urls": {"streaming_api": _streaming()},
            "stats": {
                "user_count": size["users"],
                "status_count": size["posts"],
                "domain_count": 1,
            },
            "thumbnail": picture_address("img/banner.svg"),
            "languages": _languages(),
            "registrations": True,
            "approval_required": False,
            "invites_enabled": False,
            "configuration": _configuration(),
            "contact_account": None,
            "rules": rules_json(),
        }
    )


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="instance_rules",
    tags=["instance"],
    summary="The rules of the site",
    responses={200: RuleSchema(many=True)},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def rules(_request: Request) -> Response:
    """What people are judged by; reports name them by id."""
    return Response(rules_json())


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="custom_emojis",
    tags=["instance"],
    summary="Emojis of this site: there are none",
    responses={200: EmojiSchema(many=True)},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def custom_emojis(_request: Request) -> Response:
    """No list is shorter: what Unicode has is enough here."""
    return Response([])


@extend_schema(
    operation_id="nodeinfo_links",
    tags=["instance"],
    summary="Where the site says what software it is",
    responses={200: NodeinfoLinksSchema},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def nodeinfo_links(_request: Request) -> Response:
    """The address of what follows."""
    return Response({"links": [{"rel": NODEINFO, "href": absolute("/nodeinfo/2.0")}]})


@extend_schema(
    operation_id="nodeinfo",
    tags=["instance"],
    summary="What software the site is, and how large",
    responses={200: NodeinfoSchema},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def nodeinfo(_request: Request) -> Response:
    """In the form that directories of sites read. It speaks to no other site."""
    size = _size()
    return Response(
        {
            "version": "2.0",
            "software": {"name": "feedsite", "version": __version__},
            "protocols": [],
            "services": {"inbound": [], "outbound": []},
            "openRegistrations": True,
            "usage": {"users": {"total": size["users"]}, "localPosts": size["posts"]},
            "metadata": {"nodeName": settings.SITE_NAME},
        }
    )


def _configuration() -> dict[str, Any]:
    """The limits, where both versions say them alike."""
    return {
        "accounts": {"max_featured_tags": 10, "max_pinned_statuses": settings.PINNED_POSTS_MAX},
        "statuses": {
            "max_characters": settings.POST_MAX_CHARACTERS,
            "max_media_attachments": MAX_PICTURES,
            "characters_reserved_per_url": URL_CHARACTERS,
        },
        "media_attachments": {
            "supported_mime_types": PICTURE_TYPES,
            "description_limit": ALT_MAX_CHARACTERS,
            "image_size_limit": settings.PICTURE_MAX_BYTES,
            "image_matrix_limit": MAX_PIXELS,
            "video_size_limit": 0,
            "video_frame_rate_limit": 0,
            "video_matrix_limit": 0,
        },
        "polls": {
            "max_options": POLL_OPTIONS[1],
            "max_characters_per_option": POLL_OPTION_MAX_CHARACTERS,
            "min_expiration": POLL_SECONDS[0],
            "max_expiration": POLL_SECONDS[1],
        },
    }


def _about() -> str:
    return _("A place to read the people you follow, in the order in which they wrote.")


def _host() -> str:
    return str(settings.SITE_URL).partition("://")[2]


def _version() -> str:
    return f"{MASTODON_VERSION} (compatible; feedsite {__version__})"


def _languages() -> list[str]:
    return [code.split("-")[0] for code, _name in settings.LANGUAGES]


def _streaming() -> str:
    """Where clients listen; they turn the scheme into that of the transport they use."""
    return f"ws{settings.STREAMING_URL.removeprefix('http')}"


def _size() -> dict[str, int]:
    return _sizes.get("size", _load_size) or {"users": 0, "posts": 0}


def _load_size() -> dict[str, int]:
    """How many accounts and posts there are: above 10,000 as PostgreSQL estimates, counting millions would take seconds."""
    return {"users": _rows(User), "posts": _rows(Post)}


def _rows(model: type[Model]) -> int:
    table = model._meta.db_table  # noqa: SLF001 -- Django's documented name
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", [table]
        )
        estimate = int(cursor.fetchone()[0])
    if estimate >= COUNTED_MOST:
        return estimate
    return model._default_manager.all()[:COUNTED_MOST].count()  # noqa: SLF001 -- Django's documented name
