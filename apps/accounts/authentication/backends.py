"""Authenticates by handle or e-mail address, and password."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db.models import Q
from django.http import HttpRequest

from apps.accounts.models import User
from apps.accounts.queries import user_of_session


class HandleOrEmailBackend(ModelBackend):
    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **_kw: Any,
    ) -> User | None:
        """Takes equally long whether the name exists or not."""
        name = (username or "").strip().removeprefix("@").lower()
        user = User.objects.filter(Q(handle=name) | Q(email=name)).first() if name else None
        if user is None:
            User().set_password(password or "")
            return None
        is_right = user.check_password(password or "")
        return user if is_right and self.user_can_authenticate(user) else None

    def get_user(self, user_id: int) -> User | None:
        """With its counts; None once it is suspended."""
        return user_of_session(user_id)
