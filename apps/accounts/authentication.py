"""Who is asking: by handle or e-mail and password, or by bearer token."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.models import User
from apps.accounts.queries import user_of_token

TOKEN_MAX_CHARACTERS = 200


class HandleOrEmailBackend(ModelBackend):
    """Log in with the handle or the e-mail address."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **_kw: Any,
    ) -> User | None:
        """The account, or None; takes equally long whether the name exists or not."""
        name = (username or "").strip().removeprefix("@").lower()
        user = User.objects.filter(Q(handle=name) | Q(email=name)).first() if name else None
        if user is None:
            User().set_password(password or "")
            return None
        return (
            user
            if user.check_password(password or "") and self.user_can_authenticate(user)
            else None
        )

    def get_user(self, user_id: int) -> User | None:
        """The account of a session, with its counts; None once it is suspended."""
        return (
            User.objects.filter(pk=user_id, is_active=True, suspended_at=None)
            .select_related("counts")
            .first()
        )


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`."""

    def authenticate(self, request: Request) -> tuple[User, str] | None:
        """The account of the token; None without the header, AuthenticationFailed for a bad token."""
        scheme, _blank, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        user = user_of_token(token) if 0 < len(token) <= TOKEN_MAX_CHARACTERS else None
        if user is None:
            raise AuthenticationFailed(_("The access token is invalid."))
        return user, token

    def authenticate_header(self, request: Request) -> str:
        """What a 401 says."""
        return 'Bearer realm="api"'
