"""Accounts by id and handle, preferences, confirmation of the e-mail address."""

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.mail.confirmation import send_confirmation
from apps.accounts.queries import user_by_handle, user_by_id
from apps.api.authentication import viewer_of
from apps.api.entities.account import AccountJson, PreferencesJson, account_json, preferences_json
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.errors import BadRequest
from apps.scopes import scopes


@scopes(GET="read:accounts")
@extend_schema(
    operation_id="preferences",
    tags=["accounts"],
    summary="How you want to write and read",
    responses={200: Entity(PreferencesJson), **problems(401)},
)
@api_view(["GET"])
def preferences(request: Request) -> Response:
    """The viewer's defaults, under the names that clients know."""
    return Response(preferences_json(viewer_of(request)))


@scopes(POST="write:accounts")
@extend_schema(
    operation_id="resend_confirmation",
    tags=["accounts"],
    summary="Send the link once more that confirms your e-mail address",
    description="An address cannot be given here: where a new password goes is changed with the password only.",
    request=None,
    responses={200: EMPTY_OBJECT, **problems(401, 403, 429)},
)
@api_view(["POST"])
def resend_confirmation(request: Request) -> Response:
    """Refused when there is nothing to confirm."""
    send_confirmation(viewer_of(request))
    return Response({})


@scopes(GET="read:accounts")
@extend_schema(
    operation_id="check_confirmation",
    tags=["accounts"],
    summary="Whether your e-mail address is confirmed",
    responses={200: OpenApiTypes.BOOL, **problems(401)},
)
@api_view(["GET"])
def check_confirmation(request: Request) -> Response:
    """False while an address waits to be confirmed."""
    return Response(not viewer_of(request).pending_email)


@scopes(GET="read:accounts")
@extend_schema(
    operation_id="lookup_account",
    tags=["accounts"],
    summary="An account by its handle",
    parameters=[OpenApiParameter("acct", str, required=True)],
    responses={200: Entity(AccountJson), **problems(400, 404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def lookup(request: Request) -> Response:
    """The account of a handle, in any case, with or without the @."""
    handle = request.query_params.get("acct", "")
    if not handle:
        raise BadRequest(_("Say which account: acct=handle."))
    return Response(account_json(user_by_handle(handle)))


@scopes(GET="read:accounts")
@extend_schema(
    operation_id="show_account",
    tags=["accounts"],
    summary="An account by its id",
    responses={200: Entity(AccountJson), **problems(404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def show(_request: Request, account_id: int) -> Response:
    """The account with an id."""
    return Response(account_json(user_by_id(account_id)))
