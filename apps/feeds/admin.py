"""The staff page that lists feeds, to answer reports about public ones. It does not show their rules."""

from django.contrib import admin

from apps.accounts.admin import OwnedRows
from apps.feeds.models import Feed


@admin.register(Feed)
class FeedAdmin(OwnedRows):
    list_display = ("id", "owner_link", "name", "is_public", "is_pinned", "created_at")
    list_filter = ("is_public",)
