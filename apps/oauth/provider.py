"""Adapts django-oauth-toolkit to this site: request bodies, scopes, tokens, passwords and used codes."""

import secrets
import time
from hashlib import sha256
from typing import Any

from django.utils.translation import gettext_lazy as _
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.models import AccessToken, Grant, RefreshToken
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauth2_provider.oauth2_validators import GRANT_TYPE_MAPPING, OAuth2Validator
from oauth2_provider.scopes import BaseScopes
from oauthlib.oauth2.rfc6749 import errors
from rest_framework.request import Request

from apps.accounts.authentication.backends import login_name
from apps.accounts.authentication.second_factor import has_second_factor
from apps.accounts.cache import access_changed
from apps.accounts.models import User
from apps.oauth.models import Application, UsedCode
from apps.oauth.queries import APP_TOKEN_PREFIX
from apps.scopes import NAMES, STAFF, covered_by, grantable

DEFAULT_SCOPES = ["read"]


def new_token(_request: Any) -> str:
    return APP_TOKEN_PREFIX + secrets.token_urlsafe(32)


class Core(OAuthLibCore):
    """Accepts request bodies that DRF has parsed, in any format."""

    def extract_body(self, request: Any) -> list[tuple[str, str]]:
        """The strings and integers in a body, with their names. If a name is repeated, its last value is used."""
        data: Any = request.data if isinstance(request, Request) else request.POST
        return [
            (str(name), str(value))
            for name, value in data.items()
            if isinstance(value, str | int) and not isinstance(value, bool)
        ]

    def validate_authorization_request(self, request: Any) -> tuple[list[str], dict[str, Any]]:
        """For the consent page and its form: refuse a plain PKCE challenge, and drop scopes the user cannot grant."""
        scopes, credentials = super().validate_authorization_request(request)
        if credentials.get("code_challenge_method", "S256") != "S256":
            message = 'Unsupported code_challenge_method; use "S256".'
            raise OAuthToolkitError(
                error=errors.InvalidRequestError(message, request=credentials["request"])
            )
        return grantable(scopes, request.user) or DEFAULT_SCOPES, credentials

    def _get_extra_credentials(self, request: Any) -> dict[str, int]:
        del request
        return {"created_at": int(time.time())}


class Validator(OAuth2Validator):
    """Also allows the password grant, for command-line clients; the view counts wrong passwords as failed logins."""

    def validate_scopes(
        self,
        client_id: str,
        scopes: list[str],
        client: Any,
        request: Any,
        *args: Any,
        **kwargs: Any,
    ) -> bool:
        """Whether an application may have these scopes.

        Unknown scopes, and staff scopes that the application or the user may not have, are ignored instead of refused,
        because clients request all scopes.
        """
        lacking = STAFF - covered_by(client.scopes.split())
        known = [name for name in scopes if name in NAMES - lacking]
        # without a grant type, this is the consent page: the user is not known here, so `Core` checks the scopes
        if request.grant_type:
            known = grantable(known, request.user)
        request.scopes = known or DEFAULT_SCOPES
        may_have: bool = super().validate_scopes(
            client_id, request.scopes, client, request, *args, **kwargs
        )
        return may_have

    def validate_grant_type(
        self,
        client_id: str,
        grant_type: str,
        client: Any,
        request: Any,
        *_args: Any,
        **_kwargs: Any,
    ) -> bool:
        del client_id, client
        allowed: bool = request.client.allows_grant_type(*GRANT_TYPE_MAPPING[grant_type])
        return allowed

    def validate_user(
        self, username: str, password: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Whether the password is right. The user's row stays locked until the token is written.

        A user with a second factor, which a program cannot present, gets the answer for a wrong password, so that the
        answer does not reveal that the password is right.
        """
        name = login_name(username)
        if not super().validate_user(name, password, client, request, *args, **kwargs):
            return False
        user = User.objects.select_for_update(no_key=True).get(pk=request.user.pk)
        return (
            user.is_active
            and user.password == request.user.password
            and not has_second_factor(user)
        )

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Whether a code is valid. Each code works once; a second use revokes the tokens issued for the first."""
        Grant.objects.select_for_update().filter(code=code, application=client).first()
        if super().validate_code(client_id, code, client, request, *args, **kwargs):
            return True
        _end_used_code(code, client)
        return False

    def get_code_challenge(self, code: str, request: Any) -> str | None:
        """The PKCE challenge of a code. If the code has none, a request with a verifier is refused (RFC 9700, 2.1.1),
        because an attacker may have removed the challenge from the first request.
        """
        challenge: str | None = super().get_code_challenge(code, request)
        if challenge is None and request.code_verifier:
            raise errors.InvalidGrantError("The code was requested without a challenge.", request=request)  # fmt: skip
        return challenge

    def save_bearer_token(
        self, token: dict[str, Any], request: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Save a token, record the code exchanged for it, and end streams with a token that a refresh replaces."""
        super().save_bearer_token(token, request, *args, **kwargs)
        if request.grant_type == "authorization_code":
            _remember_code(request.code, request.client, refresh_token=token["refresh_token"])
        elif request.grant_type == "refresh_token":
            access_changed(request.user.pk)

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Whether a token may be refreshed. If one is used twice, all tokens from its authorization have been revoked
        (REFRESH_TOKEN_REUSE_PROTECTION), and their streams end here.
        """
        if super().validate_refresh_token(refresh_token, client, request, *args, **kwargs):
            return True
        checksum = sha256(refresh_token.encode()).hexdigest()
        owners = RefreshToken.objects.filter(token_checksum=checksum).values_list("user", flat=True)
        for user_id in set(owners):
            access_changed(user_id)
        return False

    def revoke_token(
        self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any
    ) -> None:
        """Revoke a token, and make the owner's streams check their tokens."""
        checksum = sha256(token.encode()).hexdigest()
        of_application = {"token_checksum": checksum, "application": request.client}
        owners = {
            row.user_id
            for model in (AccessToken, RefreshToken)
            for row in model.objects.filter(**of_application)
        }
        super().revoke_token(token, token_type_hint, request, *args, **kwargs)
        for user_id in owners - {None}:
            access_changed(user_id)


class Scopes(BaseScopes):
    """An application can get the scopes of its registration, and all scopes that these cover."""

    def get_all_scopes(self) -> dict[str, Any]:
        """All scopes; the broad ones have texts for the consent page."""
        return {name: DESCRIPTIONS.get(name, name) for name in sorted(NAMES)}

    def get_available_scopes(
        self, application: Application | None = None, *_args: Any, **_kwargs: Any
    ) -> list[str]:
        """The scopes that an application can get; all scopes if there is no application."""
        return sorted(covered_by(application.scopes.split()) if application else NAMES)

    def get_default_scopes(self, *_args: Any, **_kwargs: Any) -> list[str]:
        """The scopes for a request that names none."""
        return DEFAULT_SCOPES


DESCRIPTIONS = {
    "read": _("Read everything in your account"),
    "write": _("Post, like, follow and change your account"),
    "follow": _("Follow, mute and block people"),
    "push": _("Notify you on your devices"),
    "profile": _("See which account you use"),
}


def _remember_code(code: str, application: Application, *, refresh_token: str) -> None:
    """Record which token family a code was exchanged for, in the transaction of the exchange."""
    checksum = sha256(refresh_token.encode()).hexdigest()
    family = RefreshToken.objects.values_list("token_family", flat=True).get(
        token_checksum=checksum
    )
    UsedCode.objects.create(
        digest=UsedCode.digest_of(code), application=application, token_family=family
    )


def _end_used_code(code: str, application: Application) -> None:
    """If the application has used this code before, revoke all tokens issued for it."""
    used = UsedCode.objects.filter(digest=UsedCode.digest_of(code), application=application).first()
    if used is None:
        return
    user_ids = RefreshToken.objects.filter(token_family=used.token_family).values_list("user", flat=True)  # fmt: skip
    for user_id in set(user_ids):
        access_changed(user_id)
    RefreshToken.revoke_family(used.token_family)
