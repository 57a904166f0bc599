"""Delivery policies, for programs of staff: what is chosen, what is in force, and why."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api import staff_of
from apps.accounts.queries import user_by_id
from apps.accounts.schema import problems
from apps.accounts.staff import log_action
from apps.events.admin import REASON_MAX_CHARACTERS
from apps.graph.api import paged
from apps.paging import Cursor, page_of_rows
from apps.refusals import Invalid
from apps.scopes import scopes
from apps.timeline.delivery import switching
from apps.timeline.models import AuthorPolicy, Mode, Policy, SitePolicy

SEE, CHOOSE = "timeline.view_{}", "timeline.change_{}"
OF_AUTHORS, OF_THE_SITE = "authorpolicy", "sitepolicy"


class PolicyChoice(serializers.Serializer[Any]):
    """What staff choose, and why."""

    policy = serializers.ChoiceField(choices=Policy.choices)
    reason = serializers.CharField(
        max_length=REASON_MAX_CHARACTERS, help_text="Kept in the history."
    )


class SitePolicySchema(serializers.Serializer[Any]):
    """The policy of the site. `merges_all`: readers merge the outboxes of all whom they follow."""

    policy = serializers.ChoiceField(choices=Policy.choices)
    mode = serializers.ChoiceField(choices=Mode.choices)
    merges_all = serializers.BooleanField()
    generation = serializers.IntegerField()
    version = serializers.IntegerField()


class AuthorPolicySchema(serializers.Serializer[Any]):
    """The policy of an author. `mode` is what is in force, none for that of the site; `measured` is what `auto` saw."""

    account_id = serializers.CharField()
    policy = serializers.ChoiceField(choices=Policy.choices)
    mode = serializers.ChoiceField(choices=Mode.choices, allow_null=True)
    merged_since = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()
    measured = serializers.DictField(child=serializers.FloatField())
    measured_at = serializers.DateTimeField(allow_null=True)


@scopes(GET="read")
@extend_schema(
    operation_id="author_policies",
    tags=["operations"],
    summary="Authors whose posts are delivered in a way of their own (staff)",
    parameters=[
        OpenApiParameter("max_id", str, description="Accounts below this id."),
        OpenApiParameter("limit", int, description="How many at most; clamped."),
    ],
    responses={200: AuthorPolicySchema(many=True), **problems(400, 401, 403)},
)
@api_view(["GET"])
def of_authors(request: Request) -> Response:
    """A page of them, the youngest account first."""
    staff_of(request, SEE.format(OF_AUTHORS))
    page = page_of_rows(AuthorPolicy.objects.all(), Cursor.from_query(request.query_params))
    return paged(request, page, [_of_author(row) for row in page.items])


@scopes(GET="read", PUT="write")
@extend_schema(
    methods=["GET"],
    operation_id="author_policy",
    tags=["operations"],
    summary="How an author's posts are delivered (staff)",
    responses={200: AuthorPolicySchema, **problems(401, 403, 404)},
)
@extend_schema(
    methods=["PUT"],
    operation_id="choose_author_policy",
    tags=["operations"],
    summary="Choose how an author's posts are delivered, while everything runs (staff)",
    request=PolicyChoice,
    responses={200: AuthorPolicySchema, **problems(401, 403, 404, 422, 503)},
)
@api_view(["GET", "PUT"])
def of_author(request: Request, account_id: int) -> Response:
    """The author's own policy, or that there is none."""
    if request.method == "PUT":
        staff = staff_of(request, CHOOSE.format(OF_AUTHORS))
        author, wanted = user_by_id(account_id), _wanted(request)
        row = switching.set_author_policy(author, by=staff.handle, **wanted)
        log_action(staff, row, f"{wanted['policy']}: {wanted['reason']}")
        return Response(_of_author(row))
    staff_of(request, SEE.format(OF_AUTHORS))
    author = user_by_id(account_id)
    found = AuthorPolicy.objects.filter(pk=author.pk).first()
    return Response(_of_author(found or AuthorPolicy(author=author)))


@scopes(GET="read", PUT="write")
@extend_schema(
    methods=["GET"],
    operation_id="site_policy",
    tags=["operations"],
    summary="How posts are delivered where their author has no policy (staff)",
    responses={200: SitePolicySchema, **problems(401, 403)},
)
@extend_schema(
    methods=["PUT"],
    operation_id="choose_site_policy",
    tags=["operations"],
    summary="Choose how posts are delivered on the whole site, while everything runs (staff)",
    request=PolicyChoice,
    responses={200: SitePolicySchema, **problems(401, 403, 422, 503)},
)
@api_view(["GET", "PUT"])
def of_site(request: Request) -> Response:
    """The policy of the site."""
    if request.method == "PUT":
        staff, wanted = staff_of(request, CHOOSE.format(OF_THE_SITE)), _wanted(request)
        if wanted["policy"] == Policy.SITE:
            message = _("The site has no site above it.")
            raise Invalid(message, errors={"policy": message})
        row = switching.set_site_policy(by=staff.handle, **wanted)
        log_action(staff, row, f"{wanted['policy']}: {wanted['reason']}")
        return Response(_of_site(row))
    staff_of(request, SEE.format(OF_THE_SITE))
    return Response(_of_site(SitePolicy.objects.filter(pk=1).first() or SitePolicy()))


def _wanted(request: Request) -> dict[str, Any]:
    said = PolicyChoice(data=request.data)
    said.is_valid(raise_exception=True)
    return {
        "policy": Policy(said.validated_data["policy"]),
        "reason": said.validated_data["reason"],
    }


def _of_author(row: AuthorPolicy) -> dict[str, Any]:
    return {
        "account_id": str(row.author_id),
        "policy": row.policy,
        "mode": row.mode,
        "merged_since": row.merged_since,
        "reason": row.reason,
        "measured": row.measured,
        "measured_at": row.measured_at,
    }


def _of_site(row: SitePolicy) -> dict[str, Any]:
    names = ("policy", "mode", "merges_all", "generation", "version")
    return {name: getattr(row, name) for name in names}
