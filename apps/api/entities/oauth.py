"""Applications, tokens and sign-ups as JSON, in the shapes of Mastodon and of OAuth 2."""

from typing import Annotated, Any, NotRequired, TypedDict

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from oauth2_provider.models import AccessToken
from rest_framework import serializers

from apps.accounts.models import User
from apps.addresses import absolute
from apps.api.entities.account import account_json
from apps.api.entities.base import Input, Uri
from apps.api.hooks import vapid_key
from apps.oauth.actions import SCOPES_DEFAULT
from apps.oauth.models import OUT_OF_BAND, Application
from apps.scopes import OFFERED

GRANT_TYPES = ["authorization_code", "password", "client_credentials", "refresh_token"]
AUTH_METHODS = ["client_secret_basic", "client_secret_post"]


class ApplicationJson(TypedDict):
    """An application."""

    id: str
    name: str
    website: Uri | None
    scopes: list[str]
    redirect_uri: Annotated[str, "One address per line."]
    redirect_uris: list[str]
    vapid_key: str


def application_json(application: Application) -> ApplicationJson:
    addresses = application.redirect_uris.split()
    return {
        "id": str(application.pk or 0),
        "name": application.name,
        "website": application.website or None,
        "scopes": application.scopes.split(),
        "redirect_uri": "\n".join(addresses),
        "redirect_uris": addresses,
        "vapid_key": vapid_key(),
    }


class CredentialApplicationJson(ApplicationJson):
    """A new application with its credentials."""

    client_id: str
    client_secret: str
    client_secret_expires_at: int


def registration_json(application: Application, secret: str) -> CredentialApplicationJson:
    """A new application as JSON, with its secret. No other response contains the secret."""
    return {
        **application_json(application),
        "client_id": application.client_id,
        "client_secret": secret,
        "client_secret_expires_at": 0,
    }


class TokenJson(TypedDict):
    """A bearer token."""

    access_token: str
    token_type: str
    scope: str
    created_at: int
    expires_in: int
    refresh_token: NotRequired[str]


def token_json(token: str, issued: AccessToken) -> TokenJson:
    """A newly issued token as JSON. No other response contains the token."""
    return {
        "access_token": token,
        "token_type": "Bearer",
        "scope": issued.scope,
        "created_at": int(issued.created.timestamp()),
        "expires_in": settings.OAUTH2_PROVIDER["ACCESS_TOKEN_EXPIRE_SECONDS"],
    }


class GrantErrorJson(TypedDict):
    """An OAuth 2 error response."""

    error: str
    error_description: NotRequired[str]


class SignUpFieldErrorJson(TypedDict):
    """An error in a field."""

    error: str
    description: str


class SignUpErrorJson(TypedDict):
    """The errors in the fields of a new account."""

    error: str
    details: NotRequired[dict[str, list[SignUpFieldErrorJson]]]


class UserInfoJson(TypedDict):
    """The owner of the token, as OpenID Connect claims."""

    iss: Annotated[Uri, "The same as `issuer` of the authorization server."]
    sub: Annotated[Uri, "The account's `uri`."]
    name: str
    preferred_username: str
    profile: Uri
    picture: Uri


def user_info_json(user: User) -> UserInfoJson:
    account = account_json(user)
    return {
        "iss": settings.SITE_URL,
        "sub": account["uri"],
        "name": account["display_name"],
        "preferred_username": account["username"],
        "profile": account["url"],
        "picture": account["avatar"],
    }


class OAuthServerJson(TypedDict):
    """The metadata of the authorization server (RFC 8414)."""

    issuer: Uri
    service_documentation: Uri
    authorization_endpoint: Uri
    token_endpoint: Uri
    revocation_endpoint: Uri
    userinfo_endpoint: Uri
    app_registration_endpoint: Uri
    scopes_supported: list[str]
    response_types_supported: list[str]
    response_modes_supported: list[str]
    grant_types_supported: list[str]
    token_endpoint_auth_methods_supported: list[str]
    revocation_endpoint_auth_methods_supported: list[str]
    code_challenge_methods_supported: list[str]
    authorization_response_iss_parameter_supported: bool


def server_json() -> OAuthServerJson:
    return {
        "issuer": settings.SITE_URL,
        "service_documentation": absolute("/api/docs"),
        "authorization_endpoint": absolute("/oauth/authorize"),
        "token_endpoint": absolute("/oauth/token"),
        "revocation_endpoint": absolute("/oauth/revoke"),
        "userinfo_endpoint": absolute("/oauth/userinfo"),
        "app_registration_endpoint": absolute("/api/v1/apps"),
        "scopes_supported": sorted(OFFERED),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": GRANT_TYPES,
        "token_endpoint_auth_methods_supported": AUTH_METHODS,
        "revocation_endpoint_auth_methods_supported": AUTH_METHODS,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


@extend_schema_field(
    {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
)
class AddressesField(serializers.Field[list[str], Any, Any, Any]):
    """Several addresses, as a list or as a string with one address per line."""

    def to_internal_value(self, data: Any) -> list[str]:
        if isinstance(data, str):
            return data.split()
        if isinstance(data, list) and all(isinstance(item, str) for item in data):
            return data
        raise serializers.ValidationError("Each address must be a string.")

    def to_representation(self, value: Any) -> Any:
        return value


class ApplicationInput(Input):
    """The registration of an application."""

    client_name = serializers.CharField()
    redirect_uris = AddressesField(default=[OUT_OF_BAND])
    scopes = serializers.CharField(default=SCOPES_DEFAULT, allow_blank=True)
    website = serializers.CharField(default="", allow_blank=True)


class TokenInput(Input):
    """A request for a token."""

    grant_type = serializers.ChoiceField(GRANT_TYPES)
    client_id = serializers.CharField(required=False)
    client_secret = serializers.CharField(required=False)
    code = serializers.CharField(required=False)
    redirect_uri = serializers.CharField(required=False)
    code_verifier = serializers.CharField(required=False)
    username = serializers.CharField(required=False)
    password = serializers.CharField(required=False)
    refresh_token = serializers.CharField(required=False)
    scope = serializers.CharField(required=False)


class RevocationInput(Input):
    """The token to revoke, and the credentials of its application."""

    token = serializers.CharField()
    client_id = serializers.CharField(required=False)
    client_secret = serializers.CharField(required=False)


class JoinInput(Input):
    """A new account."""

    username = serializers.CharField()
    email = serializers.EmailField()
    password = serializers.CharField(trim_whitespace=False, max_length=4096)
    agreement = serializers.BooleanField(default=False)
    locale = serializers.CharField(required=False, allow_blank=True)
    reason = serializers.CharField(required=False, allow_blank=True)
