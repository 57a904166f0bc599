"""Endpoints of OAuth 2: applications register themselves, ask for tokens, and end them."""

import json
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from oauth2_provider.oauth2_backends import get_oauthlib_core
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.entities.oauth import (
    ApplicationJson,
    CredentialApplicationJson,
    GrantErrorJson,
    OAuthServerJson,
    TokenJson,
    application_json,
    registration_json,
    server_json,
)
from apps.api.inputs.oauth import ApplicationInput, RevocationInput, TokenInput
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.params import validated
from apps.errors import NotFound
from apps.http.requests import client_address
from apps.oauth.actions import announce_end, register_application
from apps.oauth.models import Application
from apps.oauth.queries import Bearer, bearer_of
from apps.scopes import ANY_TOKEN, scopes
from apps.throttling import Origin, begin_guess, check_rate_limit


@scopes(POST=ANY_TOKEN)
@extend_schema(
    operation_id="register_application",
    tags=["apps"],
    summary="Register an application",
    request=ApplicationInput,
    responses={200: Entity(CredentialApplicationJson), **problems(422, 429)},
)
@api_view(["POST"])
@authentication_classes([])
@permission_classes([AllowAny])
def applications(request: Request) -> Response:
    """A program registers itself; nobody has to be logged in. The answer is the only one with the secret."""
    check_rate_limit("register_application", client_address(request))
    fields = validated(ApplicationInput(data=request.data))
    registration = register_application(
        name=fields["client_name"],
        redirect_uris=fields["redirect_uris"],
        scopes=fields["scopes"],
        website=fields["website"],
    )
    return Response(registration_json(registration.application, registration.secret))


@scopes(GET=ANY_TOKEN)
@extend_schema(
    operation_id="verify_application",
    tags=["apps"],
    summary="The application of the token",
    responses={200: Entity(ApplicationJson), **problems(401)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def verify_credentials(request: Request) -> Response:
    """The application that a token was given to; a personal token is one of its own."""
    bearer = request.auth
    if not isinstance(bearer, Bearer):
        raise NotAuthenticated
    personal = Application(name=bearer.name, scopes=" ".join(sorted(bearer.scopes)))
    return Response(application_json(bearer.application or personal))


@extend_schema(
    operation_id="token",
    tags=["oauth"],
    summary="Get a token",
    description="For a code, for the renewal of a token, for a password, or for the application itself.",
    request=TokenInput,
    responses={
        200: Entity(TokenJson),
        400: Entity(GrantErrorJson),
        401: Entity(GrantErrorJson),
        **problems(429),
    },
)
@api_view(["POST"])
@authentication_classes([])
@permission_classes([AllowAny])
def token(request: Request) -> Response:
    """A bearer token. Guesses of a password count as failed logins. A code is good once; a second use ends the token."""
    params: Any = request.data
    is_password = params.get("grant_type") == "password"
    name = str(params.get("username", "")).strip().removeprefix("@").lower()
    guess = begin_guess(name, Origin(client_address(request))) if is_password else None
    with transaction.atomic():
        _uri, headers, body, status = get_oauthlib_core().create_token_response(request)
    if guess is not None and status == HTTPStatus.OK:
        guess.give_back()
    return Response(json.loads(body), status=status, headers=_without_content_type(headers))


@extend_schema(
    operation_id="revoke_token",
    tags=["oauth"],
    summary="End a token",
    request=RevocationInput,
    responses={200: EMPTY_OBJECT, 400: Entity(GrantErrorJson), 401: Entity(GrantErrorJson)},
)
@api_view(["POST"])
@authentication_classes([])
@permission_classes([AllowAny])
def revoke(request: Request) -> Response:
    """End a token of the application that asks, and what renews it; one that is not known is ended already."""
    params: Any = request.data
    bearer = bearer_of(str(params.get("token", "")))
    _uri, headers, body, status = get_oauthlib_core().create_revocation_response(request)
    if bearer and bearer.user:
        announce_end(bearer.user.pk)
    return Response(
        json.loads(body) if body else {}, status=status, headers=_without_content_type(headers)
    )


def _without_content_type(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "Content-Type"}


@extend_schema(
    operation_id="oauth_server",
    tags=["oauth"],
    summary="How to ask for tokens here",
    responses={200: Entity(OAuthServerJson), **problems(404)},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
def server(_request: Request) -> Response:
    """RFC 8414. Absent where the site is not reached by https: clients take no other addresses from it."""
    if not settings.SITE_URL.startswith("https://"):
        raise NotFound(_("There is nothing here."))
    return Response(server_json())
