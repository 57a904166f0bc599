"""The staff page for accounts' filters and where they apply, to answer "where is my post?". Keywords are not shown."""

from django.contrib import admin

from apps.accounts.admin import OwnedRows
from apps.filters.models import Filter


@admin.register(Filter)
class FilterAdmin(OwnedRows):
    list_display = ("id", "owner_link", "places", "act", "expires_at", "created_at")
