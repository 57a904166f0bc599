"""Accounts as programs ask for them: a new one, or several at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.exceptions import ErrorDetail, NotAuthenticated
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.actions import register
from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.oauth import SignUpErrorJson, SignUpFieldErrorJson, TokenJson, token_json
from apps.api.inputs.oauth import JoinInput
from apps.api.openapi import Entity, problems
from apps.api.params import id_params
from apps.errors import Invalid
from apps.http.requests import client_address
from apps.oauth.actions import issue_access
from apps.oauth.queries import Bearer
from apps.scopes import scopes
from apps.throttling import check_sign_up

MAX_ACCOUNTS = 100  # shown at once
# Our field names and error codes, and Mastodon's.
_NAMES = {"handle": "username"}
_CODES = {
    "required": "ERR_BLANK", "null": "ERR_BLANK", "blank": "ERR_BLANK", "max_length": "ERR_TOO_LONG",
    "not_accepted": "ERR_ACCEPTED",
}  # fmt: skip


@scopes(GET="read:accounts", POST="write:accounts")
@extend_schema(
    methods=["GET"],
    operation_id="show_accounts",
    tags=["accounts"],
    summary="Several accounts",
    parameters=[OpenApiParameter("id[]", str, many=True)],
    responses={200: Entity(AccountJson, many=True), **problems(400)},
)
@extend_schema(
    methods=["POST"],
    operation_id="join",
    tags=["accounts"],
    summary="Make an account",
    description="With a token of the application itself. The answer is a token of the new account. Whether the e-mail"
    " address has an account already is not told: its owner gets a mail. It counts once it is confirmed.",
    request=JoinInput,
    responses={
        200: Entity(TokenJson),
        **problems(400, 401, 403),
        422: Entity(SignUpErrorJson),
        **problems(429),
    },
)
@api_view(["GET", "POST"])
@permission_classes([AllowAny])
def accounts(request: Request) -> Response:
    """Show accounts in the order asked, without those that are not there; or make one."""
    if request.method == "POST":
        return _join(request)
    ids = id_params(request, maximum=MAX_ACCOUNTS)
    users = users_by_id(ids)
    existing = [users[user_id] for user_id in dict.fromkeys(ids) if user_id in users]
    return Response([account_json(user) for user in existing])


def _join(request: Request) -> Response:
    bearer = request.auth
    if not isinstance(bearer, Bearer) or bearer.application is None:
        raise NotAuthenticated
    form = JoinInput(data=request.data)
    if not form.is_valid():
        return _refused(form.errors)
    check_sign_up(client_address(request))
    try:
        user = _new_account(form.validated_data)
    except Invalid as refusal:
        errors = {
            field: [ErrorDetail(text, refusal.code)] for field, text in refusal.errors.items()
        }
        return _refused(errors)
    token, issued = issue_access(user, bearer.application, scopes=bearer.application.scopes.split())
    return Response(token_json(token, issued))


def _new_account(fields: dict[str, Any]) -> User:
    if not fields["agreement"]:
        message = _("Agree to the rules of the site.")
        raise Invalid(message, code="not_accepted", errors={"agreement": message})
    return register(handle=fields["username"], email=fields["email"], password=fields["password"])


def _refused(errors: Mapping[str, Sequence[ErrorDetail]]) -> Response:
    details: dict[str, list[SignUpFieldErrorJson]] = {
        _NAMES.get(field, field): [
            {"error": _CODES.get(error.code or "", "ERR_INVALID"), "description": str(error)}
            for error in texts
        ]
        for field, texts in errors.items()
    }
    message = " ".join(error["description"] for texts in details.values() for error in texts)
    return Response(SignUpErrorJson(error=message, details=details), status=Invalid.status)
