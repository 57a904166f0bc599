"""The shapes of OAuth in the OpenAPI document, and what a registration may say."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.oauth.actions import SCOPES_DEFAULT
from apps.oauth.models import OUT_OF_BAND
from apps.scopes import needed_scopes


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library is untyped here
    """How the document names bearer tokens, and the scopes of which each endpoint wants one."""

    target_class = "apps.oauth.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The security scheme."""
        return {"type": "http", "scheme": "bearer"}

    def get_security_requirement(self, auto_schema: Any) -> dict[str, list[str]]:
        """The scopes that an endpoint declares."""
        return {"bearer": list(needed_scopes(auto_schema.view, auto_schema.method) or ())}


@extend_schema_field(
    {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
)
class AddressesField(serializers.Field[list[str], Any, Any, Any]):
    """Several addresses: a list, or a text with one in a line."""

    def to_internal_value(self, data: Any) -> list[str]:
        """The addresses."""
        if isinstance(data, str):
            return data.split()
        if isinstance(data, list) and all(isinstance(one, str) for one in data):
            return data
        raise serializers.ValidationError("Addresses are texts.")

    def to_representation(self, value: Any) -> Any:
        """As they are."""
        return value


class NewApplicationSchema(serializers.Serializer[Any]):
    """What a program says of itself."""

    client_name = serializers.CharField()
    redirect_uris = AddressesField(default=[OUT_OF_BAND])
    scopes = serializers.CharField(default=SCOPES_DEFAULT, allow_blank=True)
    website = serializers.CharField(default="", allow_blank=True, allow_null=True)

    def validate_website(self, value: str | None) -> str:
        """Null is nothing said."""
        return value or ""


class ApplicationSchema(serializers.Serializer[Any]):
    """An application."""

    id = serializers.CharField()
    name = serializers.CharField()
    website = serializers.URLField(allow_null=True)
    scopes = serializers.ListField(child=serializers.CharField())
    redirect_uri = serializers.CharField(help_text="One address in a line.")
    redirect_uris = serializers.ListField(child=serializers.CharField())
    vapid_key = serializers.CharField(allow_blank=True)


class ApplicationWithSecretSchema(ApplicationSchema):
    """A new application, with what it logs in with."""

    client_id = serializers.CharField()
    client_secret = serializers.CharField()
    client_secret_expires_at = serializers.IntegerField()


class TokenRequestSchema(serializers.Serializer[Any]):
    """What is asked of the token endpoint."""

    grant_type = serializers.ChoiceField(
        ["authorization_code", "password", "client_credentials", "refresh_token"]
    )
    client_id = serializers.CharField(required=False)
    client_secret = serializers.CharField(required=False)
    code = serializers.CharField(required=False)
    redirect_uri = serializers.CharField(required=False)
    code_verifier = serializers.CharField(required=False)
    username = serializers.CharField(required=False)
    password = serializers.CharField(required=False)
    refresh_token = serializers.CharField(required=False)
    scope = serializers.CharField(required=False)


class TokenSchema(serializers.Serializer[Any]):
    """A bearer token."""

    access_token = serializers.CharField()
    token_type = serializers.CharField()
    scope = serializers.CharField()
    created_at = serializers.IntegerField()
    expires_in = serializers.IntegerField()
    refresh_token = serializers.CharField(required=False)


class RevocationSchema(serializers.Serializer[Any]):
    """Which token is to be ended, and by whom."""

    token = serializers.CharField()
    client_id = serializers.CharField(required=False)
    client_secret = serializers.CharField(required=False)


class GrantErrorSchema(serializers.Serializer[Any]):
    """A refusal in the words of OAuth 2."""

    error = serializers.CharField()
    error_description = serializers.CharField(required=False)


@extend_schema_field(OpenApiTypes.OBJECT)
class NothingSchema(serializers.Serializer[Any]):
    """An empty object."""


class JoinInput(serializers.Serializer[Any]):
    """A new account."""

    username = serializers.CharField()
    email = serializers.EmailField()
    password = serializers.CharField(trim_whitespace=False, max_length=4096)
    agreement = serializers.BooleanField(default=False)
    locale = serializers.CharField(required=False, allow_blank=True)
    reason = serializers.CharField(required=False, allow_blank=True)


class JoinErrorSchema(serializers.Serializer[Any]):
    """What is wrong with a field."""

    error = serializers.CharField()
    description = serializers.CharField()


class JoinRefusalSchema(serializers.Serializer[Any]):
    """What is wrong with a new account, field by field."""

    error = serializers.CharField()
    details = serializers.DictField(child=JoinErrorSchema(many=True), required=False)


class ServerSchema(serializers.Serializer[Any]):
    """How to ask for tokens: RFC 8414."""

    issuer = serializers.URLField()
    service_documentation = serializers.URLField()
    authorization_endpoint = serializers.URLField()
    token_endpoint = serializers.URLField()
    revocation_endpoint = serializers.URLField()
    app_registration_endpoint = serializers.URLField()
    scopes_supported = serializers.ListField(child=serializers.CharField())
    response_types_supported = serializers.ListField(child=serializers.CharField())
    response_modes_supported = serializers.ListField(child=serializers.CharField())
    grant_types_supported = serializers.ListField(child=serializers.CharField())
    token_endpoint_auth_methods_supported = serializers.ListField(child=serializers.CharField())
    revocation_endpoint_auth_methods_supported = serializers.ListField(
        child=serializers.CharField()
    )
    code_challenge_methods_supported = serializers.ListField(child=serializers.CharField())
    authorization_response_iss_parameter_supported = serializers.BooleanField()
