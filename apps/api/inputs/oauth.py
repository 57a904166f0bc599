"""Request bodies of OAuth."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.entities.oauth import GRANT_TYPES
from apps.oauth.actions import SCOPES_DEFAULT
from apps.oauth.models import OUT_OF_BAND


@extend_schema_field(
    {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
)
class AddressesField(serializers.Field[list[str], Any, Any, Any]):
    """Several addresses: a list, or a text with one in a line."""

    def to_internal_value(self, data: Any) -> list[str]:
        if isinstance(data, str):
            return data.split()
        if isinstance(data, list) and all(isinstance(item, str) for item in data):
            return data
        raise serializers.ValidationError("Addresses are texts.")

    def to_representation(self, value: Any) -> Any:
        return value


class ApplicationInput(serializers.Serializer[Any]):
    """What a program says of itself."""

    client_name = serializers.CharField()
    redirect_uris = AddressesField(default=[OUT_OF_BAND])
    scopes = serializers.CharField(default=SCOPES_DEFAULT, allow_blank=True)
    website = serializers.CharField(default="", allow_blank=True, allow_null=True)

    def validate_website(self, value: str | None) -> str:
        return value or ""


class TokenInput(serializers.Serializer[Any]):
    """What is asked of the token endpoint."""

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


class RevocationInput(serializers.Serializer[Any]):
    """Which token is to be ended, and by whom."""

    token = serializers.CharField()
    client_id = serializers.CharField(required=False)
    client_secret = serializers.CharField(required=False)


class JoinInput(serializers.Serializer[Any]):
    """A new account."""

    username = serializers.CharField()
    email = serializers.EmailField()
    password = serializers.CharField(trim_whitespace=False, max_length=4096)
    agreement = serializers.BooleanField(default=False)
    locale = serializers.CharField(required=False, allow_blank=True)
    reason = serializers.CharField(required=False, allow_blank=True)
