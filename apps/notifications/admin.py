"""Staff see what people were told, to answer "why did I get this?"; there is nothing to change."""

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from apps.accounts.admin import SearchedByAccount, user_link
from apps.notifications.models import Notification
from apps.posts.admin import post_link


@admin.register(Notification)
class NotificationAdmin(SearchedByAccount):
    """Notifications, newest first."""

    list_display = ("id", "user_link", "kind", "actor_link", "post_link", "created_at")
    list_display_links = None
    list_select_related = ("user", "actor")
    list_filter = ("kind",)
    searched = "user"
    search_fields = ("=user__handle",)
    search_help_text = gettext_lazy("The whole handle of the account that was told.")
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("account"))
    def user_link(self, notification: Notification) -> SafeString:
        """Who was told."""
        return user_link(notification.user)

    @admin.display(description=gettext_lazy("by"))
    def actor_link(self, notification: Notification) -> SafeString:
        """Who did it."""
        return user_link(notification.actor)

    @admin.display(description=gettext_lazy("post"))
    def post_link(self, notification: Notification) -> SafeString | str:
        """The post to look at."""
        return post_link(notification.post_id)
