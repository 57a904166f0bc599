"""Mastodon's endpoints for collections."""

from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.addresses import absolute
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.base import LANGUAGE, Input
from apps.api.openapi import EMPTY_OBJECT
from apps.api.pagination import MAX_PEOPLE, PEOPLE_DEFAULT
from apps.api.params import id_in_body, validated
from apps.curation import actions
from apps.curation.entities import (
    CollectionsJson,
    CollectionWithAccountsJson,
    WrappedCollectionItemJson,
    WrappedCollectionJson,
    collection_json,
    item_json,
    with_accounts_json,
)
from apps.curation.models import DESCRIPTION_MAX_CHARACTERS, NAME_MAX_CHARACTERS, Collection
from apps.curation.queries import (
    Item,
    collection_for,
    collections_of,
    collections_with,
    own_collection,
    shown,
)
from apps.errors import BadRequest, NotAllowed
from apps.http import requests
from apps.http.requests import viewer_id_of
from apps.tags.names import NAME_MAX_CHARACTERS as TAG_MAX_CHARACTERS

READ, WRITE = "read:collections", "write:collections"
TAGS = ["collections"]
PAGE_PARAMETERS = [
    OpenApiParameter("limit", int, description="How many at most: 40, or up to 80."),
    OpenApiParameter("offset", int, description="How many of the newest to leave out."),
]


class CollectionChange(Input):
    """The fields to change; those left out keep their values. `validated_data` uses the names of the columns."""

    name = serializers.CharField(max_length=NAME_MAX_CHARACTERS, required=False)
    description = serializers.CharField(
        max_length=DESCRIPTION_MAX_CHARACTERS, allow_blank=True, required=False
    )
    language = serializers.RegexField(LANGUAGE, allow_blank=True, allow_null=True, required=False)
    tag_name = serializers.CharField(
        source="tag",
        max_length=TAG_MAX_CHARACTERS + 1,
        allow_blank=True,
        allow_null=True,
        required=False,
        help_text="One tag, with or without the number sign.",
    )
    sensitive = serializers.BooleanField(source="is_sensitive", required=False)
    discoverable = serializers.BooleanField(source="is_discoverable", required=False)

    def validate_language(self, value: str | None) -> str:
        return (value or "").lower()

    def validate_tag_name(self, value: str | None) -> str:
        return value or ""


class CollectionInput(CollectionChange):
    """A new collection. By default it is discoverable and not sensitive."""

    name = serializers.CharField(max_length=NAME_MAX_CHARACTERS)
    account_ids = serializers.ListField(
        child=serializers.CharField(max_length=20), max_length=actions.MAX_ITEMS, required=False
    )


class ItemInput(Input):
    """The account to add."""

    account_id = serializers.CharField(max_length=20)


@operation(
    "Make a collection",
    WrappedCollectionJson,
    name="create_collection",
    tags=TAGS,
    request=CollectionInput,
    description="With all of the accounts, or not at all. At most 10 collections per account.",
)
@endpoint(POST=WRITE)
def collections(request: Request) -> Response:
    """Create a collection of up to 25 accounts."""
    viewer = viewer_of(request)
    fields = validated(CollectionInput(data=request.data))
    ids = [id_in_body(text, "account_ids") for text in fields.pop("account_ids", ())]
    return _wrapped(actions.create_collection(viewer, ids, **fields), viewer.pk)


@operation(
    "A collection with its accounts",
    CollectionWithAccountsJson,
    method="GET",
    name="show_collection",
    tags=TAGS,
    errors=[403, 404],
)
@operation(
    "Change a collection",
    WrappedCollectionJson,
    method="PATCH",
    name="change_collection",
    tags=TAGS,
    request=CollectionChange,
)
@operation(
    "Delete a collection", EMPTY_OBJECT, method="DELETE", name="delete_collection", tags=TAGS
)
@endpoint(GET=READ, PATCH=WRITE, DELETE=WRITE, public=True)
def collection(request: Request, collection_id: int) -> Response:
    """Show, change or delete a collection. Only its owner may change it."""
    if request.method == "GET":
        viewer_id = viewer_id_of(request)
        [one] = shown([collection_for(viewer_id, collection_id)], viewer_id)
        return Response(with_accounts_json(one))
    viewer = requests.viewer_of(request)
    if viewer is None:
        raise NotAuthenticated
    if request.method == "DELETE":
        actions.delete_collection(viewer, collection_id)
        return Response({})
    fields = validated(CollectionChange(data=request.data))
    return _wrapped(actions.change_collection(viewer, collection_id, **fields), viewer.pk)


@operation(
    "Add an account to a collection",
    WrappedCollectionItemJson,
    name="add_to_collection",
    tags=TAGS,
    request=ItemInput,
)
@endpoint(POST=WRITE)
def items(request: Request, collection_id: int) -> Response:
    """Add an account that agrees to be in collections, as its `feature_approval` shows."""
    viewer = viewer_of(request)
    # so that 404 and 403 take precedence over errors in the body
    own_collection(viewer, collection_id)
    member_id = id_in_body(validated(ItemInput(data=request.data))["account_id"], "account_id")
    row = actions.add_account(viewer, collection_id, member_id)
    return Response({"collection_item": item_json(Item(row.pk, row.member, row.created_at))})


@operation(
    "Remove an account from a collection", EMPTY_OBJECT, name="remove_from_collection", tags=TAGS
)
@endpoint(DELETE=WRITE)
def item(request: Request, collection_id: int, item_id: int) -> Response:
    """Remove an account from one of the viewer's own collections."""
    actions.remove_item(viewer_of(request), collection_id, item_id)
    return Response({})


@operation("Leave somebody's collection", EMPTY_OBJECT, name="leave_collection", tags=TAGS)
@endpoint(POST=WRITE)
def revoke(request: Request, collection_id: int, item_id: int) -> Response:
    """Remove the viewer from a collection permanently."""
    actions.leave(viewer_of(request), collection_id, item_id)
    return Response({})


@operation(
    "The collections of an account",
    CollectionsJson,
    tags=TAGS,
    errors=[400, 404],
    parameters=PAGE_PARAMETERS,
)
@endpoint(GET=READ, public=True)
def account_collections(request: Request, account_id: int) -> Response:
    """An account's collections, newest first; other people see only its discoverable ones."""
    viewer_id = viewer_id_of(request)
    window = _window(request)
    rows = collections_of(user_by_id(account_id), viewer_id)
    return _page(request, rows, viewer_id, window)


@operation(
    "The collections that you are in",
    CollectionsJson,
    tags=TAGS,
    errors=[400, 401, 403, 404],
    parameters=PAGE_PARAMETERS,
)
@endpoint(GET=READ)
def in_collections(request: Request, account_id: int) -> Response:
    """The collections that the viewer is in. Other accounts' ids are refused."""
    viewer, window = viewer_of(request), _window(request)
    if user_by_id(account_id) != viewer:
        raise NotAllowed(_("You can only see which collections you yourself are in."))
    return _page(request, collections_with(viewer), viewer.pk, window)


def _wrapped(row: Collection, viewer_id: int) -> Response:
    [one] = shown([row], viewer_id)
    return Response({"collection": collection_json(one)})


def _window(request: Request) -> tuple[int, int]:
    """The parameters `limit` and `offset`. Raises BadRequest."""
    limit = min(_number(request, "limit", PEOPLE_DEFAULT) or PEOPLE_DEFAULT, MAX_PEOPLE)
    return limit, _number(request, "offset", 0)


def _page(
    request: Request,
    rows: QuerySet[Collection],
    viewer_id: int | None,
    window: tuple[int, int],
) -> Response:
    """A page, selected by offset as in Mastodon, with links to the next and previous pages."""
    limit, offset = window
    found = list(rows[offset : offset + limit + 1])
    links = []
    for relation, there, is_there in (
        ("next", offset + limit, len(found) > limit),
        ("prev", max(offset - limit, 0), offset > 0),
    ):
        if is_there:
            query = urlencode({"limit": limit, "offset": there})
            links.append(f'<{absolute(request.path)}?{query}>; rel="{relation}"')
    body = {"collections": [collection_json(one) for one in shown(found[:limit], viewer_id)]}
    return Response(body, headers={"Link": ", ".join(links)} if links else {})


def _number(request: Request, name: str, default: int) -> int:
    """A parameter as a number. Raises BadRequest if it is not one."""
    text = request.query_params.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadRequest(f"{name} is not a number.", code="bad_parameter")
    return int(text)


urlpatterns: list[URLPattern] = [
    path("collections", collections),
    path("collections/<int:collection_id>", collection),
    path("collections/<int:collection_id>/items", items),
    path("collections/<int:collection_id>/items/<int:item_id>", item),
    path("collections/<int:collection_id>/items/<int:item_id>/revoke", revoke),
    path("accounts/<int:account_id>/collections", account_collections),
    path("accounts/<int:account_id>/in_collections", in_collections),
]
