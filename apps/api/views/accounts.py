"""Accounts: show, register, change and report them; preferences; confirmation of the e-mail address."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ErrorDetail, NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.actions import (
    register,
    remove_avatar,
    remove_header,
    set_locked,
    update_profile,
)
from apps.accounts.email.confirmation import send_confirmation
from apps.accounts.models import User
from apps.accounts.queries import user_by_handle, user_by_id, users_by_id
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.account import (
    AccountJson,
    CredentialAccountJson,
    PreferencesJson,
    ProfileInput,
    ProfileJson,
    ReportInput,
    ReportJson,
    account_json,
    credential_account_json,
    preferences_json,
    profile_json,
    report_json,
)
from apps.api.entities.oauth import (
    JoinInput,
    SignUpErrorJson,
    SignUpFieldErrorJson,
    TokenJson,
    token_json,
)
from apps.api.hooks import COLLECTIONS
from apps.api.openapi import EMPTY_OBJECT, Entity
from apps.api.params import id_in_body, id_params, validated
from apps.errors import BadRequest, Invalid
from apps.graph.queries import requests_count
from apps.http.requests import client_address
from apps.moderation.actions import file_report
from apps.oauth.actions import issue_access
from apps.oauth.queries import Bearer
from apps.tags.queries import featured_tags
from apps.throttling import check_sign_up

MAX_ACCOUNTS = 100  # per request
# Our field names and error codes -> Mastodon's.
_NAMES = {"handle": "username"}
_CODES = {
    "required": "ERR_BLANK", "null": "ERR_BLANK", "blank": "ERR_BLANK", "max_length": "ERR_TOO_LONG",
    "not_accepted": "ERR_ACCEPTED", "blocked": "ERR_BLOCKED",
}  # fmt: skip


@operation("Your preferences for writing and reading", PreferencesJson, errors=[401])
@endpoint(GET="read:accounts")
def preferences(request: Request) -> Response:
    """The viewer's preferences, under Mastodon's names."""
    return Response(preferences_json(viewer_of(request)))


@operation(
    "Send the link that confirms your e-mail address again",
    EMPTY_OBJECT,
    errors=[401, 403, 429],
    description="This cannot change the address, because a change requires the password.",
)
@endpoint(POST="write:accounts")
def resend_confirmation(request: Request) -> Response:
    """Send the confirmation link again. The request is refused if there is no address to confirm."""
    send_confirmation(viewer_of(request))
    return Response({})


@operation("Whether your e-mail address is confirmed", OpenApiTypes.BOOL, errors=[401])
@endpoint(GET="read:accounts")
def check_confirmation(request: Request) -> Response:
    """False while an e-mail address is waiting for confirmation, otherwise true."""
    return Response(not viewer_of(request).pending_email)


@operation(
    "An account by its handle",
    AccountJson,
    errors=[400, 404],
    parameters=[OpenApiParameter("acct", str, required=True)],
)
@endpoint(GET="read:accounts", public=True)
def lookup_account(request: Request) -> Response:
    """The account with this handle. Case is ignored, and a leading @ is allowed."""
    handle = request.query_params.get("acct", "")
    if not handle:
        raise BadRequest(_("Specify the account: acct=handle."))
    return Response(account_json(user_by_handle(handle)))


@operation("An account by its id", AccountJson, errors=[404])
@endpoint(GET="read:accounts", public=True)
def show_account(_request: Request, account_id: int) -> Response:
    """The account with this id."""
    return Response(account_json(user_by_id(account_id)))


@operation("The account of the token", CredentialAccountJson, errors=[401])
@endpoint(GET=("read:accounts", "profile"))
def verify_credentials(request: Request) -> Response:
    """The account that the token belongs to."""
    return _credentials(viewer_of(request))


@operation(
    "Change your profile and posting preferences",
    CredentialAccountJson,
    request=ProfileInput,
    errors=[400, 401, 422],
    description="Send a form with files, or JSON. Absent fields stay unchanged; unknown fields are ignored.",
)
@endpoint(PATCH="write:accounts")
def update_credentials(request: Request) -> Response:
    """Change the viewer's profile and the defaults of new posts."""
    viewer = viewer_of(request)
    _update_profile(viewer, request)
    return _credentials(viewer)


def _update_profile(viewer: User, request: Request) -> None:
    fields = validated(ProfileInput(data=request.data))
    locked = fields.pop("is_locked", None)
    update_profile(viewer, **fields)
    if locked is not None:
        set_locked(viewer, locked=locked)


@operation(
    "Your profile, as you can edit it", ProfileJson, method="GET", name="show_profile", errors=[401]
)
@operation(
    "Change your profile",
    ProfileJson,
    method="PATCH",
    name="change_profile",
    request=ProfileInput,
    errors=[400, 401, 422],
    description="The same as `update_credentials`, with another response.",
)
@endpoint(GET=("read:accounts", "profile"), PATCH="write:accounts")
def profile(request: Request) -> Response:
    """The viewer's profile, with its tags and with the texts as the viewer wrote them."""
    viewer = viewer_of(request)
    if request.method == "PATCH":
        _update_profile(viewer, request)
    return Response(profile_json(viewer, featured_tags(viewer.pk)))


def _picture_removal(name: str, summary: str, remove: Callable[[User], None]) -> Any:
    @operation(summary, CredentialAccountJson, name=name, errors=[401])
    @endpoint(DELETE="write:accounts")
    def view(request: Request) -> Response:
        viewer = viewer_of(request)
        remove(viewer)
        return _credentials(viewer)

    return view


delete_avatar = _picture_removal("delete_avatar", "Remove your avatar", remove_avatar)
delete_header = _picture_removal("delete_header", "Remove your header", remove_header)


def _credentials(viewer: User) -> Response:
    return Response(credential_account_json(viewer, requests=requests_count(viewer)))


@operation(
    "Several accounts",
    list[AccountJson],
    method="GET",
    name="show_accounts",
    errors=[400],
    parameters=[OpenApiParameter("id[]", str, many=True)],
)
@operation(
    "Make an account",
    TokenJson,
    method="POST",
    name="join",
    request=JoinInput,
    errors=[400, 401, 403, 429],
    description="Requires a token of the application itself, and returns a token of the new account. It does not reveal"
    " whether the e-mail address already has an account; its owner gets a mail. The address has to be confirmed.",
    responses={422: Entity(SignUpErrorJson)},
)
@endpoint(GET="read:accounts", POST="write:accounts", public=True)
def accounts(request: Request) -> Response:
    """GET: accounts in the requested order; missing accounts are left out. POST: create an account."""
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
    client = client_address(request)
    check_sign_up(client)
    try:
        user = _new_account(form.validated_data, client)
    except Invalid as refusal:
        if not refusal.errors:
            raise
        errors = {
            field: [ErrorDetail(text, refusal.code)] for field, text in refusal.errors.items()
        }
        return _refused(errors)
    token, issued = issue_access(user, bearer.application, scopes=bearer.application.scopes.split())
    return Response(token_json(token, issued))


def _new_account(fields: dict[str, Any], client: str) -> User:
    if not fields["agreement"]:
        message = _("You must agree to the rules of the site.")
        raise Invalid(message, code="not_accepted", errors={"agreement": message})
    return register(
        handle=fields["username"], email=fields["email"], password=fields["password"], client=client
    )


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


@operation(
    "Report an account and its posts to staff",
    ReportJson,
    tags=["reports"],
    request=ReportInput,
    errors=[400, 401, 403, 404, 422, 429],
    description="At most 40 posts. Those of other accounts, and those that you cannot see, are left out.",
)
@endpoint(POST="write:reports")
def report_account(request: Request) -> Response:
    """Report an account to the staff."""
    fields = validated(ReportInput(data=request.data))
    target = user_by_id(id_in_body(fields["account_id"], "account_id"))
    collection_ids = [id_in_body(text, "collection_ids") for text in fields["collection_ids"]]
    report = file_report(
        viewer_of(request),
        target,
        category=fields.get("category", ""),
        comment=fields["comment"],
        rule_ids=[id_in_body(text, "rule_ids") for text in fields["rule_ids"]],
        post_ids=[id_in_body(text, "status_ids") for text in fields["status_ids"]],
        collection_ids=collection_ids,
    )
    post_ids = report.posts.order_by("-post").values_list("post_id", flat=True)
    return Response(report_json(report, target, post_ids, collection_ids if COLLECTIONS else ()))
