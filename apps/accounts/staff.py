"""Staff permissions, for pages, the API and the admin alike, and the log of staff actions."""

from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Model
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotAllowed

CHANGE_USERS = "accounts.change_user"


def is_permitted(by: User, permission: str) -> bool:
    """Whether somebody is staff and has an admin permission, such as "posts.delete_post"."""
    return by.is_staff and by.has_perm(permission)


def require_permission(by: User, permission: str, *, over: User | None = None) -> None:
    """Raise NotAllowed if `by` lacks the permission. Only superusers may act on a superuser (`over`)."""
    outranked = over is not None and over.is_superuser and not by.is_superuser
    if outranked or not is_permitted(by, permission):
        raise NotAllowed(_("You do not have permission to do this."))


def log_action(by: User, target: Model, message: str) -> None:
    """Add an entry to the admin's history."""
    LogEntry.objects.log_actions(by.pk, [target], CHANGE, message, single_object=True)
