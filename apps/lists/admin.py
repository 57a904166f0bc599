"""Staff see which lists an account has, to answer why something is not on its home page; not who is in them."""

from django.contrib import admin

from apps.accounts.admin import OwnedRows
from apps.lists.models import UserList


@admin.register(UserList)
class UserListAdmin(OwnedRows):
    """Lists, the youngest first."""

    list_display = ("id", "owner_link", "title", "replies_policy", "is_exclusive", "created_at")
