"""Endpoints for staff: blocks of other sites. The site does not federate, so there are none."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.staff import CHANGE_USERS
from apps.admin_api.accounts import TAGS, reader_of_accounts
from apps.admin_api.entities import AdminDomainAllowJson, AdminDomainBlockJson
from apps.api.authentication import staff_of
from apps.api.decorators import endpoint, operation
from apps.api.openapi import Entity
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.errors import Invalid, NotFound
from apps.pagination import Cursor, Page


class Kind(NamedTuple):
    """A kind of block in Mastodon's API."""

    name: str
    entity: Any
    changes: bool = False  # whether Mastodon has PUT for it


KINDS = [
    Kind("domain_allows", AdminDomainAllowJson),
    Kind("domain_blocks", AdminDomainBlockJson, changes=True),
]


def _collection(kind: Kind) -> Callable[..., Response]:
    """The endpoint of a list, which is always empty; POST is refused."""

    @operation(
        f"{_title(kind)}: always empty (staff)",
        Entity(kind.entity, many=True),
        method="GET",
        name=f"admin_{kind.name}",
        tags=TAGS,
        errors=[400, 401, 403],
        parameters=CURSOR_PARAMETERS,
    )
    @operation(
        f"{_title(kind)}: adding one is refused (staff)",
        kind.entity,
        method="POST",
        name=f"admin_create_{kind.name}",
        tags=TAGS,
        errors=[401, 403, 422],
    )
    @endpoint(GET=_scopes("read", kind), POST=_scopes("write", kind))
    def view(request: Request) -> Response:
        """The list is always empty; the response to POST says why nothing can be added."""
        if request.method == "GET":
            reader_of_accounts(request)
            Cursor.from_query(request.query_params)  # 400 for a malformed cursor
            return paged(request, Page(), [])
        staff_of(request, CHANGE_USERS)
        text = _("This site is not connected to other sites, so there are none to block or allow.")
        raise Invalid(text, code="no_such_block")

    return view


def _one(kind: Kind) -> Callable[..., Response]:
    """The endpoint of a single block, which never exists."""
    methods = {"GET": "read", "DELETE": "write", **({"PUT": "write"} if kind.changes else {})}

    scopes: Any = {method: _scopes(access, kind) for method, access in methods.items()}

    @endpoint(**scopes)
    def view(request: Request, block_id: int) -> Response:
        """The response is always 404."""
        del block_id
        if request.method == "GET":
            reader_of_accounts(request)
        else:
            staff_of(request, CHANGE_USERS)
        raise NotFound(_("There is nothing here."))

    for method in methods:
        view = operation(
            f"One of {_title(kind)}: there is none (staff)",
            kind.entity,
            method=method,
            name=f"admin_{method.lower()}_{kind.name}",
            tags=TAGS,
            errors=[401, 403, 404],
        )(view)
    return view


def _title(kind: Kind) -> str:
    return kind.name.replace("_", " ").capitalize()


def _scopes(access: str, kind: Kind) -> tuple[str, ...]:
    return f"admin:{access}", f"admin:{access}:{kind.name}"


urlpatterns: list[URLPattern] = [
    *[path(f"admin/{kind.name}", _collection(kind)) for kind in KINDS],
    *[path(f"admin/{kind.name}/<int:block_id>", _one(kind)) for kind in KINDS],
]
