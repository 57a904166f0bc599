"""Records the logins of users, lists them on the settings page, and ends them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.authentication.session_store import SessionStore
from apps.accounts.models import Login, User
from apps.sql import purge

SEPARATOR = ", "  # between browser and system
MAX_SHOWN = 50
# The first match wins, because a user agent also contains the names of other browsers and systems.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True)
class LivingSession:
    """A login whose session has not ended; `is_current` marks the session of the request."""

    login: Login
    is_current: bool

    @property
    def device(self) -> str:
        return named_device(self.login.device)


def remember_login(request: HttpRequest, user: User) -> None:
    """Store a new login, and delete the user's old logins whose sessions have ended."""
    now = timezone.now()
    oldest = now - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    living = Session.objects.filter(session_key=OuterRef("session_key"), expire_date__gt=now)
    Login.objects.filter(~Exists(living), user=user, created_at__lt=oldest).delete()
    Login.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={"user": user, "device": device_of(request.headers.get("User-Agent", ""))},
    )


def follow_session(old_key: str, new_key: str) -> None:
    """Store the new key of a session in its login."""
    Login.objects.filter(session_key=old_key).update(session_key=new_key)


def sessions_of(user: User, *, current_key: str | None) -> list[LivingSession]:
    """The logins among the newest 50 whose sessions have not ended, in two queries."""
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
    """End one of a user's own sessions immediately. Ids of other users' logins are ignored."""
    login = Login.objects.filter(pk=login_id, user=user).first()
    if login is not None:
        login.delete()
        session_with(login.session_key).delete()


def end_sessions(user_id: int) -> None:
    """End all sessions of a user, in the caller's transaction.

    To keep a session, the caller must afterwards give it a new key and call `remember_login`.
    """
    logins = Login.objects.filter(user=user_id)
    keys = list(logins.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    logins.delete()


def purge_sessions() -> int:
    """Delete expired sessions and return their number."""
    return purge(Session.objects.filter(expire_date__lt=timezone.now()).order_by("expire_date"))


def forget_login(request: HttpRequest, user: User) -> None:
    """Delete the login of the session that is being ended."""
    Login.objects.filter(user=user, session_key=request.session.session_key).delete()


def session_with(key: str | None) -> SessionStore:
    """A store for the session with this key, which may have ended; for None, a new session."""
    return SessionStore(key)


def user_of_session(key: str) -> User | None:
    """The user who is logged in with a session; None if it has ended or belongs to nobody."""
    request = HttpRequest()
    request.session = session_with(key)
    user = user_of_request(request)
    return user if isinstance(user, User) else None


def user_of_request(request: HttpRequest) -> User | AnonymousUser:
    """The user of the request's session, without SQL if this process has cached the session.

    A session created under a SECRET_KEY that is now in SECRET_KEY_FALLBACKS gets a new session key, which is also
    stored in its login.
    """
    session = cast("SessionStore", request.session)
    if (user := session.remembered_user()) is not None:
        return user
    old_key = session.session_key
    found = get_user(request)
    if isinstance(found, User):
        session.remember(found)
    new_key = session.session_key
    if old_key and new_key and old_key != new_key:
        follow_session(old_key, new_key)
    return found


def device_of(user_agent: str) -> str:
    """The browser and operating system that a user agent names, untranslated. Nothing else of it is stored."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return SEPARATOR.join(filter(None, (browser, system)))


def named_device(device: str) -> str:
    """Describe a stored device in the language of the page."""
    browser, separator, system = device.partition(SEPARATOR)
    if separator:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return device or _("An unknown device")
