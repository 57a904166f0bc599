"""Endpoints for staff: delivery policies."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.accounts.staff import log_action
from apps.api.authentication import staff_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.staff import (
    AuthorPolicyJson,
    PolicyInput,
    SitePolicyJson,
    author_policy_json,
    site_policy_json,
)
from apps.api.pagination import paged
from apps.api.params import validated
from apps.errors import Invalid
from apps.pagination import Cursor, page_of_rows
from apps.timeline.fanout import switch
from apps.timeline.models import AuthorPolicy, Policy, SitePolicy

# Django's permissions for models of the app `timeline`.
VIEW_AUTHOR_POLICY = "timeline.view_authorpolicy"
CHANGE_AUTHOR_POLICY = "timeline.change_authorpolicy"
VIEW_SITE_POLICY = "timeline.view_sitepolicy"
CHANGE_SITE_POLICY = "timeline.change_sitepolicy"


@operation(
    "Authors with their own delivery policy (staff)",
    list[AuthorPolicyJson],
    tags=["operations"],
    errors=[400, 401, 403],
    parameters=[
        OpenApiParameter("max_id", str, description="Accounts below this id."),
        OpenApiParameter("limit", int, description="At most this many; clamped."),
    ],
)
@endpoint(GET="read")
def author_policies(request: Request) -> Response:
    """Authors' policies, the newest accounts first; follow the `Link` header."""
    staff_of(request, VIEW_AUTHOR_POLICY)
    page = page_of_rows(AuthorPolicy.objects.all(), Cursor.from_query(request.query_params))
    return paged(request, page, [author_policy_json(row) for row in page.items])


@operation(
    "How an author's posts are delivered (staff)",
    AuthorPolicyJson,
    method="GET",
    tags=["operations"],
    errors=[401, 403, 404],
)
@operation(
    "Choose how an author's posts are delivered, on the running site (staff)",
    AuthorPolicyJson,
    method="PUT",
    name="choose_author_policy",
    tags=["operations"],
    request=PolicyInput,
    errors=[401, 403, 404, 422, 503],
)
@endpoint(GET="read", PUT="write")
def author_policy(request: Request, account_id: int) -> Response:
    """Show or change an author's own policy; without one, the site's policy applies."""
    if request.method == "PUT":
        staff = staff_of(request, CHANGE_AUTHOR_POLICY)
        author, fields = user_by_id(account_id), _policy_fields(request)
        row = switch.set_author_policy(author, by=staff.handle, **fields)
        log_action(staff, row, f"{fields['policy']}: {fields['reason']}")
        return Response(author_policy_json(row))
    staff_of(request, VIEW_AUTHOR_POLICY)
    author = user_by_id(account_id)
    own = AuthorPolicy.objects.filter(pk=author.pk).first()
    return Response(author_policy_json(own or AuthorPolicy(author=author)))


@operation(
    "How posts are delivered if their author has no policy (staff)",
    SitePolicyJson,
    method="GET",
    tags=["operations"],
    errors=[401, 403],
)
@operation(
    "Choose how posts are delivered on the whole running site (staff)",
    SitePolicyJson,
    method="PUT",
    name="choose_site_policy",
    tags=["operations"],
    request=PolicyInput,
    errors=[401, 403, 422, 503],
)
@endpoint(GET="read", PUT="write")
def site_policy(request: Request) -> Response:
    """Show or change the site's policy."""
    if request.method == "PUT":
        staff, fields = staff_of(request, CHANGE_SITE_POLICY), _policy_fields(request)
        if fields["policy"] == Policy.SITE:
            message = _("This policy is only for single authors.")
            raise Invalid(message, errors={"policy": message})
        row = switch.set_site_policy(by=staff.handle, **fields)
        log_action(staff, row, f"{fields['policy']}: {fields['reason']}")
        return Response(site_policy_json(row))
    staff_of(request, VIEW_SITE_POLICY)
    return Response(site_policy_json(SitePolicy.objects.filter(pk=1).first() or SitePolicy()))


def _policy_fields(request: Request) -> dict[str, Any]:
    fields = validated(PolicyInput(data=request.data))
    return {"policy": Policy(fields["policy"]), "reason": fields["reason"]}
