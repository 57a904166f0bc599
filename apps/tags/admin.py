"""Staff pages for tags and the counts of their uses. No page lists the followers of a tag, because they are private."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from apps.events.admin import StaffList
from apps.tags.models import Tag, TagDay
from apps.tags.names import normalize


class NamedAdmin(StaffList):
    """Base class of lists of tags and of their counts, searched by the tag's whole name."""

    tag_name = "name"  # the field with the name of the tag
    search_fields = ("=name",)
    search_help_text = gettext_lazy("The full name of a tag.")
    list_display_links = None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by the whole name, in any spelling that normalizes to it."""
        term = search_term.strip()
        return (
            queryset.filter(**{self.tag_name: normalize(term) or ""}) if term else queryset
        ), False


@admin.register(Tag)
class TagAdmin(NamedAdmin):
    list_display = ("id", "link", "created_at")
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("tag"))
    def link(self, tag: Tag) -> SafeString:
        return format_html('<a href="{}">{}</a>', tag.url, str(tag))


@admin.register(TagDay)
class TagDayAdmin(NamedAdmin):
    tag_name = "tag__name"
    list_display = ("day", "tag", "accounts", "uses")
    list_select_related = ("tag",)
    ordering = ("-day", "-accounts", "-uses")
