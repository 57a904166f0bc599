"""Where a user is logged in: each login is remembered, shown on the settings page, and can be ended from there."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib import import_module

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Login, User
from apps.events.live import announce

MAX_SHOWN = 50
# The first that fits: browsers claim to be their rivals, and tablets to be computers.
_BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Safari", "Safari"))  # fmt: skip
_SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"),
            ("Linux", "Linux"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class LivingSession:
    """A login whose session still lives; `is_current` is the one that asks."""

    login: Login
    is_current: bool


def remember_login(request: HttpRequest, user: User) -> None:
    """Remember a login that has just happened, and forget those of the user that have run out."""
    oldest = timezone.now() - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    Login.objects.filter(user=user, created_at__lt=oldest).delete()
    Login.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={"user": user, "device": device_of(request.headers.get("User-Agent", ""))},
    )


def follow_session(old_key: str, new_key: str) -> None:
    """A session goes on under another key: the login is found under it from now on."""
    Login.objects.filter(session_key=old_key).update(session_key=new_key)


def sessions_of(user: User, *, current_key: str | None) -> list[LivingSession]:
    """The newest 50 logins of a user that still live, in two queries."""
    logins = list(Login.objects.filter(user=user).order_by("-pk")[:MAX_SHOWN])
    alive = Session.objects.filter(
        session_key__in=[login.session_key for login in logins], expire_date__gt=timezone.now()
    ).values_list("session_key", flat=True)
    living = set(alive)
    return [
        LivingSession(login, login.session_key == current_key)
        for login in logins
        if login.session_key in living
    ]


def end_session(user: User, login_id: int) -> None:
    """Log a user out elsewhere, with the next request from there; nothing happens when the login is somebody else's."""
    login = Login.objects.filter(pk=login_id, user=user).first()
    if login is not None:
        login.delete()
        _delete_session(login.session_key)
        announce("tokens_ended", user_id=user.pk)


def end_sessions(user_id: int) -> None:
    """Log a user out everywhere, in the caller's transaction. A session that its holder goes on with has to be remembered again."""
    logins = Login.objects.filter(user=user_id)
    keys = list(logins.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    logins.delete()
    for key in keys:  # what is cached goes after the rows, from which it could be cached again
        transaction.on_commit(partial(_delete_session, key), robust=True)


def forget_login(request: HttpRequest, user: User) -> None:
    """Take a login off the list while its session ends; the streams that its page opened end with it."""
    Login.objects.filter(user=user, session_key=request.session.session_key).delete()
    announce("tokens_ended", user_id=user.pk)


def _delete_session(key: str) -> None:
    import_module(settings.SESSION_ENGINE).SessionStore(key).delete()


def device_of(user_agent: str) -> str:
    """A browser and a system in a few words; more of what a browser says of itself is not kept."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("An unknown device")
