"""The API's reports."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.api.authentication import viewer_of
from apps.api.entities.report import ReportJson, report_json
from apps.api.inputs.report import ReportInput
from apps.api.openapi import Entity, problems
from apps.api.params import id_in_body, validated
from apps.moderation.actions import file_report
from apps.scopes import scopes


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
    fields = validated(ReportInput(data=request.data))
    target = user_by_id(id_in_body(fields["account_id"], "account_id"))
    report = file_report(
        viewer_of(request),
        target,
        category=fields.get("category", ""),
        comment=fields["comment"],
        rule_ids=[id_in_body(text, "rule_ids") for text in fields["rule_ids"]],
        post_ids=[id_in_body(text, "status_ids") for text in fields["status_ids"]],
    )
    post_ids = report.posts.order_by("-post").values_list("post_id", flat=True)
    return Response(report_json(report, target, post_ids))
