"""Staff pages that list all collections, and delete those that break the rules."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import OwnedRows, staff_of
from apps.curation.actions import take_down
from apps.curation.models import Collection, ReportedCollection
from apps.events.admin import StaffList


@admin.register(Collection)
class CollectionAdmin(OwnedRows):
    list_display = ("id", "owner_link", "name", "description", "is_discoverable", "created_at")
    list_filter = ("is_discoverable",)
    actions = ("delete_collections",)

    @admin.action(description=gettext_lazy("Delete"), permissions=["intervene"])
    def delete_collections(
        self, request: HttpRequest, queryset: QuerySet[Collection]
    ) -> TemplateResponse | None:
        rows = self.chosen(request, queryset)
        text = ngettext("Delete %(count)d collection?", "Delete %(count)d collections?", len(rows))
        question = text % {"count": len(rows)}
        if rows and (page := self.confirmation(request, rows, question=question)):
            return page
        by = staff_of(request)
        done = self.attempt(request, rows, lambda row: take_down(row, by=by))
        text = ngettext("%(count)d collection deleted.", "%(count)d collections deleted.", done)
        self.message_user(request, text % {"count": done})
        return None


@admin.register(ReportedCollection)
class ReportedCollectionAdmin(StaffList):
    list_display = ("id", "report", "name", "description", "collection_id")
    list_select_related = ("report",)
    list_display_links = None
    ordering = ("-id",)
