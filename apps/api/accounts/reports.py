"""The API's reports."""

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.api.accounts.accounts import viewer_of
from apps.api.entities.report import ReportJson, report_json
from apps.api.inputs.report import ReportInput
from apps.api.openapi import Entity, problems
from apps.errors import Invalid
from apps.moderation.actions import file_report
from apps.scopes import scopes
from feedcache.ids import parse_id


@scopes(POST="write:reports")
@extend_schema(
    operation_id="report_account",
    tags=["reports"],
    summary="Report an account, and posts of it, to the staff",
    description="Posts that are not the account's, or that you cannot see, are left out; at most 40.",
    request=ReportInput,
    responses={200: Entity(ReportJson), **problems(400, 401, 403, 404, 422, 429)},
)
@api_view(["POST"])
def reports(request: Request) -> Response:
    """Tell the staff that something is wrong."""
    form = ReportInput(data=request.data)
    form.is_valid(raise_exception=True)
    said = form.validated_data
    target = user_by_id(_id(said["account_id"], "account_id"))
    report = file_report(
        viewer_of(request),
        target,
        category=said.get("category", ""),
        comment=said["comment"],
        rule_ids=[_id(text, "rule_ids") for text in said["rule_ids"]],
        post_ids=[_id(text, "status_ids") for text in said["status_ids"]],
    )
    post_ids = report.posts.order_by("-post").values_list("post_id", flat=True)
    return Response(report_json(report, target, post_ids))


def _id(text: str, field: str) -> int:
    """The id in a request body; Invalid when it is too large to be one."""
    try:
        return parse_id(text)
    except ValueError:
        raise Invalid(_("This is no id."), errors={field: _("This is no id.")}) from None
