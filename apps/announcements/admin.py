"""Staff write announcements."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.announcements.models import Announcement
from apps.events.admin import StaffList


@admin.register(Announcement)
class AnnouncementAdmin(StaffList):
    """Announcements, newest first. They can be written, corrected and ended; an ended one stays as a record."""

    list_display = ("id", "text", "published_at", "starts_at", "ends_at", "updated_at")
    fields = ("text", "published_at", "starts_at", "ends_at", "is_all_day")
    ordering = ("-id",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Those with the permission of Django."""
        return request.user.has_perm("announcements.add_announcement")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Those with the permission of Django."""
        return request.user.has_perm("announcements.change_announcement")
