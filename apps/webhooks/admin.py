"""Staff see which servers get messages, and can switch webhooks off. They see neither secrets nor messages."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import OwnedRows
from apps.webhooks.actions import staff_switch
from apps.webhooks.models import Endpoint


@admin.register(Endpoint)
class EndpointAdmin(OwnedRows):
    list_display = ("id", "owner_link", "address", "kinds", "off", "failing_since", "created_at")
    list_filter = ("off",)
    actions = ("switch_off", "switch_on")

    @admin.action(description=gettext_lazy("Switch off"), permissions=["intervene"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        rows = self.chosen(request, queryset)
        for row in rows:
            staff_switch(row, is_on=False)
        self.log_each(request, rows, _("Switched off."))
        text = ngettext(
            "%(count)d webhook switched off.", "%(count)d webhooks switched off.", len(rows)
        )
        self.message_user(request, text % {"count": len(rows)})

    @admin.action(description=gettext_lazy("Switch on"), permissions=["intervene"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        rows = self.chosen(request, queryset)
        for row in rows:
            staff_switch(row, is_on=True)
        self.log_each(request, rows, _("Switched on."))
        text = ngettext(
            "%(count)d webhook switched on.", "%(count)d webhooks switched on.", len(rows)
        )
        self.message_user(request, text % {"count": len(rows)})
