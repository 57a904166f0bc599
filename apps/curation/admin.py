"""Staff pages that list all collections, and delete those that break the rules."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import OwnedRows
from apps.curation.actions import take_down
from apps.curation.models import Collection, ReportedCollection
from apps.events.admin import StaffList


@admin.register(Collection)
class CollectionAdmin(OwnedRows):
    list_display = ("id", "owner_link", "name", "description", "is_discoverable", "created_at")
    list_filter = ("is_discoverable",)
    actions = ("delete_collections",)

    @admin.action(description=gettext_lazy("Delete"), permissions=["intervene"])
    def delete_collections(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        rows = self.chosen(request, queryset)
        self.log_each(request, rows, _("Deleted."))
        for row in rows:
            take_down(row)
        text = ngettext(
            "%(count)d collection deleted.", "%(count)d collections deleted.", len(rows)
        )
        self.message_user(request, text % {"count": len(rows)})


@admin.register(ReportedCollection)
class ReportedCollectionAdmin(StaffList):
    list_display = ("id", "report", "name", "description", "collection_id")
    list_select_related = ("report",)
    list_display_links = None
    ordering = ("-id",)
