"""OAuth 2 endpoints, with which applications register themselves, get tokens and revoke them."""

import json
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from oauth2_provider.oauth2_backends import get_oauthlib_core
from rest_framework.decorators import authentication_classes
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.authentication.backends import login_name
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.oauth import (
    ApplicationInput,
    ApplicationJson,
    CredentialApplicationJson,
    GrantErrorJson,
    OAuthServerJson,
    RevocationInput,
    TokenInput,
    TokenJson,
    UserInfoJson,
    application_json,
    registration_json,
    server_json,
    user_info_json,
)
from apps.api.openapi import EMPTY_OBJECT, Entity
from apps.api.params import validated
from apps.errors import NotFound
from apps.http.requests import client_address
from apps.oauth.actions import register_application
from apps.oauth.models import Application
from apps.oauth.queries import Bearer
from apps.scopes import ANY_TOKEN
from apps.throttling import Origin, begin_guess, check_rate_limit


@operation(
    "Register an application",
    CredentialApplicationJson,
    name="register_application",
    tags=["apps"],
    request=ApplicationInput,
    errors=[422, 429],
)
@endpoint(POST=ANY_TOKEN, public=True)
@authentication_classes([])
def applications(request: Request) -> Response:
    """Register an application; no login is needed. Only this response contains the secret."""
    check_rate_limit("register_application", client_address(request))
    fields = validated(ApplicationInput(data=request.data))
    registration = register_application(
        name=fields["client_name"],
        redirect_uris=fields["redirect_uris"],
        scopes=fields["scopes"],
        website=fields["website"],
    )
    return Response(registration_json(registration.application, registration.secret))


@operation("The application of the token", ApplicationJson, tags=["apps"], errors=[401])
@endpoint(GET=ANY_TOKEN, public=True)
def verify_application(request: Request) -> Response:
    """The application that the token was issued to; a personal token counts as an application with the token's name."""
    bearer = request.auth
    if not isinstance(bearer, Bearer):
        raise NotAuthenticated
    personal = Application(name=bearer.name, scopes=" ".join(sorted(bearer.scopes)))
    return Response(application_json(bearer.application or personal))


@operation(
    "Get a token",
    TokenJson,
    request=TokenInput,
    errors=[429],
    description="Grants: an authorization code, a refresh token, a password, or the application's own credentials.",
    responses={400: Entity(GrantErrorJson), 401: Entity(GrantErrorJson)},
)
@endpoint(POST=ANY_TOKEN, public=True)
@authentication_classes([])
def token(request: Request) -> Response:
    """Issue a token. Wrong passwords count as failed logins. If a code is used twice, its tokens are revoked."""
    params: Any = request.data
    is_password = params.get("grant_type") == "password"
    name = login_name(str(params.get("username", "")))
    guess = begin_guess(name, Origin(client_address(request))) if is_password else None
    with transaction.atomic():
        _uri, headers, body, status = get_oauthlib_core().create_token_response(request)
    if guess is not None and status == HTTPStatus.OK:
        guess.give_back()
    return Response(json.loads(body), status=status, headers=_without_content_type(headers))


@operation(
    "Revoke a token",
    EMPTY_OBJECT,
    request=RevocationInput,
    responses={400: Entity(GrantErrorJson), 401: Entity(GrantErrorJson)},
    errors=[],
)
@endpoint(POST=ANY_TOKEN, public=True)
@authentication_classes([])
def revoke_token(request: Request) -> Response:
    """Revoke a token of the calling application, and its refresh token. An unknown token counts as revoked."""
    with transaction.atomic():
        _uri, headers, body, status = get_oauthlib_core().create_revocation_response(request)
    return Response(
        json.loads(body) if body else {}, status=status, headers=_without_content_type(headers)
    )


@operation(
    "The account of the token, for programs that log people in",
    UserInfoJson,
    method="GET",
    errors=[401, 403],
)
@operation(
    "The account of the token, by POST as OpenID Connect allows",
    UserInfoJson,
    method="POST",
    name="post_user_info",
    errors=[401, 403],
)
@endpoint(GET="profile", POST="profile")
def user_info(request: Request) -> Response:
    """The claims about the token's account. The token needs the scope `profile`."""
    return Response(user_info_json(viewer_of(request)))


def _without_content_type(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "Content-Type"}


@operation("The metadata of the authorization server", OAuthServerJson, errors=[404])
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def oauth_server(_request: Request) -> Response:
    """The RFC 8414 metadata. A site without https has none, because clients accept only https addresses in it."""
    if not settings.SITE_URL.startswith("https://"):
        raise NotFound(_("There is nothing here."))
    return Response(server_json())
