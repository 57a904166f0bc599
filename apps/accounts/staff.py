"""What members of staff may do to others, asked here by pages, API and admin alike; and the record of what they did."""

from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Model
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotAllowed

CHANGE_USERS = "accounts.change_user"


def is_permitted(by: User, permission: str) -> bool:
    """Whether somebody is staff and has a permission of the admin, such as "posts.delete_post"."""
    return by.is_staff and by.has_perm(permission)


def require_permission(by: User, permission: str, *, over: User | None = None) -> None:
    """NotAllowed for who is not permitted to do this, and for all but superusers when it is done to one of them."""
    outranked = over is not None and over.is_superuser and not by.is_superuser
    if outranked or not is_permitted(by, permission):
        raise NotAllowed(_("You may not do this."))


def log_action(by: User, target: Model, what: str) -> None:
    """Note in the admin's history what a member of staff did to something; in the caller's transaction, if it has one."""
    LogEntry.objects.log_actions(by.pk, [target], CHANGE, what, single_object=True)
