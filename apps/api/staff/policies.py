"""Delivery policies, for programs of staff: what is chosen, what is in force, and why."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.accounts.staff import log_action
from apps.api.accounts.accounts import staff_of
from apps.api.accounts.follows import paged
from apps.api.entities.status import (
    AuthorPolicyJson,
    SitePolicyJson,
    author_policy_json,
    site_policy_json,
)
from apps.api.inputs.status import PolicyInput
from apps.api.openapi import Entity, problems
from apps.errors import Invalid
from apps.paging import Cursor, page_of_rows
from apps.scopes import scopes
from apps.timeline.fanout import switch
from apps.timeline.models import AuthorPolicy, Policy, SitePolicy

SEE, CHOOSE = "timeline.view_{}", "timeline.change_{}"
OF_AUTHORS, OF_THE_SITE = "authorpolicy", "sitepolicy"


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
    staff_of(request, SEE.format(OF_AUTHORS))
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
        staff = staff_of(request, CHOOSE.format(OF_AUTHORS))
        author, wanted = user_by_id(account_id), _wanted(request)
        row = switch.set_author_policy(author, by=staff.handle, **wanted)
        log_action(staff, row, f"{wanted['policy']}: {wanted['reason']}")
        return Response(author_policy_json(row))
    staff_of(request, SEE.format(OF_AUTHORS))
    author = user_by_id(account_id)
    found = AuthorPolicy.objects.filter(pk=author.pk).first()
    return Response(author_policy_json(found or AuthorPolicy(author=author)))


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
        staff, wanted = staff_of(request, CHOOSE.format(OF_THE_SITE)), _wanted(request)
        if wanted["policy"] == Policy.SITE:
            message = _("The site has no site above it.")
            raise Invalid(message, errors={"policy": message})
        row = switch.set_site_policy(by=staff.handle, **wanted)
        log_action(staff, row, f"{wanted['policy']}: {wanted['reason']}")
        return Response(site_policy_json(row))
    staff_of(request, SEE.format(OF_THE_SITE))
    return Response(site_policy_json(SitePolicy.objects.filter(pk=1).first() or SitePolicy()))


def _wanted(request: Request) -> dict[str, Any]:
    said = PolicyInput(data=request.data)
    said.is_valid(raise_exception=True)
    return {
        "policy": Policy(said.validated_data["policy"]),
        "reason": said.validated_data["reason"],
    }
