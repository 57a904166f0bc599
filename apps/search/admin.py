"""Staff see trending posts and the progress of the index; tasks maintain both."""

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from apps.events.admin import StaffList
from apps.posts.admin import post_link
from apps.search.models import IndexWalk, TrendingPost


@admin.register(TrendingPost)
class TrendingPostAdmin(StaffList):
    list_display = ("post_link", "score")
    list_display_links = None
    ordering = ("-score", "-post_id")

    @admin.display(description=gettext_lazy("post"))
    def post_link(self, row: TrendingPost) -> SafeString | str:
        return post_link(row.post_id)


@admin.register(IndexWalk)
class IndexWalkAdmin(StaffList):
    list_display = ("kind", "version", "after", "finished_at")
    list_display_links = None
    ordering = ("id",)
