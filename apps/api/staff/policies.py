"""Delivery policies, for programs of staff: what is chosen, what is in force, and why."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.accounts.staff import log_action
from apps.api.authentication import staff_of
from apps.api.entities.status import (
    AuthorPolicyJson,
    SitePolicyJson,
    author_policy_json,
    site_policy_json,
)
from apps.api.inputs.status import PolicyInput
from apps.api.openapi import Entity, problems
from apps.api.pagination import paged
from apps.api.params import validated
from apps.errors import Invalid
from apps.paging import Cursor, page_of_rows
from apps.scopes import scopes
from apps.timeline.fanout import switch
from apps.timeline.models import AuthorPolicy, Policy, SitePolicy

VIEW, CHANGE = "timeline.view_{}", "timeline.change_{}"
AUTHOR_POLICY, SITE_POLICY = "authorpolicy", "sitepolicy"


@scopes(GET="read")
@extend_schema(
    operation_id="author_policies",
    tags=["operations"],
    summary="Authors whose posts are delivered in a way of their own (staff)",
    parameters=[
        OpenApiParameter("max_id", str, description="Accounts below this id."),
        OpenApiParameter("limit", int, description="How many at most; clamped."),
    ],
    responses={200: Entity(AuthorPolicyJson, many=True), **problems(400, 401, 403)},
)
@api_view(["GET"])
def of_authors(request: Request) -> Response:
    """A page of them, the youngest account first."""
    staff_of(request, VIEW.format(AUTHOR_POLICY))
    page = page_of_rows(AuthorPolicy.objects.all(), Cursor.from_query(request.query_params))
    return paged(request, page, [author_policy_json(row) for row in page.items])


@scopes(GET="read", PUT="write")
@extend_schema(
    methods=["GET"],
    operation_id="author_policy",
    tags=["operations"],
    summary="How an author's posts are delivered (staff)",
    responses={200: Entity(AuthorPolicyJson), **problems(401, 403, 404)},
)
@extend_schema(
    methods=["PUT"],
    operation_id="choose_author_policy",
    tags=["operations"],
    summary="Choose how an author's posts are delivered, while everything runs (staff)",
    request=PolicyInput,
    responses={200: Entity(AuthorPolicyJson), **problems(401, 403, 404, 422, 503)},
)
@api_view(["GET", "PUT"])
def of_author(request: Request, account_id: int) -> Response:
    """The author's own policy, or that there is none."""
    if request.method == "PUT":
        staff = staff_of(request, CHANGE.format(AUTHOR_POLICY))
        author, fields = user_by_id(account_id), _policy_fields(request)
        row = switch.set_author_policy(author, by=staff.handle, **fields)
        log_action(staff, row, f"{fields['policy']}: {fields['reason']}")
        return Response(author_policy_json(row))
    staff_of(request, VIEW.format(AUTHOR_POLICY))
    author = user_by_id(account_id)
    own = AuthorPolicy.objects.filter(pk=author.pk).first()
    return Response(author_policy_json(own or AuthorPolicy(author=author)))


@scopes(GET="read", PUT="write")
@extend_schema(
    methods=["GET"],
    operation_id="site_policy",
    tags=["operations"],
    summary="How posts are delivered where their author has no policy (staff)",
    responses={200: Entity(SitePolicyJson), **problems(401, 403)},
)
@extend_schema(
    methods=["PUT"],
    operation_id="choose_site_policy",
    tags=["operations"],
    summary="Choose how posts are delivered on the whole site, while everything runs (staff)",
    request=PolicyInput,
    responses={200: Entity(SitePolicyJson), **problems(401, 403, 422, 503)},
)
@api_view(["GET", "PUT"])
def of_site(request: Request) -> Response:
    """The policy of the site."""
    if request.method == "PUT":
        staff, fields = staff_of(request, CHANGE.format(SITE_POLICY)), _policy_fields(request)
        if fields["policy"] == Policy.SITE:
            message = _("The site has no site above it.")
            raise Invalid(message, errors={"policy": message})
        row = switch.set_site_policy(by=staff.handle, **fields)
        log_action(staff, row, f"{fields['policy']}: {fields['reason']}")
        return Response(site_policy_json(row))
    staff_of(request, VIEW.format(SITE_POLICY))
    return Response(site_policy_json(SitePolicy.objects.filter(pk=1).first() or SitePolicy()))


def _policy_fields(request: Request) -> dict[str, Any]:
    fields = validated(PolicyInput(data=request.data))
    return {
        "policy": Policy(fields["policy"]),
        "reason": fields["reason"],
    }
