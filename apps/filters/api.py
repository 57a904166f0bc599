"""The API's filters: the second version whole, the first for reading."""

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api import viewer_of
from apps.accounts.schema import problems
from apps.filters import actions
from apps.filters.actions import FilterChange, KeywordChange
from apps.filters.queries import (
    filters_of,
    own_filter,
    own_filter_post,
    own_keyword,
)
from apps.filters.schema import (
    FilterDeletedSchema,
    FilterInput,
    FilterKeywordSchema,
    FilterSchema,
    FilterStatusInput,
    FilterStatusSchema,
    KeywordChangeInput,
    KeywordInput,
    OldFilterSchema,
)
from apps.filters.serializers import (
    filter_json,
    filter_post_json,
    keyword_json,
    old_filter_json,
)
from apps.scopes import scopes

View = TypeVar("View", bound=Callable[..., Any])
READ, WRITE = "read:filters", "write:filters"
GONE = problems(401, 404)


def _described(
    method: str, name: str, summary: str, answer: Any, body: Any = None
) -> Callable[[View], View]:
    """The entry of one method in the OpenAPI document."""
    refusals = problems(400, 401, 404, 422) if body else GONE
    return extend_schema(
        methods=[method],
        operation_id=name,
        tags=["filters"],
        summary=summary,
        request=body,
        responses={200: answer, **refusals},
    )


@scopes(GET=READ, POST=WRITE)
@_described("GET", "filters", "Your filters", FilterSchema(many=True))
@_described("POST", "create_filter", "Make a filter", FilterSchema, FilterInput)
@api_view(["GET", "POST"])
def filters(request: Request) -> Response:
    """One's filters, at most 50; or a new one."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response([filter_json(row) for row in filters_of(viewer)])
    return Response(filter_json(actions.create_filter(viewer, _change(request))))


@scopes(GET=READ, PUT=WRITE, DELETE=WRITE)
@_described("GET", "show_filter", "One of your filters", FilterSchema)
@_described("PUT", "change_filter", "Change a filter", FilterSchema, FilterInput)
@_described("DELETE", "delete_filter", "Delete a filter", FilterDeletedSchema)
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
@_described("GET", "filter_keywords", "What a filter looks for", FilterKeywordSchema(many=True))
@_described("POST", "add_keyword", "Look for one more word", FilterKeywordSchema, KeywordInput)
@api_view(["GET", "POST"])
def keywords(request: Request, filter_id: int) -> Response:
    """The keywords of a filter."""
    viewer = viewer_of(request)
    found = own_filter(viewer, filter_id)
    if request.method == "GET":
        return Response([keyword_json(row) for row in found.keywords.all()])
    fields = _valid(KeywordInput(data=request.data))
    return Response(keyword_json(actions.add_keyword(viewer, filter_id, **fields)))


@scopes(GET=READ, PUT=WRITE, DELETE=WRITE)
@_described("GET", "show_keyword", "A keyword of a filter", FilterKeywordSchema)
@_described("PUT", "change_keyword", "Change a keyword", FilterKeywordSchema, KeywordChangeInput)
@_described("DELETE", "delete_keyword", "Delete a keyword", FilterDeletedSchema)
@api_view(["GET", "PUT", "DELETE"])
def keyword(request: Request, keyword_id: int) -> Response:
    """Show, change or delete a keyword."""
    viewer = viewer_of(request)
    found = own_keyword(viewer, keyword_id)
    if request.method == "GET":
        return Response(keyword_json(found))
    if request.method == "DELETE":
        actions.delete_keyword(viewer, keyword_id)
        return Response({})
    fields = _valid(KeywordChangeInput(data=request.data))
    wanted = {name: fields.get(name) for name in ("keyword", "whole_word")}
    return Response(keyword_json(actions.change_keyword(viewer, keyword_id, **wanted)))


@scopes(GET=READ, POST=WRITE)
@_described("GET", "filter_statuses", "Posts a filter names", FilterStatusSchema(many=True))
@_described("POST", "filter_status", "Let a filter name a post", FilterStatusSchema, FilterStatusInput)  # fmt: skip
@api_view(["GET", "POST"])
def statuses(request: Request, filter_id: int) -> Response:
    """The posts that a filter names."""
    viewer = viewer_of(request)
    found = own_filter(viewer, filter_id)
    if request.method == "GET":
        return Response([filter_post_json(row) for row in found.posts.all()])
    post_id = int(_valid(FilterStatusInput(data=request.data))["status_id"])
    return Response(filter_post_json(actions.add_post(viewer, filter_id, post_id)))


@scopes(GET=READ, DELETE=WRITE)
@_described("GET", "show_filter_status", "A post that a filter names", FilterStatusSchema)
@_described("DELETE", "unfilter_status", "A filter names a post no more", FilterDeletedSchema)
@api_view(["GET", "DELETE"])
def status(request: Request, row_id: int) -> Response:
    """Show or drop a post that a filter names, by the id of the entry."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response(filter_post_json(own_filter_post(viewer, row_id)))
    actions.remove_post(viewer, row_id)
    return Response({})


@scopes(GET=READ)
@_described("GET", "old_filters", "Your keywords, in the older form", OldFilterSchema(many=True))
@api_view(["GET"])
def old_filters(request: Request) -> Response:
    """Every keyword as a filter of its own; they are changed through the second version."""
    found = filters_of(viewer_of(request))
    return Response([old_filter_json(word) for row in found for word in row.keywords.all()])


@scopes(GET=READ)
@_described("GET", "old_filter", "A keyword, in the older form", OldFilterSchema)
@api_view(["GET"])
def old_filter(request: Request, keyword_id: int) -> Response:
    """One keyword as a filter of its own."""
    return Response(old_filter_json(own_keyword(viewer_of(request), keyword_id)))


def _change(request: Request) -> FilterChange:
    fields = _valid(FilterInput(data=request.data))
    expires_in = (fields["expires_in"] or 0) if "expires_in" in fields else None
    return FilterChange(
        title=fields.get("title"),
        places=fields.get("context"),
        act=fields.get("filter_action"),
        expires_in=expires_in,
        keywords=[_keyword_change(one) for one in fields.get("keywords_attributes", ())],
    )


def _keyword_change(fields: dict[str, Any]) -> KeywordChange:
    number = fields.get("id")
    return KeywordChange(
        id=int(number) if number else None,
        keyword=fields.get("keyword"),
        whole_word=fields.get("whole_word"),
        drop=fields.get("_destroy", False),
    )


def _valid(fields: Any) -> dict[str, Any]:
    fields.is_valid(raise_exception=True)
    values: dict[str, Any] = fields.validated_data
    return values
