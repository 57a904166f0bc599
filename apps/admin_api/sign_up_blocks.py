"""Endpoints for staff: sign-up blocks by mail domain, e-mail address and IP range. They need `apps.sign_ups`."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.admin_api.accounts import TAGS, reader_of
from apps.api.authentication import staff_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.base import DateTime, Input, optional_timestamp, timestamp
from apps.api.entities.search import TagDayJson
from apps.api.openapi import EMPTY_OBJECT, Entity
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.api.params import validated
from apps.errors import Invalid, NotFound, invalid
from apps.pagination import Cursor, page_of_rows
from apps.sign_ups import actions
from apps.sign_ups.models import REASON_CHARACTERS, SignUpBlock, email_digest
from apps.sign_ups.models import Kind as BlockKind
from apps.sql import database_time

MAX_SECONDS = 10 * 366 * 86_400
SEVERITIES = ("sign_up_requires_approval", "sign_up_block", "no_access")


class AdminEmailDomainBlockJson(TypedDict):
    """A domain whose e-mail addresses cannot sign up."""

    id: str
    domain: str
    created_at: DateTime
    history: Annotated[list[TagDayJson], "Always empty: attempts are not counted by day."]
    allow_with_approval: Annotated[bool, "Always false: nobody approves new accounts."]


class AdminCanonicalEmailBlockJson(TypedDict):
    """The hash of an e-mail address that cannot sign up."""

    id: str
    canonical_email_hash: str


class AdminIpBlockJson(TypedDict):
    """A range of IP addresses from which nobody can sign up."""

    id: str
    ip: str
    severity: Literal["sign_up_block"]
    comment: str
    created_at: DateTime
    expires_at: DateTime | None


def _domain_json(row: SignUpBlock) -> AdminEmailDomainBlockJson:
    return {
        "id": str(row.pk),
        "domain": row.value,
        "created_at": timestamp(row.created_at),
        "history": [],
        "allow_with_approval": False,
    }


def _email_json(row: SignUpBlock) -> AdminCanonicalEmailBlockJson:
    return {"id": str(row.pk), "canonical_email_hash": row.value}


def _range_json(row: SignUpBlock) -> AdminIpBlockJson:
    return {
        "id": str(row.pk),
        "ip": row.value,
        "severity": "sign_up_block",
        "comment": row.reason,
        "created_at": timestamp(row.created_at),
        "expires_at": optional_timestamp(row.expires_at),
    }


class EmailDomainBlockInput(Input):
    """A mail domain; its subdomains are blocked, too."""

    domain = serializers.CharField()
    allow_with_approval = serializers.BooleanField(
        default=False, help_text="True is refused: nobody approves new accounts."
    )


class CanonicalEmailBlockInput(Input):
    """An e-mail address or its hash."""

    email = serializers.CharField(required=False)
    canonical_email_hash = serializers.CharField(
        required=False, help_text="SHA-256 of the address in lower case, without dots and `+…`."
    )


class IpBlockInput(Input):
    """A range of IP addresses."""

    ip = serializers.CharField(help_text="`203.0.113.0/24`, or one address.")
    severity = serializers.ChoiceField(
        SEVERITIES,
        help_text="Only `sign_up_block` is accepted: ranges are blocked from signing up.",
    )
    comment = serializers.CharField(
        required=False, allow_blank=True, max_length=REASON_CHARACTERS, help_text="For staff only."
    )
    expires_in = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_SECONDS, help_text="In seconds; else it stays."
    )


def _domain_values(fields: dict[str, Any]) -> dict[str, Any]:
    if fields["allow_with_approval"]:
        text = _("New accounts need no approval on this site.")
        raise invalid("allow_with_approval", text, "no_approval")
    return {"value": fields["domain"]}


def _email_values(fields: dict[str, Any]) -> dict[str, Any]:
    value = fields.get("canonical_email_hash") or fields.get("email")
    if not value:
        raise invalid("email", _("Enter an e-mail address or its hash."), "blank")
    return {"value": value}


def _range_values(fields: dict[str, Any]) -> dict[str, Any]:
    """The columns of a block to change. A column stays unchanged if the request has no value for it."""
    if fields.get("severity", "sign_up_block") != "sign_up_block":
        text = _("Address ranges can only be blocked from signing up: sign_up_block.")
        raise invalid("severity", text, "no_such_severity")
    values = {"value": fields.get("ip"), "reason": fields.get("comment")}
    seconds = fields.get("expires_in")
    values["expires_at"] = _moment(seconds) if seconds else None
    return {name: value for name, value in values.items() if value is not None}


def _moment(seconds: int) -> datetime:
    return database_time() + timedelta(seconds=seconds)


class Kind(NamedTuple):
    """A kind of block: its rows, its JSON, the body of its requests, and the columns that a body sets."""

    name: str
    rows: BlockKind
    field: str  # the name of the value in requests
    entity: Any
    as_json: Callable[[SignUpBlock], Any]
    input: type[Input]
    values: Callable[[dict[str, Any]], dict[str, Any]]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()


KINDS = [
    Kind("email_domain_blocks", BlockKind.DOMAIN, "domain",
         AdminEmailDomainBlockJson, _domain_json, EmailDomainBlockInput, _domain_values),
    Kind("canonical_email_blocks", BlockKind.EMAIL, "email",
         AdminCanonicalEmailBlockJson, _email_json, CanonicalEmailBlockInput, _email_values),
    Kind("ip_blocks", BlockKind.RANGE, "ip", AdminIpBlockJson, _range_json, IpBlockInput, _range_values),
]  # fmt: skip


def _reader(request: Request) -> User:
    return reader_of(request, "sign_ups", "signupblock")


def _scopes(access: str, kind: Kind) -> tuple[str, ...]:
    return f"admin:{access}", f"admin:{access}:{kind.name}"


def _collection(kind: Kind) -> Callable[..., Response]:
    @operation(
        f"{kind.title} (staff)",
        Entity(kind.entity, many=True),
        method="GET",
        name=f"admin_{kind.name}",
        tags=TAGS,
        errors=[400, 401, 403],
        parameters=CURSOR_PARAMETERS,
    )
    @operation(
        f"{kind.title}: add one (staff)",
        kind.entity,
        method="POST",
        name=f"admin_create_{kind.name}",
        tags=TAGS,
        request=kind.input,
        errors=[400, 401, 403, 422],
    )
    @endpoint(GET=_scopes("read", kind), POST=_scopes("write", kind))
    def view(request: Request) -> Response:
        """The sign-up blocks of a kind, the newest first. They affect new accounts only."""
        if request.method == "GET":
            _reader(request)
            rows = SignUpBlock.objects.filter(kind=kind.rows)
            page = page_of_rows(rows, Cursor.from_query(request.query_params))
            return paged(request, page, [kind.as_json(row) for row in page.items])
        staff = staff_of(request, actions.ADD_BLOCKS)
        values = kind.values(validated(kind.input(data=request.data)))
        row = SignUpBlock(kind=kind.rows, by=staff)
        return _saved(kind, row, values, staff)

    return view


_SUMMARIES = {"GET": "read one", "PUT": "change one", "DELETE": "remove one"}


def _one(kind: Kind) -> Callable[..., Response]:
    read, write = _scopes("read", kind), _scopes("write", kind)
    scopes: dict[str, Any] = {"GET": read, "DELETE": write}
    if kind.rows == BlockKind.RANGE:  # the only kind that can be changed in Mastodon
        scopes["PUT"] = write

    @endpoint(**scopes)
    def view(request: Request, block_id: int) -> Response:
        if request.method == "GET":
            _reader(request)
            return Response(kind.as_json(_row(kind, block_id)))
        if request.method == "DELETE":
            staff = staff_of(request, actions.DELETE_BLOCKS)
            actions.remove_block(_row(kind, block_id), by=staff)
            return Response({})
        staff = staff_of(request, actions.CHANGE_BLOCKS)
        row = _row(kind, block_id)
        values = kind.values(validated(kind.input(data=request.data, partial=True)))
        return _saved(kind, row, values, staff)

    for method in scopes:
        is_change = method == "PUT"
        view = operation(
            f"{kind.title}: {_SUMMARIES[method]} (staff)",
            EMPTY_OBJECT if method == "DELETE" else kind.entity,
            method=method,
            name=f"admin_{method.lower()}_{kind.name}",
            tags=TAGS,
            errors=[400, 401, 403, 404, 422] if is_change else [401, 403, 404],
            **({"request": kind.input} if is_change else {}),
        )(view)
    return view


def _row(kind: Kind, block_id: int) -> SignUpBlock:
    row = SignUpBlock.objects.filter(pk=block_id, kind=kind.rows).first()
    if row is None:
        raise NotFound(_("There is no such block."))
    return row


def _saved(kind: Kind, row: SignUpBlock, values: dict[str, Any], staff: User) -> Response:
    """Save a block with these values and return its JSON. Raises Invalid, which names the field of the request."""
    try:
        saved = actions.save_block(row, by=staff, **values)
    except Invalid as error:
        named = {kind.field if name == "value" else name: text for name, text in error.errors.items()}  # fmt: skip
        raise Invalid(error.message, code=error.code, errors=named) from None
    return Response(kind.as_json(saved))


class CanonicalEmailTestInput(Input):
    """An e-mail address."""

    email = serializers.CharField()


@operation(
    "Blocks of an e-mail address (staff)",
    list[AdminCanonicalEmailBlockJson],
    name="admin_test_canonical_email_blocks",
    tags=TAGS,
    request=CanonicalEmailTestInput,
    errors=[400, 401, 403, 422],
)
@endpoint(POST=("admin:read", "admin:read:canonical_email_blocks"))
def matching(request: Request) -> Response:
    """The block of an e-mail address, if there is one. Dots and `+…` before the @ are ignored."""
    _reader(request)
    digest = email_digest(validated(CanonicalEmailTestInput(data=request.data))["email"])
    rows = SignUpBlock.objects.filter(kind=BlockKind.EMAIL, value=digest)
    return Response([_email_json(row) for row in rows])


urlpatterns: list[URLPattern] = [
    path("admin/canonical_email_blocks/test", matching),
    *[path(f"admin/{kind.name}", _collection(kind)) for kind in KINDS],
    *[path(f"admin/{kind.name}/<int:block_id>", _one(kind)) for kind in KINDS],
]
