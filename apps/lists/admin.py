"""Staff see which lists an account has, to answer why something is not on its home page; not who is in them."""

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from apps.accounts.admin import SearchedByAccount, user_link
from apps.lists.models import UserList


@admin.register(UserList)
class UserListAdmin(SearchedByAccount):
    """Lists, the youngest first."""

    list_display = ("id", "owner_link", "title", "replies_policy", "is_exclusive", "created_at")
    list_display_links = None
    list_select_related = ("owner",)
    searched = "owner"
    search_fields = ("=owner__handle",)
    search_help_text = gettext_lazy("The whole handle of the owner.")
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("account"))
    def owner_link(self, row: UserList) -> SafeString:
        """Whose it is."""
        return user_link(row.owner)
