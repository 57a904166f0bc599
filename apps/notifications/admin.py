"""Staff pages for notifications, to answer "why did I get this?", and for announcements."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from apps.accounts.admin import SearchedByAccount, user_link
from apps.events.admin import StaffList
from apps.notifications.models import Announcement, Notification
from apps.posts.admin import post_link


@admin.register(Notification)
class NotificationAdmin(SearchedByAccount):
    list_display = ("id", "user_link", "kind", "actor_link", "post_link", "created_at")
    list_display_links = None
    list_select_related = ("user", "actor")
    list_filter = ("kind",)
    searched = "user"
    search_fields = ("=user__handle",)
    search_help_text = gettext_lazy("The full handle of the account that was notified.")
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("account"))
    def user_link(self, notification: Notification) -> SafeString:
        return user_link(notification.user)

    @admin.display(description=gettext_lazy("by"))
    def actor_link(self, notification: Notification) -> SafeString:
        return user_link(notification.actor)

    @admin.display(description=gettext_lazy("post"))
    def post_link(self, notification: Notification) -> SafeString | str:
        return post_link(notification.post_id)


@admin.register(Announcement)
class AnnouncementAdmin(StaffList):
    """Announcements can be written, corrected and ended; an ended one stays as a record."""

    list_display = ("id", "text", "published_at", "starts_at", "ends_at", "updated_at")
    fields = ("text", "published_at", "starts_at", "ends_at", "is_all_day")
    ordering = ("-id",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("notifications.add_announcement")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("notifications.change_announcement")
