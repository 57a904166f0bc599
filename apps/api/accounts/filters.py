"""The API's filters, in both versions: a filter of the first one is a keyword of the second one."""

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.entities.filter import (
    FilterJson,
    FilterKeywordJson,
    FilterStatusJson,
    FilterV1Json,
    filter_json,
    filter_post_json,
    filter_v1_json,
    keyword_json,
)
from apps.api.inputs.filter import (
    FilterInput,
    FilterStatusInput,
    KeywordChangeInput,
    KeywordInput,
    OldFilterInput,
)
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.params import validated
from apps.filters import actions
from apps.filters.actions import FilterChange, KeywordChange
from apps.filters.models import TITLE_MAX_CHARACTERS, Act, FilterKeyword
from apps.filters.queries import (
    filters_of,
    own_filter,
    own_filter_post,
    own_keyword,
)
from apps.scopes import scopes

View = TypeVar("View", bound=Callable[..., Any])
READ, WRITE = "read:filters", "write:filters"
NOT_FOUND = problems(401, 404)


def _schema(
    method: str, operation_id: str, summary: str, response: Any, body: Any = None
) -> Callable[[View], View]:
    errors = problems(400, 401, 404, 422) if body else NOT_FOUND
    return extend_schema(
        methods=[method],
        operation_id=operation_id,
        tags=["filters"],
        summary=summary,
        request=body,
        responses={200: response, **errors},
    )


@scopes(GET=READ, POST=WRITE)
@_schema("GET", "filters", "Your filters", Entity(FilterJson, many=True))
@_schema("POST", "create_filter", "Make a filter", Entity(FilterJson), FilterInput)
@api_view(["GET", "POST"])
def filters(request: Request) -> Response:
    """One's filters, at most 50; or a new one."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response([filter_json(row) for row in filters_of(viewer)])
    return Response(filter_json(actions.create_filter(viewer, _change(request))))


@scopes(GET=READ, PUT=WRITE, DELETE=WRITE)
@_schema("GET", "show_filter", "One of your filters", Entity(FilterJson))
@_schema("PUT", "change_filter", "Change a filter", Entity(FilterJson), FilterInput)
@_schema("DELETE", "delete_filter", "Delete a filter", EMPTY_OBJECT)
@api_view(["GET", "PUT", "DELETE"])
def one(request: Request, filter_id: int) -> Response:
    """Show, change or delete a filter."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response(filter_json(own_filter(viewer, filter_id)))
    if request.method == "DELETE":
        actions.delete_filter(viewer, filter_id)
        return Response({})
    own_filter(viewer, filter_id)
    return Response(filter_json(actions.change_filter(viewer, filter_id, _change(request))))


@scopes(GET=READ, POST=WRITE)
@_schema("GET", "filter_keywords", "What a filter looks for", Entity(FilterKeywordJson, many=True))
@_schema("POST", "add_keyword", "Look for one more word", Entity(FilterKeywordJson), KeywordInput)
@api_view(["GET", "POST"])
def keywords(request: Request, filter_id: int) -> Response:
    """The keywords of a filter."""
    viewer = viewer_of(request)
    row = own_filter(viewer, filter_id)
    if request.method == "GET":
        return Response([keyword_json(keyword) for keyword in row.keywords.all()])
    fields = validated(KeywordInput(data=request.data))
    return Response(keyword_json(actions.add_keyword(viewer, filter_id, **fields)))


@scopes(GET=READ, PUT=WRITE, DELETE=WRITE)
@_schema("GET", "show_keyword", "A keyword of a filter", Entity(FilterKeywordJson))
@_schema("PUT", "change_keyword", "Change a keyword", Entity(FilterKeywordJson), KeywordChangeInput)
@_schema("DELETE", "delete_keyword", "Delete a keyword", EMPTY_OBJECT)
@api_view(["GET", "PUT", "DELETE"])
def keyword(request: Request, keyword_id: int) -> Response:
    """Show, change or delete a keyword."""
    viewer = viewer_of(request)
    row = own_keyword(viewer, keyword_id)
    if request.method == "GET":
        return Response(keyword_json(row))
    if request.method == "DELETE":
        actions.delete_keyword(viewer, keyword_id)
        return Response({})
    fields = validated(KeywordChangeInput(data=request.data))
    changes = {name: fields.get(name) for name in ("keyword", "whole_word")}
    return Response(keyword_json(actions.change_keyword(viewer, keyword_id, **changes)))


@scopes(GET=READ, POST=WRITE)
@_schema("GET", "filter_statuses", "Posts a filter names", Entity(FilterStatusJson, many=True))
@_schema("POST", "filter_status", "Let a filter name a post", Entity(FilterStatusJson), FilterStatusInput)  # fmt: skip
@api_view(["GET", "POST"])
def statuses(request: Request, filter_id: int) -> Response:
    """The posts that a filter names."""
    viewer = viewer_of(request)
    row = own_filter(viewer, filter_id)
    if request.method == "GET":
        return Response([filter_post_json(post) for post in row.posts.all()])
    post_id = int(validated(FilterStatusInput(data=request.data))["status_id"])
    return Response(filter_post_json(actions.add_post(viewer, filter_id, post_id)))


@scopes(GET=READ, DELETE=WRITE)
@_schema("GET", "show_filter_status", "A post that a filter names", Entity(FilterStatusJson))
@_schema("DELETE", "unfilter_status", "A filter names a post no more", EMPTY_OBJECT)
@api_view(["GET", "DELETE"])
def status(request: Request, row_id: int) -> Response:
    """Show or drop a post that a filter names, by the id of the entry."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response(filter_post_json(own_filter_post(viewer, row_id)))
    actions.remove_post(viewer, row_id)
    return Response({})


@scopes(GET=READ, POST=WRITE)
@_schema("GET", "old_filters", "Your keywords, in the older form", Entity(FilterV1Json, many=True))
@_schema("POST", "create_old_filter", "Make a filter of one keyword", Entity(FilterV1Json), OldFilterInput)  # fmt: skip
@api_view(["GET", "POST"])
def old_filters(request: Request) -> Response:
    """Every keyword as a filter of its own; or a new one."""
    viewer = viewer_of(request)
    if request.method == "GET":
        rows = filters_of(viewer)
        return Response([filter_v1_json(word) for row in rows for word in row.keywords.all()])
    change = _old_change(validated(OldFilterInput(data=request.data)))
    row = actions.create_filter(viewer, change)
    return Response(filter_v1_json(row.keywords.all()[0]))


@scopes(GET=READ, PUT=WRITE, DELETE=WRITE)
@_schema("GET", "old_filter", "A keyword, in the older form", Entity(FilterV1Json))
@_schema("PUT", "change_old_filter", "Change a filter of one keyword", Entity(FilterV1Json), OldFilterInput)  # fmt: skip
@_schema("DELETE", "delete_old_filter", "Delete a keyword, in the older form", EMPTY_OBJECT)  # fmt: skip
@api_view(["GET", "PUT", "DELETE"])
def old_filter(request: Request, keyword_id: int) -> Response:
    """Show, change or delete a keyword as a filter of its own; a filter with nothing left to look for goes with its last one."""
    viewer = viewer_of(request)
    word = own_keyword(viewer, keyword_id)
    if request.method == "DELETE":
        actions.delete_last_keyword(viewer, keyword_id)
        return Response({})
    if request.method == "PUT":
        fields = validated(OldFilterInput(data=request.data, partial=True))
        actions.change_only_keyword(viewer, keyword_id, _old_change(fields, word))
        word = own_keyword(viewer, keyword_id)
    return Response(filter_v1_json(word))


def _old_change(fields: dict[str, Any], word: FilterKeyword | None = None) -> FilterChange:
    """A change in the terms of the first version; the phrase
    is the title too, while it is the only one.
    """
    phrase, hides = fields.get("phrase"), fields.get("irreversible")
    return FilterChange(
        title=None if phrase is None else phrase[:TITLE_MAX_CHARACTERS],
        places=fields.get("context"),
        act=None if hides is None else (Act.HIDE if hides else Act.WARN),
        expires_in=_expires_in(fields),
        keywords=[KeywordChange(word.pk if word else None, phrase, fields.get("whole_word"))],
    )


def _expires_in(fields: dict[str, Any]) -> int | None:
    return (fields["expires_in"] or 0) if "expires_in" in fields else None


def _change(request: Request) -> FilterChange:
    fields = validated(FilterInput(data=request.data))
    return FilterChange(
        title=fields.get("title"),
        places=fields.get("context"),
        act=fields.get("filter_action"),
        expires_in=_expires_in(fields),
        keywords=[
            _keyword_change(attributes) for attributes in fields.get("keywords_attributes", ())
        ],
    )


def _keyword_change(fields: dict[str, Any]) -> KeywordChange:
    keyword_id = fields.get("id")
    return KeywordChange(
        id=int(keyword_id) if keyword_id else None,
        keyword=fields.get("keyword"),
        whole_word=fields.get("whole_word"),
        drop=fields.get("_destroy", False),
    )
