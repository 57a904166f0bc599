"""Members of staff, and their actions in the admin."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client

from apps.accounts.models import User
from tests.support.factories import log_in, make_user

MAX_QUERIES = 13  # of a page; one of them reads the session, unless the process has it cached


def make_staff(*permissions: str, superuser: bool = False, handle: str = "") -> User:
    """A member of staff with these permissions, such as "posts.delete_post", or a superuser with all."""
    user = make_user(handle)
    user.is_staff, user.is_superuser = True, superuser
    user.save(update_fields=["is_staff", "is_superuser"])
    for permission in permissions:
        app, codename = permission.split(".")
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label=app, codename=codename)
        )
    return user


def browser_of(user: User) -> Client:
    """A browser in which a user is logged in."""
    browser = Client()
    log_in(browser, user)
    return browser


def choose(browser: Client, path: str, action: str, rows: Iterable[Model], **fields: str) -> Any:
    """Select rows of an admin list and run an action. Returns the resulting page."""
    data = {"action": action, "_selected_action": [row.pk for row in rows], **fields}
    return browser.post(path, data, follow=True)


def confirm(browser: Client, path: str, action: str, rows: Iterable[Model], **fields: str) -> Any:
    """Like `choose`, with the action confirmed."""
    return choose(browser, path, action, rows, confirmed="yes", **fields)
