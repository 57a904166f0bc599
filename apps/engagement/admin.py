"""The staff page that lists and removes likes. Bookmarks are private, so no page lists them."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import user_link
from apps.engagement.actions import unlike_post
from apps.engagement.models import Like
from apps.events.admin import StaffList
from apps.posts.admin import post_link, search_by_post_or_account


@admin.register(Like)
class LikeAdmin(StaffList):
    list_display = ("id", "user_link", "post_link", "created_at")
    list_display_links = None
    list_select_related = ("user",)
    search_fields = ("=user__handle",)
    search_help_text = gettext_lazy("The full handle of an account, or the number of a post.")
    ordering = ("-id",)
    actions = ("remove",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return search_by_post_or_account(queryset, search_term, account="user"), False

    @admin.display(description=gettext_lazy("account"))
    def user_link(self, like: Like) -> SafeString:
        return user_link(like.user)

    @admin.display(description=gettext_lazy("post"))
    def post_link(self, like: Like) -> SafeString | str:
        return post_link(like.post_id)

    @admin.action(description=gettext_lazy("Remove"), permissions=["discard"])
    def remove(self, request: HttpRequest, queryset: QuerySet[Like]) -> TemplateResponse | None:
        """Remove likes, after a confirmation."""
        likes = self.chosen(request, queryset.select_related("user"))
        question = ngettext("Remove %(count)d like?", "Remove %(count)d likes?", len(likes)) % {
            "count": len(likes)
        }
        if likes and (page := self.confirmation(request, likes, question=question)):
            return page
        done = self.attempt(
            request, likes, lambda like: unlike_post(like.user, like.post_id), note=_("Removed.")
        )
        text = ngettext("%(count)d like removed.", "%(count)d likes removed.", done)
        self.message_user(request, text % {"count": done})
        return None
