"""Staff pages that list the fetched pages; staff can fetch their previews again or erase them."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.events.admin import StaffList
from apps.previews import actions
from apps.previews.models import Preview


@admin.register(Preview)
class PreviewAdmin(StaffList):
    list_display = ("address", "title", "state", "refusal", "last_error", "attempts", "finished_at")
    list_filter = ("state",)
    search_fields = ("=address",)
    search_help_text = gettext_lazy("The whole address.")
    ordering = ("-id",)
    actions = ("fetch_again", "erase")

    @admin.action(description=gettext_lazy("Fetch again"), permissions=["intervene"])
    def fetch_again(self, request: HttpRequest, queryset: QuerySet[Preview]) -> None:
        rows = self.chosen(request, queryset)
        number = actions.fetch_again([row.pk for row in rows])
        self.log_each(request, rows, _("Fetched again."))
        text = ngettext(
            "%(count)d page will be fetched again.",
            "%(count)d pages will be fetched again.",
            number,
        )
        self.message_user(request, text % {"count": number})

    @admin.action(description=gettext_lazy("Erase"), permissions=["discard"])
    def erase(self, request: HttpRequest, queryset: QuerySet[Preview]) -> TemplateResponse | None:
        rows = self.chosen(request, queryset)
        question = ngettext(
            "Erase %(count)d link preview? Posts will no longer show it.",
            "Erase %(count)d link previews? Posts will no longer show them.",
            len(rows),
        ) % {"count": len(rows)}
        if rows and (page := self.confirmation(request, rows, question=question)):
            return page
        self.log_each(request, rows, _("Erased."))
        number = actions.erase([row.pk for row in rows])
        text = ngettext("%(count)d link preview erased.", "%(count)d link previews erased.", number)
        self.message_user(request, text % {"count": number})
        return None
