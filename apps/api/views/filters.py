"""Filters in both versions of the API: a filter of version 1 is a keyword of version 2."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.filter import (
    FilterInput,
    FilterJson,
    FilterKeywordJson,
    FilterStatusInput,
    FilterStatusJson,
    FilterV1Json,
    KeywordChangeInput,
    KeywordInput,
    OldFilterInput,
    filter_json,
    filter_post_json,
    filter_v1_json,
    keyword_json,
)
from apps.api.openapi import EMPTY_OBJECT
from apps.api.params import validated
from apps.filters import actions
from apps.filters.actions import FilterChange, KeywordChange
from apps.filters.models import TITLE_MAX_CHARACTERS, FilterAction, FilterKeyword
from apps.filters.queries import filters_of, own_filter, own_filter_post, own_keyword

READ, WRITE = "read:filters", "write:filters"
OLD_FILTER = (
    "Show, change or delete a keyword as a separate filter. "
    "A filter is deleted with its last keyword, unless it contains posts."
)


@operation("Your filters", list[FilterJson], method="GET")
@operation("Make a filter", FilterJson, method="POST", name="create_filter", request=FilterInput)
@endpoint(GET=READ, POST=WRITE)
def filters(request: Request) -> Response:
    """List the viewer's filters, at most 50, or create one."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response([filter_json(row) for row in filters_of(viewer)])
    return Response(filter_json(actions.create_filter(viewer, _change(request))))


@operation("One of your filters", FilterJson, method="GET", name="show_filter")
@operation("Change a filter", FilterJson, method="PUT", name="change_filter", request=FilterInput)
@operation("Delete a filter", EMPTY_OBJECT, method="DELETE", name="delete_filter")
@endpoint(GET=READ, PUT=WRITE, DELETE=WRITE)
def user_filter(request: Request, filter_id: int) -> Response:
    """Show, change or delete a filter."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response(filter_json(own_filter(viewer, filter_id)))
    if request.method == "DELETE":
        actions.delete_filter(viewer, filter_id)
        return Response({})
    own_filter(viewer, filter_id)
    return Response(filter_json(actions.change_filter(viewer, filter_id, _change(request))))


@operation(
    "The keywords of a filter", list[FilterKeywordJson], method="GET", name="filter_keywords"
)
@operation(
    "Add a keyword to a filter",
    FilterKeywordJson,
    method="POST",
    name="add_keyword",
    request=KeywordInput,
)
@endpoint(GET=READ, POST=WRITE)
def keywords(request: Request, filter_id: int) -> Response:
    """List the keywords of a filter, or add one."""
    viewer = viewer_of(request)
    row = own_filter(viewer, filter_id)
    if request.method == "GET":
        return Response([keyword_json(keyword) for keyword in row.keywords.all()])
    fields = validated(KeywordInput(data=request.data))
    return Response(keyword_json(actions.add_keyword(viewer, filter_id, **fields)))


@operation("A keyword of a filter", FilterKeywordJson, method="GET", name="show_keyword")
@operation(
    "Change a keyword",
    FilterKeywordJson,
    method="PUT",
    name="change_keyword",
    request=KeywordChangeInput,
)
@operation("Delete a keyword", EMPTY_OBJECT, method="DELETE", name="delete_keyword")
@endpoint(GET=READ, PUT=WRITE, DELETE=WRITE)
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


@operation("The posts in a filter", list[FilterStatusJson], method="GET", name="filter_statuses")
@operation(
    "Add a post to a filter",
    FilterStatusJson,
    method="POST",
    name="filter_status",
    request=FilterStatusInput,
)
@endpoint(GET=READ, POST=WRITE)
def statuses(request: Request, filter_id: int) -> Response:
    """List the posts in a filter, or add one."""
    viewer = viewer_of(request)
    row = own_filter(viewer, filter_id)
    if request.method == "GET":
        return Response([filter_post_json(post) for post in row.posts.all()])
    post_id = int(validated(FilterStatusInput(data=request.data))["status_id"])
    return Response(filter_post_json(actions.add_post(viewer, filter_id, post_id)))


@operation("A post in a filter", FilterStatusJson, method="GET", name="show_filter_status")
@operation("Remove a post from a filter", EMPTY_OBJECT, method="DELETE", name="unfilter_status")
@endpoint(GET=READ, DELETE=WRITE)
def status(request: Request, row_id: int) -> Response:
    """Show or remove a post in a filter, by the id of its entry."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response(filter_post_json(own_filter_post(viewer, row_id)))
    actions.remove_post(viewer, row_id)
    return Response({})


@operation("Your keywords, as filters of version 1", list[FilterV1Json], method="GET")
@operation(
    "Create a filter with one keyword",
    FilterV1Json,
    method="POST",
    name="create_old_filter",
    request=OldFilterInput,
)
@endpoint(GET=READ, POST=WRITE)
def old_filters(request: Request) -> Response:
    """List every keyword as a separate filter, or create a filter with one keyword."""
    viewer = viewer_of(request)
    if request.method == "GET":
        rows = filters_of(viewer)
        return Response([filter_v1_json(word) for row in rows for word in row.keywords.all()])
    change = _old_change(validated(OldFilterInput(data=request.data)))
    row = actions.create_filter(viewer, change)
    return Response(filter_v1_json(row.keywords.all()[0]))


@operation(
    "A keyword, as a filter of version 1", FilterV1Json, method="GET", description=OLD_FILTER
)
@operation(
    "Change a filter of one keyword",
    FilterV1Json,
    method="PUT",
    name="change_old_filter",
    description=OLD_FILTER,
    request=OldFilterInput,
)
@operation(
    "Delete a filter of one keyword",
    EMPTY_OBJECT,
    method="DELETE",
    name="delete_old_filter",
    description=OLD_FILTER,
)
@endpoint(GET=READ, PUT=WRITE, DELETE=WRITE)
def old_filter(request: Request, keyword_id: int) -> Response:
    """Show, change or delete a keyword as a separate filter."""
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
    """A change from a version 1 request. The phrase is also the title, which `change_only_keyword` may ignore."""
    phrase, hides = fields.get("phrase"), fields.get("irreversible")
    return FilterChange(
        title=None if phrase is None else phrase[:TITLE_MAX_CHARACTERS],
        places=fields.get("context"),
        act=None if hides is None else (FilterAction.HIDE if hides else FilterAction.WARN),
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
        delete=fields.get("_destroy", False),
    )
