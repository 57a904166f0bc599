"""The endpoint for staff below /api/v2/: the list of accounts with its newer parameters."""

from django.urls import URLPattern, path
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.admin_api import queries
from apps.admin_api.accounts import NAMED, READ, TAGS, listed, reader_of_accounts
from apps.admin_api.entities import AdminAccountJson
from apps.api.decorators import endpoint, operation


@operation(
    "Accounts, by state and role (staff)",
    list[AdminAccountJson],
    name="admin_accounts_v2",
    tags=TAGS,
    errors=[400, 401, 403, 422],
    parameters=[
        OpenApiParameter("origin", str, enum=list(queries.ORIGINS)),
        OpenApiParameter("status", str, enum=list(queries.STATES)),
        OpenApiParameter("permissions", str, enum=list(queries.PERMISSIONS)),
        OpenApiParameter("role_ids[]", str, many=True, enum=sorted(queries.ROLES)),
        OpenApiParameter("invited_by", str, description="422: there are no invitations."),
        *NAMED,
    ],
)
@endpoint(GET=READ)
def accounts(request: Request) -> Response:
    """Accounts, newest first, including suspended and frozen ones."""
    reader_of_accounts(request)
    return listed(request, queries.accounts_v2(request.query_params))


urlpatterns: list[URLPattern] = [path("admin/accounts", accounts)]
