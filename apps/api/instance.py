"""The site for programs: limits, size, version, rules, nodeinfo."""

from django.db import connection
from django.db.models import Model
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.api.entities.instance import (
    CustomEmojiJson,
    InstanceJson,
    InstanceV1Json,
    NodeinfoJson,
    NodeinfoLinksJson,
    instance_json,
    instance_v1_json,
    nodeinfo_json,
    nodeinfo_links_json,
)
from apps.api.openapi import Entity
from apps.moderation.rules import RuleJson, rules_json
from apps.posts.models import Post
from apps.scopes import ANY_TOKEN, scopes
from feedcache.local_cache import LocalCache

SIZES_SECONDS = 60.0
MAX_COUNTED = 10_000

_sizes: LocalCache[str, dict[str, int]] = LocalCache(maximum=1, ttl_seconds=SIZES_SECONDS)


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="instance",
    tags=["instance"],
    summary="What this site is and allows",
    responses={200: Entity(InstanceJson)},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def instance(_request: Request) -> Response:
    """The site, as newer clients want it."""
    return Response(instance_json(_size()["users"]))


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="instance_v1",
    tags=["instance"],
    summary="What this site is and allows, for older clients",
    responses={200: Entity(InstanceV1Json)},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def instance_v1(_request: Request) -> Response:
    """The site, as older clients want it."""
    size = _size()
    return Response(instance_v1_json(size["users"], size["posts"]))


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="instance_rules",
    tags=["instance"],
    summary="The rules of the site",
    responses={200: Entity(RuleJson, many=True)},
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
    responses={200: Entity(CustomEmojiJson, many=True)},
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
    responses={200: Entity(NodeinfoLinksJson)},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def nodeinfo_links(_request: Request) -> Response:
    """The address of what follows."""
    return Response(nodeinfo_links_json())


@extend_schema(
    operation_id="nodeinfo",
    tags=["instance"],
    summary="What software the site is, and how large",
    responses={200: Entity(NodeinfoJson)},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def nodeinfo(_request: Request) -> Response:
    """In the form that directories of sites read. It speaks to no other site."""
    size = _size()
    return Response(nodeinfo_json(size["users"], size["posts"]))


def _size() -> dict[str, int]:
    return _sizes.get("size", _load_size) or {"users": 0, "posts": 0}


def _load_size() -> dict[str, int]:
    """Numbers of accounts and posts: above 10,000 PostgreSQL's
    estimates, since counting millions takes seconds.
    """
    return {"users": _rows(User), "posts": _rows(Post)}


def _rows(model: type[Model]) -> int:
    table = model._meta.db_table  # noqa: SLF001 -- Django's documented name
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", [table]
        )
        estimate = int(cursor.fetchone()[0])
    if estimate >= MAX_COUNTED:
        return estimate
    return model._default_manager.all()[:MAX_COUNTED].count()  # noqa: SLF001 -- Django's documented name
