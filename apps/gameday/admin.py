"""Staff pages: past game days with their report cards, and a button that starts one with a random fault."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.errors import DomainError, NotAllowed, NotFound
from apps.events.admin import StaffList, number_in
from apps.gameday.actions import request as request_game_day
from apps.gameday.alerts import alerts
from apps.gameday.cards import WHO, lines
from apps.gameday.faults import by_lot, faults
from apps.gameday.models import Run
from apps.gameday.staging import is_staging

LIST = "admin:gameday_run_changelist"


@admin.register(Run)
class RunAdmin(StaffList):
    list_display = ("id", "fault_text", "seconds", "made_by", "created_at", "result")
    list_display_links = ("id", "fault_text")
    ordering = ("-id",)
    change_list_template = "admin/gameday/runs.html"

    @admin.display(description=gettext_lazy("fault"))
    def fault_text(self, row: Run) -> str:
        return _text_of(row)

    @admin.display(description=gettext_lazy("result"))
    def result(self, row: Run) -> str:
        if row.card:
            return _("as expected") if row.card["passed"] else _("not as expected")
        return _("broken off") if row.ended_at else _("in progress")

    def get_urls(self) -> list[URLPattern]:
        page = self.admin_site.admin_view(self.start_page)
        return [path("start/", page, name="gameday_start"), *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        may_start = {"may_start": self._may(request, "add"), "is_staging": is_staging()}
        return super().changelist_view(request, {**may_start, **(extra_context or {})})

    def start_page(self, request: HttpRequest) -> HttpResponse:
        """What a game day does to this site, and the button that starts one."""
        if not self._may(request, "add"):
            raise NotAllowed(_("You do not have permission to do this."))
        refusal = ""
        if request.method == "POST":
            try:
                row = request_game_day(by_lot(), by=request.user.get_username())
            except DomainError as error:
                refusal = error.message
            else:
                text = _("Started a game day: %(fault)s.") % {"fault": _text_of(row)}
                self.log_change(request, row, text)
                return HttpResponseRedirect(reverse("admin:gameday_run_change", args=[row.pk]))
        context = {
            **self.page_context(request, _("Start a game day")),
            "refusal": refusal,
            "is_staging": is_staging(),
            "site_url": settings.SITE_URL,
            "faults": [
                (fault, alerts()[fault.alert], [WHO[who] for who in WHO if who in fault.may_fail])
                for fault in faults().values()
                if not fault.why_not()
            ],
        }
        status = 409 if refusal else 200
        return TemplateResponse(request, "admin/gameday/start.html", context, status=status)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """A report card."""
        del form_url, extra_context
        self.require_view(request)
        row = Run.objects.filter(pk=number_in(object_id)).first()
        if row is None:
            raise NotFound(_("There is no such game day."))
        context = {
            **self.page_context(request, _text_of(row)),
            "row": row,
            "card": row.card,
            "lines": lines(row.card) if row.card else [],
            "requests": [(text, row.card["requests"][who]) for who, text in WHO.items()] if row.card else [],
        }  # fmt: skip
        return TemplateResponse(request, "admin/gameday/card.html", context)


def _text_of(row: Run) -> str:
    """What the fault of a run does; only its name if this release no longer has the fault."""
    fault = faults().get(row.fault)
    return str(fault.text) if fault else row.fault
