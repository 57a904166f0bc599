"""Authenticates by handle or e-mail address, and password."""

import re
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db.models import Q
from django.http import HttpRequest

from apps.accounts.models import User
from apps.accounts.queries import active_viewer

_AT = re.compile(r"^[@\s]+")


def login_name(typed: str) -> str:
    """The stored form of a handle or e-mail address that somebody typed.

    Use the result both to count a guess and to `authenticate`; otherwise "@Alice" and "alice" would be counted
    separately. The backend expects this form.
    """
    return _AT.sub("", typed).strip().lower()


def closed_account_of(request: HttpRequest) -> User | None:
    """The frozen or suspended account whose correct password was refused in this request; None if there is none."""
    return getattr(request, "closed_account", None)


class HandleOrEmailBackend(ModelBackend):
    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **_kw: Any,
    ) -> User | None:
        """Check a password. `username` is a `login_name`. Unknown names are refused as slowly as wrong passwords."""
        named = Q(handle=username) | Q(email=username)
        user = User.objects.filter(named).first() if username else None
        if user is None:
            User().set_password(password or "")
            return None
        if not user.check_password(password or ""):
            return None
        if self.user_can_authenticate(user):
            return user
        if request is not None:
            request.closed_account = user  # type: ignore[attr-defined]  # for `closed_account_of`
        return None

    def get_user(self, user_id: int) -> User | None:
        """The account with its counts; None if it is suspended or inactive."""
        return active_viewer(user_id)
