"""Endpoints for staff: blocks of e-mail domains, addresses and other sites, of which this site has none."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

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
)
from apps.api.authentication import staff_of
from apps.api.decorators import endpoint, operation
from apps.api.openapi import Entity
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.errors import Invalid, NotFound
from apps.pagination import Cursor, Page

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


class Kind(NamedTuple):
    """A kind of blocks that Mastodon has."""

    name: str
    entity: Any
    why: "StrPromise"
    changes: bool = False  # whether Mastodon has PUT for it


_NO_FEDERATION = gettext_lazy(
    "This site is not connected to other sites, so there are none to block or to allow."
)
_NO_SIGN_UP_BLOCKS = gettext_lazy(
    "This site does not block e-mail addresses. Sign-ups are limited by their number."
)
KINDS = [
    Kind("domain_allows", AdminDomainAllowJson, _NO_FEDERATION),
    Kind("domain_blocks", AdminDomainBlockJson, _NO_FEDERATION, changes=True),
    Kind("email_domain_blocks", AdminEmailDomainBlockJson, _NO_SIGN_UP_BLOCKS),
    Kind("canonical_email_blocks", AdminCanonicalEmailBlockJson, _NO_SIGN_UP_BLOCKS),
    Kind(
        "ip_blocks",
        AdminIpBlockJson,
        gettext_lazy(
            "This site does not keep the addresses of its members, and blocks none. Block them in front of it."
        ),
        changes=True,
    ),
]


def _collection(kind: Kind) -> Callable[..., Response]:
    """The list, which is always empty, and POST, which is refused."""

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
        """The site has no such blocks; POST says why."""
        if request.method == "GET":
            reader_of_accounts(request)
            Cursor.from_query(request.query_params)  # 400 for a malformed one, as everywhere
            return paged(request, Page(), [])
        staff_of(request, CHANGE_USERS)
        raise Invalid(str(kind.why), code="no_such_block")

    return view


def _one(kind: Kind) -> Callable[..., Response]:
    """One of them, of which there is none."""
    methods = {"GET": "read", "DELETE": "write", **({"PUT": "write"} if kind.changes else {})}

    scopes: Any = {method: _scopes(access, kind) for method, access in methods.items()}

    @endpoint(**scopes)
    def view(request: Request, block_id: int) -> Response:
        """Always 404: there is none."""
        del block_id
        if request.method == "GET":
            reader_of_accounts(request)
        else:
            staff_of(request, CHANGE_USERS)
        raise NotFound(_("There is nothing here."))

    for method in methods:
        view = operation(
            f"{_title(kind)}: there is none (staff)",
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
