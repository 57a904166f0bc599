"""What django-oauth-toolkit is told about this site: bodies in any form, our scopes, our tokens, limits of guessing."""

import secrets
import time
from hashlib import sha256
from typing import Any

from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import AccessToken, RefreshToken
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauth2_provider.oauth2_validators import GRANT_TYPE_MAPPING, OAuth2Validator
from oauth2_provider.scopes import BaseScopes
from rest_framework.request import Request

from apps.accounts.second_factor import is_on
from apps.events.live import announce
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
        """Whether a password is worth a token: not where there is a second factor, which a program cannot show.

        The answer is that to a wrong password: it tells nobody that this one was right.
        """
        right = super().validate_user(username, password, client, request, *args, **more)
        return bool(right) and not is_on(request.user)

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
