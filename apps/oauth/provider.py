"""What django-oauth-toolkit is told about this site: bodies in any form, our scopes, our tokens, limits of guessing."""

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

from apps.accounts.authentication.second_factor import is_on
from apps.accounts.models import User
from apps.events.live import announce
from apps.oauth.codes import end_used_code, remember_code
from apps.oauth.models import Application
from apps.oauth.queries import APP_TOKEN_PREFIX
from apps.scopes import NAMES, covered_by

DEFAULT_SCOPES = ["read"]


def new_token(_request: Any) -> str:
    """A token of an application, or the one that renews it."""
    return APP_TOKEN_PREFIX + secrets.token_urlsafe(32)


class Core(OAuthLibCore):
    """Reads requests that were parsed already, whatever form they came in."""

    def extract_body(self, request: Any) -> list[tuple[str, str]]:
        """Names and values; values that are no text are left out, and of several the last one counts."""
        sent: Any = request.data if isinstance(request, Request) else request.POST
        return [
            (str(name), str(value))
            for name, value in sent.items()
            if isinstance(value, str | int) and not isinstance(value, bool)
        ]

    def validate_authorization_request(self, request: Any) -> tuple[list[str], dict[str, Any]]:
        """What a program asks for. A challenge that is no hash is refused here, before anybody is asked for consent."""
        scopes, credentials = super().validate_authorization_request(request)
        if credentials.get("code_challenge_method", "S256") != "S256":
            asked, said = credentials["request"], 'Unsupported code_challenge_method; use "S256".'
            raise OAuthToolkitError(error=errors.InvalidRequestError(said, request=asked))
        return scopes, credentials

    def _get_extra_credentials(self, request: Any) -> dict[str, int]:
        del request
        return {"created_at": int(time.time())}


class Validator(OAuth2Validator):
    """Takes passwords too: the command line clients have no other way. Guesses are counted like failed logins."""

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: Any, request: Any, *_args: Any, **_more: Any
    ) -> bool:
        """Whether a program may ask in this way."""
        del client_id, client
        allowed: bool = request.client.allows_grant_type(*GRANT_TYPE_MAPPING[grant_type])
        return allowed

    def validate_user(
        self, username: str, password: str, client: Any, request: Any, *args: Any, **more: Any
    ) -> bool:
        """Whether this is the password; it stays so until the token is written, or the token is none.

        Where there is a second factor, which a program cannot show, a password is worth nothing. The answer is that to a
        wrong one: it tells nobody that this one was right.
        """
        if not super().validate_user(username, password, client, request, *args, **more):
            return False
        user = User.objects.select_for_update(no_key=True).get(pk=request.user.pk)
        return user.is_active and user.password == request.user.password and not is_on(user)

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Any, *args: Any, **more: Any
    ) -> bool:
        """Whether a code is good, for one use at a time; one that was used before ends what it was used for."""
        Grant.objects.select_for_update().filter(code=code, application=client).first()
        if super().validate_code(client_id, code, client, request, *args, **more):
            return True
        end_used_code(code, client)
        return False

    def get_code_challenge(self, code: str, request: Any) -> str | None:
        """What the verifier has to fit. One for a code that was asked for without is refused (RFC 9700, 2.1.1):

        somebody may have taken the challenge out of the request.
        """
        challenge: str | None = super().get_code_challenge(code, request)
        if challenge is None and request.code_verifier:
            raise errors.InvalidGrantError("The code was asked for without a challenge.", request=request)  # fmt: skip
        return challenge

    def save_bearer_token(
        self, token: dict[str, Any], request: Any, *args: Any, **more: Any
    ) -> Any:
        """Store a token, and what it came of; those that a renewal replaces end."""
        super().save_bearer_token(token, request, *args, **more)
        if request.grant_type == "authorization_code":
            remember_code(request.code, request.client, refresh_token=token["refresh_token"])
        elif request.grant_type == "refresh_token":
            announce("tokens_ended", user_id=request.user.pk)

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Any, *args: Any, **more: Any
    ) -> bool:
        """Whether a token may be renewed. A second renewal by the same means ends the whole family."""
        if super().validate_refresh_token(refresh_token, client, request, *args, **more):
            return True
        checksum = sha256(refresh_token.encode()).hexdigest()
        owners = RefreshToken.objects.filter(token_checksum=checksum).values_list("user", flat=True)
        for user_id in set(owners):
            announce("tokens_ended", user_id=user_id)
        return False

    def revoke_token(
        self, token: str, token_type_hint: str, request: Any, *args: Any, **more: Any
    ) -> None:
        """End a token, and tell those who hold a stream open for its owner."""
        checksum = sha256(token.encode()).hexdigest()
        of_program = {"token_checksum": checksum, "application": request.client}
        owners = {
            row.user_id
            for kind in (AccessToken, RefreshToken)
            for row in kind.objects.filter(**of_program)
        }
        super().revoke_token(token, token_type_hint, request, *args, **more)
        for user_id in owners - {None}:
            announce("tokens_ended", user_id=user_id)


class Scopes(BaseScopes):
    """The scopes an application can get: those that it named when it was registered, and all that they cover."""

    def get_all_scopes(self) -> dict[str, Any]:
        """All there are, with what the consent page says of the wide ones."""
        return {name: DESCRIPTIONS.get(name, name) for name in sorted(NAMES)}

    def get_available_scopes(
        self, application: Application | None = None, *_args: Any, **_more: Any
    ) -> list[str]:
        """Those of an application; all of them for nobody in particular."""
        return sorted(covered_by(application.scopes.split()) if application else NAMES)

    def get_default_scopes(self, *_args: Any, **_more: Any) -> list[str]:
        """What a request gets that names none."""
        return DEFAULT_SCOPES


DESCRIPTIONS = {
    "read": _("Read everything in your account"),
    "write": _("Post, like, follow and change your account"),
    "follow": _("Follow, mute and block people"),
    "push": _("Send notifications to your device"),
    "profile": _("See who you are"),
}
