"""Staff see that an account has filters and where they act, to answer "where is my post?"; not what they look for."""

from django.contrib import admin

from apps.accounts.admin import OwnedRows
from apps.filters.models import Filter


@admin.register(Filter)
class FilterAdmin(OwnedRows):
    """Filters, the youngest first."""

    list_display = ("id", "owner_link", "places", "act", "expires_at", "created_at")
