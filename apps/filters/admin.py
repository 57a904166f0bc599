"""Staff see that an account has filters and where they act, to answer "where is my post?"; not what they look for."""

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from apps.accounts.admin import SearchedByAccount, user_link
from apps.filters.models import Filter


@admin.register(Filter)
class FilterAdmin(SearchedByAccount):
    """Filters, the youngest first."""

    list_display = ("id", "owner_link", "places", "act", "expires_at", "created_at")
    list_display_links = None
    list_select_related = ("owner",)
    searched = "owner"
    search_fields = ("=owner__handle",)
    search_help_text = gettext_lazy("The whole handle of the owner.")
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("account"))
    def owner_link(self, row: Filter) -> SafeString:
        """Whose it is."""
        return user_link(row.owner)
