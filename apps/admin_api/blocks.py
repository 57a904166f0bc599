"""Endpoints for staff: blocks. The site has only sign-up blocks, by mail domain and IP address, edited in the admin."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from django.apps import apps
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.staff import CHANGE_USERS
from apps.admin_api.accounts import TAGS, reader_of_accounts
from apps.admin_api.entities import (
    AdminCanonicalEmailBlockJson,
    AdminDomainAllowJson,
    AdminDomainBlockJson,
    AdminEmailDomainBlockJson,
    AdminIpBlockJson,
    sign_up_block_json,
)
from apps.api.authentication import staff_of
from apps.api.decorators import endpoint, operation
from apps.api.openapi import Entity
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.errors import Invalid, NotFound
from apps.pagination import Cursor, Page, page_of_rows

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django_stubs_ext import StrPromise

    from apps.sign_ups.models import SignUpBlock


class Kind(NamedTuple):
    """A kind of block in Mastodon's API."""

    name: str
    entity: Any
    why: "StrPromise"  # the reason why such blocks cannot be added here
    changes: bool = False  # whether Mastodon has PUT for it
    sign_ups: str = ""  # the kind of `SignUpBlock`


_NO_FEDERATION = gettext_lazy(
    "This site is not connected to other sites, so there are none to block or to allow."
)
_IN_THE_ADMIN = gettext_lazy(
    "Sign-up blocks cannot be changed through the API. If the site has them, staff change them in the admin."
)
KINDS = [
    Kind("domain_allows", AdminDomainAllowJson, _NO_FEDERATION),
    Kind("domain_blocks", AdminDomainBlockJson, _NO_FEDERATION, changes=True),
    Kind(
        "email_domain_blocks",
        AdminEmailDomainBlockJson,
        _IN_THE_ADMIN,
        sign_ups="domain",
    ),
    Kind(
        "canonical_email_blocks",
        AdminCanonicalEmailBlockJson,
        gettext_lazy("This site does not block single e-mail addresses."),
    ),
    Kind("ip_blocks", AdminIpBlockJson, _IN_THE_ADMIN, changes=True, sign_ups="range"),
]


def _collection(kind: Kind) -> Callable[..., Response]:
    """The endpoint of a kind. GET lists its blocks; the site has only sign-up blocks, so other lists are empty."""

    @operation(
        f"{_title(kind)}{'' if kind.sign_ups else ': always empty'} (staff)",
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
        """List the blocks of a kind; refuse POST, with the reason."""
        if request.method == "GET":
            reader_of_accounts(request)
            cursor = Cursor.from_query(
                request.query_params
            )  # 400 for a malformed one, as everywhere
            if not _is_kept(kind):
                return paged(request, Page(), [])
            page = page_of_rows(_rows(kind), cursor)
            return paged(request, page, [sign_up_block_json(row) for row in page.items])
        staff_of(request, CHANGE_USERS)
        raise Invalid(str(kind.why), code="no_such_block")

    return view


def _one(kind: Kind) -> Callable[..., Response]:
    """The endpoint of one block. Only sign-up blocks exist, and the API cannot change them."""
    methods = {"GET": "read", "DELETE": "write", **({"PUT": "write"} if kind.changes else {})}

    scopes: Any = {method: _scopes(access, kind) for method, access in methods.items()}

    @endpoint(**scopes)
    def view(request: Request, block_id: int) -> Response:
        """A sign-up block; 404 for all other kinds."""
        if request.method == "GET":
            reader_of_accounts(request)
        else:
            staff_of(request, CHANGE_USERS)
        row = _rows(kind).filter(pk=block_id).first() if _is_kept(kind) else None
        if row and request.method == "GET":
            return Response(sign_up_block_json(row))
        if row:
            raise Invalid(str(kind.why), code="no_such_block")
        raise NotFound(_("There is nothing here."))

    for method in methods:
        view = operation(
            f"{_title(kind)[:-1]}{'' if kind.sign_ups else ': always 404'} (staff)",
            kind.entity,
            method=method,
            name=f"admin_{method.lower()}_{kind.name}",
            tags=TAGS,
            errors=[401, 403, 404, *([422] if kind.sign_ups and method != "GET" else [])],
        )(view)
    return view


def _is_kept(kind: Kind) -> bool:
    return bool(kind.sign_ups) and apps.is_installed("apps.sign_ups")


def _rows(kind: Kind) -> "QuerySet[SignUpBlock]":
    """The sign-up blocks of a kind."""
    from apps.sign_ups.models import SignUpBlock  # noqa: PLC0415 -- only if the app is installed

    return SignUpBlock.objects.filter(kind=kind.sign_ups)


def _title(kind: Kind) -> str:
    return kind.name.replace("_", " ").capitalize()


def _scopes(access: str, kind: Kind) -> tuple[str, ...]:
    return f"admin:{access}", f"admin:{access}:{kind.name}"


@operation(
    "Blocks of an e-mail address: always none (staff)",
    list[AdminCanonicalEmailBlockJson],
    name="admin_test_canonical_email_blocks",
    tags=TAGS,
    errors=[401, 403],
)
@endpoint(POST=("admin:read", "admin:read:canonical_email_blocks"))
def matching(request: Request) -> Response:
    """The site has no such blocks, so no address is blocked."""
    reader_of_accounts(request)
    return Response([])


urlpatterns: list[URLPattern] = [
    path("admin/canonical_email_blocks/test", matching),
    *[path(f"admin/{kind.name}", _collection(kind)) for kind in KINDS],
    *[path(f"admin/{kind.name}/<int:block_id>", _one(kind)) for kind in KINDS],
]
