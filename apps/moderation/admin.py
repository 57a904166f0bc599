"""Staff review reports, resolve or reopen them, and suspend reported accounts."""

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import SearchedByAccount, staff_of, user_link
from apps.accounts.models import User
from apps.events.admin import reason_of
from apps.moderation.actions import reopen_report, resolve_report, take_once
from apps.moderation.models import Measure, Report
from apps.timeline.admin.posts import EXCERPT_CHARACTERS


class OpenFilter(admin.SimpleListFilter):
    """Open or resolved reports."""

    title = gettext_lazy("resolved")
    parameter_name = "resolved"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", gettext_lazy("Yes")), ("no", gettext_lazy("No"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in {"yes", "no"}:
            return queryset.filter(resolved_at__isnull=self.value() == "no")
        return queryset


@admin.register(Report)
class ReportAdmin(SearchedByAccount):
    """The list of reports. `apps.strikes` adds a queue, and a page for each report with what staff need to decide."""

    list_display = (
        "id", "target_link", "category", "excerpt", "reporter_link", "created_at", "assignee", "resolved_at", "outcome",
    )  # fmt: skip
    list_select_related = ("target", "reporter", "assignee")
    list_filter = (OpenFilter, "category")
    searched = "target"
    search_fields = ("=target__handle",)
    search_help_text = gettext_lazy("The full handle of the reported account.")
    ordering = ("-id",)
    actions = ("resolve", "reopen", "suspend")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Report]:
        """Leave out reports about the viewing member of staff, who would otherwise see who filed them."""
        return super().get_queryset(request).exclude(target=staff_of(request))

    @admin.display(description=gettext_lazy("account"))
    def target_link(self, report: Report) -> SafeString:
        return user_link(report.target)

    @admin.display(description=gettext_lazy("by"))
    def reporter_link(self, report: Report) -> SafeString:
        return user_link(report.reporter)

    @admin.display(description=gettext_lazy("comment"))
    def excerpt(self, report: Report) -> str:
        return Truncator(report.comment).chars(EXCERPT_CHARACTERS)

    def line(self, row: Report) -> str:
        return f"{row.target}: {row.get_category_display()}"

    @transaction.atomic
    def _suspend(self, report: Report, by: User, reason: str) -> None:
        resolve_report(report, by=by, outcome=reason)
        take_once(Measure.SUSPEND, report.target, by=by, reason=reason, report=report)

    @admin.action(description=gettext_lazy("Resolve"), permissions=["intervene"])
    def resolve(self, request: HttpRequest, queryset: QuerySet[Any]) -> TemplateResponse | None:
        """Resolve reports, after asking for the outcome."""
        rows = self.chosen(request, queryset)
        question = ngettext("Resolve %(count)d report?", "Resolve %(count)d reports?", len(rows))
        text = question % {"count": len(rows)}
        if rows and (page := self.confirmation(request, rows, question=text, ask_reason=True)):
            return page
        by, outcome = staff_of(request), reason_of(request)

        def act(report: Report) -> None:
            resolve_report(report, by=by, outcome=outcome)

        self._say(request, self.attempt(request, rows, act))
        return None

    @admin.action(description=gettext_lazy("Reopen"), permissions=["intervene"])
    def reopen(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        by = staff_of(request)

        def act(report: Report) -> None:
            reopen_report(report, by=by)

        rows = self.chosen(request, queryset.filter(resolved_at__isnull=False))
        self._say(request, self.attempt(request, rows, act))

    @admin.action(description=gettext_lazy("Suspend the account"), permissions=["suspend"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[Any]) -> TemplateResponse | None:
        """Suspend the reported accounts and resolve the reports, after asking for the reason."""
        rows = self.chosen(request, queryset)
        question = ngettext("Suspend %(count)d account?", "Suspend %(count)d accounts?", len(rows))
        text = question % {"count": len(rows)}
        if rows and (page := self.confirmation(request, rows, question=text, ask_reason=True)):
            return page
        by, reason = staff_of(request), reason_of(request)

        def act(report: Report) -> None:
            self._suspend(report, by, reason)

        self._say(request, self.attempt(request, rows, act))
        return None

    def has_suspend_permission(self, request: HttpRequest) -> bool:
        """Suspending also needs the permission to change accounts, as on the accounts page."""
        return self.has_intervene_permission(request) and request.user.has_perm(
            "accounts.change_user"
        )

    def _say(self, request: HttpRequest, number: int) -> None:
        text = ngettext("%(count)d report changed.", "%(count)d reports changed.", number)
        self.message_user(request, text % {"count": number})
