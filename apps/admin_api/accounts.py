"""Endpoints for staff: accounts, and measures against them."""

from collections.abc import Callable

from django.db.models import QuerySet
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.admin_api import actions, queries
from apps.admin_api.entities import AdminAccountJson, admin_account_json
from apps.api.authentication import staff_of, viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.base import ID, Input
from apps.api.openapi import EMPTY_OBJECT
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.api.params import validated
from apps.errors import Invalid, invalid
from apps.moderation.models import COMMENT_MAX_CHARACTERS
from apps.pagination import Cursor, page_of_rows

TAGS = ["admin"]
PER_PAGE, MAX_PER_PAGE = 100, 200
READ = ("admin:read", "admin:read:accounts")
WRITE = ("admin:write", "admin:write:accounts")
NAMED = [
    OpenApiParameter("username", str, description="A prefix of the handle."),
    OpenApiParameter("display_name", str, description="A prefix of the name."),
    OpenApiParameter("email", str, description="A prefix of the e-mail address."),
    OpenApiParameter("by_domain", str, description="Only this site's domain has accounts."),
    OpenApiParameter("ip", str, description="422: the site does not keep addresses."),
    *CURSOR_PARAMETERS,
]


def reader_of(request: Request, app: str, model: str) -> User:
    """The staff member who made the request. Raises NotAllowed if they may neither view nor change rows of `model`."""
    change = f"{app}.change_{model}"
    is_changer = viewer_of(request).has_perm(change)
    return staff_of(request, change if is_changer else f"{app}.view_{model}")


def reader_of_accounts(request: Request) -> User:
    return reader_of(request, "accounts", "user")


def listed(request: Request, rows: QuerySet[User]) -> Response:
    """A page of accounts."""
    cursor = Cursor.from_query(request.query_params, default=PER_PAGE, maximum=MAX_PER_PAGE)
    page = page_of_rows(rows, cursor)
    return paged(request, page, [admin_account_json(user) for user in page.items])


@operation(
    "Accounts, by their state (staff)",
    list[AdminAccountJson],
    name="admin_accounts",
    tags=TAGS,
    errors=[400, 401, 403, 422],
    parameters=[
        *(
            OpenApiParameter(name, bool, description=f"With true, only accounts that are {name}.")
            for name in (*queries.ORIGINS, *queries.STATES)
        ),
        OpenApiParameter("staff", bool, description="With true, only accounts of staff."),
        *NAMED,
    ],
)
@endpoint(GET=READ)
def accounts(request: Request) -> Response:
    """Accounts, newest first, including suspended and frozen ones."""
    reader_of_accounts(request)
    return listed(request, queries.accounts_v1(request.query_params))


@operation(
    "An account in any state (staff)",
    AdminAccountJson,
    name="admin_account",
    tags=TAGS,
    errors=[401, 403, 404],
)
@endpoint(GET=READ)
def account(request: Request, account_id: int) -> Response:
    """One account, as in the list."""
    reader_of_accounts(request)
    return _shown(account_id)


def _shown(account_id: int) -> Response:
    return Response(admin_account_json(queries.account_by_id(account_id)))


class AdminActionInput(Input):
    """A measure against an account: `none` is a warning, `silence` a limit, `disable` a freeze."""

    type = serializers.ChoiceField(
        [*actions.MEASURES, "sensitive"],
        help_text="`sensitive` is refused with 422: this site marks posts, not accounts.",
    )
    text = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=COMMENT_MAX_CHARACTERS,
        help_text="Shown to the owner of the account, and kept in the history.",
    )
    report_id = serializers.RegexField(
        ID, required=False, help_text="An open report about the account, which is decided by this."
    )
    warning_preset_id = serializers.CharField(
        required=False, help_text="Refused: there are no texts to choose from."
    )
    send_email_notification = serializers.BooleanField(
        default=True, help_text="No effect: people read decisions on the site."
    )


@operation(
    "Warn, limit, freeze or suspend an account (staff)",
    EMPTY_OBJECT,
    name="admin_account_action",
    tags=TAGS,
    request=AdminActionInput,
    errors=[400, 401, 403, 404, 409, 422],
)
@endpoint(POST=WRITE)
def action(request: Request, account_id: int) -> Response:
    """Take a measure, as on the staff pages. If `apps.strikes` is installed, the owner can read about it and appeal."""
    staff = reader_of_accounts(request)
    fields = validated(AdminActionInput(data=request.data))
    if fields.get("warning_preset_id"):
        raise invalid("warning_preset_id", _("This site has no prepared warnings."), "no_presets")
    if fields["type"] == "sensitive":
        raise invalid("type", _not_sensitive(), "no_such_measure")
    report_id = fields.get("report_id")
    actions.take_measure(
        account_id,
        actions.MEASURES[fields["type"]],
        by=staff,
        text=fields["text"],
        report_id=int(report_id) if report_id else None,
    )
    return Response({})


def _not_sensitive() -> str:
    return _("This site marks posts as sensitive, not accounts.")


def _way_back(
    name: str, summary: str, description: str, act: Callable[..., None]
) -> Callable[..., Response]:
    @operation(
        summary,
        AdminAccountJson,
        name=f"admin_{name}_account",
        tags=TAGS,
        description=description,
        errors=[401, 403, 404],
    )
    @endpoint(POST=WRITE)
    def view(request: Request, account_id: int) -> Response:
        act(account_id, by=reader_of_accounts(request))
        return _shown(account_id)

    return view


unsilence = _way_back(
    "unsilence",
    "End the limit of an account (staff)",
    "Does nothing if the account is not limited.",
    actions.unsilence,
)
enable = _way_back(
    "enable",
    "Let the owner of a frozen account log in again (staff)",
    "Does nothing if the account is not frozen; 403 while it is suspended.",
    actions.enable,
)
unsuspend = _way_back(
    "unsuspend",
    "End the suspension of an account (staff)",
    "Does nothing if the account is not suspended; 403 if its owner has deleted it.",
    actions.unsuspend,
)


def _refused(name: str, message: Callable[[], str]) -> Callable[..., Response]:
    @operation(
        f"{name.capitalize()} an account: refused, because the site has no such state (staff)",
        AdminAccountJson,
        name=f"admin_{name}_account",
        tags=TAGS,
        description="Always 422, with the reason.",
        errors=[401, 403, 404, 422],
    )
    @endpoint(POST=WRITE)
    def view(request: Request, account_id: int) -> Response:
        reader_of_accounts(request)
        queries.account_by_id(account_id)
        raise Invalid(message(), code="no_such_measure")

    return view


unsensitive = _refused("unsensitive", _not_sensitive)
approve = _refused("approve", lambda: _("New accounts need no approval on this site."))
reject = _refused("reject", lambda: _("New accounts need no approval on this site."))


_ACCOUNT = "admin/accounts/<int:account_id>"

urlpatterns: list[URLPattern] = [
    path("admin/accounts", accounts),
    path(_ACCOUNT, account),
    path(f"{_ACCOUNT}/action", action),
    path(f"{_ACCOUNT}/enable", enable),
    path(f"{_ACCOUNT}/unsuspend", unsuspend),
    path(f"{_ACCOUNT}/unsilence", unsilence),
    path(f"{_ACCOUNT}/unsensitive", unsensitive),
    path(f"{_ACCOUNT}/approve", approve),
    path(f"{_ACCOUNT}/reject", reject),
]
