"""Endpoints for staff: reports."""

from collections.abc import Callable

from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.staff import log_action
from apps.admin_api import actions, queries
from apps.admin_api.accounts import MAX_PER_PAGE, PER_PAGE, TAGS, reader_of
from apps.admin_api.entities import AdminReportJson, admin_report_json
from apps.api.decorators import endpoint, operation
from apps.api.entities.base import Input
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.api.params import validated
from apps.moderation.house_rules import RULES
from apps.moderation.models import Category
from apps.pagination import Cursor, page_of_rows
from apps.posts.models import OPEN, Post
from apps.timeline.admin.posts import READ_RESTRICTED

READ = ("admin:read", "admin:read:reports")
WRITE = ("admin:write", "admin:write:reports")


def _staff(request: Request) -> User:
    return reader_of(request, "moderation", "report")


@operation(
    "Reports, open ones unless `resolved` is true (staff)",
    list[AdminReportJson],
    name="admin_reports",
    tags=TAGS,
    errors=[400, 401, 403],
    parameters=[
        OpenApiParameter("resolved", bool, description="With true, only resolved reports."),
        OpenApiParameter("account_id", str, description="Filed by this account."),
        OpenApiParameter("target_account_id", str, description="About this account."),
        OpenApiParameter(
            "by_target_domain", str, description="Only this site's domain has accounts."
        ),
        *CURSOR_PARAMETERS,
    ],
)
@endpoint(GET=READ)
def reports(request: Request) -> Response:
    """Reports, newest first, without those about the reader."""
    staff = _staff(request)
    cursor = Cursor.from_query(request.query_params, default=PER_PAGE, maximum=MAX_PER_PAGE)
    page = page_of_rows(queries.reports(request.query_params, staff), cursor)
    items = queries.reported_items(page.items, staff)
    body = [admin_report_json(report, items[report.pk]) for report in page.items]
    return paged(request, page, body)


class AdminReportInput(Input):
    """Corrections to a report; absent fields keep their values."""

    category = serializers.ChoiceField(Category.values, required=False)
    rule_ids = serializers.ListField(
        child=serializers.ChoiceField([str(number) for number in RULES]), required=False
    )


@operation(
    "A report (staff)",
    AdminReportJson,
    method="GET",
    name="admin_report",
    tags=TAGS,
    errors=[401, 403, 404],
)
@operation(
    "Correct the category of a report, and the rules that it names (staff)",
    AdminReportJson,
    method="PUT",
    name="admin_change_report",
    tags=TAGS,
    request=AdminReportInput,
    errors=[400, 401, 403, 404, 422],
)
@endpoint(GET=READ, PUT=WRITE)
def report(request: Request, report_id: int) -> Response:
    """One report. GET includes its restricted posts if the reader may read them, and logs that they were read."""
    staff = _staff(request)
    if request.method == "PUT":
        fields = validated(AdminReportInput(data=request.data))
        numbers = fields.get("rule_ids")
        actions.classify(
            report_id,
            by=staff,
            category=fields.get("category"),
            rule_ids=None if numbers is None else [int(number) for number in numbers],
        )
        return _shown(report_id, staff)
    reads_all = staff.has_perm(READ_RESTRICTED)
    found = queries.report_by_id(report_id, staff)
    items = queries.reported_items([found], staff, restricted=reads_all)[report_id]
    restricted = [item.id for item in items if item.post.visibility not in OPEN]
    for post in Post.objects.filter(pk__in=restricted) if restricted else ():
        log_action(staff, post, _("Read."))
    return Response(admin_report_json(found, items))


def _shown(report_id: int, staff: User) -> Response:
    """A report as in the list, without restricted posts."""
    found = queries.report_by_id(report_id, staff)
    return Response(admin_report_json(found, queries.reported_items([found], staff)[report_id]))


def _act(name: str, summary: str, act: Callable[[int, User], None]) -> Callable[..., Response]:
    @operation(
        summary,
        AdminReportJson,
        name=f"admin_{name}_report",
        tags=TAGS,
        description="Returns the report as in the list.",
        errors=[401, 403, 404],
    )
    @endpoint(POST=WRITE)
    def view(request: Request, report_id: int) -> Response:
        staff = _staff(request)
        act(report_id, staff)
        return _shown(report_id, staff)

    return view


def _assign_to_self(report_id: int, staff: User) -> None:
    actions.assign(report_id, by=staff, to=staff)


def _unassign(report_id: int, staff: User) -> None:
    actions.assign(report_id, by=staff, to=None)


def _resolve(report_id: int, staff: User) -> None:
    actions.resolve(report_id, by=staff)


def _reopen(report_id: int, staff: User) -> None:
    actions.reopen(report_id, by=staff)


assign_to_self = _act("assign_to_self", "Take a report on (staff)", _assign_to_self)
unassign = _act("unassign", "Give a report back (staff)", _unassign)
resolve = _act("resolve", "Resolve a report without a measure (staff)", _resolve)
reopen = _act("reopen", "Open a resolved report again (staff)", _reopen)

_REPORT = "admin/reports/<int:report_id>"

urlpatterns: list[URLPattern] = [
    path("admin/reports", reports),
    path(_REPORT, report),
    path(f"{_REPORT}/assign_to_self", assign_to_self),
    path(f"{_REPORT}/unassign", unassign),
    path(f"{_REPORT}/resolve", resolve),
    path(f"{_REPORT}/reopen", reopen),
]
