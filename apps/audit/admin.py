"""Staff pages for the auditor's runs (with a trend) and findings."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, Sum
from django.db.models.functions import TruncHour
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from apps.accounts.admin import user_link
from apps.accounts.models import User
from apps.accounts.queries import handles_of
from apps.audit.models import FIGURES, AuditFinding, AuditRun, accounts_of, finding_text
from apps.events.admin import StaffList
from apps.posts.admin import post_link

TREND_HOURS = 24


class FindingInline(admin.TabularInline):
    model = AuditFinding
    template = "admin/rows.html"
    extra = 0
    can_delete = False
    fields = readonly_fields = ("kind", "in_words", "times", "repaired_at")

    @admin.display(description=gettext_lazy("in plain words"))
    def in_words(self, finding: AuditFinding) -> str:
        return finding_text(finding, finding.handles)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(AuditRun)
class AuditRunAdmin(StaffList):
    """The list of runs, newest first, below the hourly sums of the last 24 hours."""

    list_display = fields = readonly_fields = ("started_at", *FIGURES, "seconds")
    ordering = ("-started_at",)
    inlines = (FindingInline,)
    change_list_template = "admin/audit_runs.html"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "trend": trend()})


def trend() -> list[Any]:
    """The sums for each hour, newest first, of the runs of the last 24 hours. Hours without runs are left out."""
    recent = AuditRun.objects.filter(started_at__gt=timezone.now() - timedelta(hours=TREND_HOURS))
    hours = recent.annotate(hour=TruncHour("started_at")).order_by("-hour").values("hour")
    sums = {
        name: Sum(name)
        for name in ("pages", "windows", "late", "settled", "violations", "repaired")
    }
    return list(hours.annotate(runs=Count("pk"), **sums))


class FindingList(ChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        handles = handles_of(accounts_of(self.result_list))
        for finding in self.result_list:
            finding.handles = handles


@admin.register(AuditFinding)
class AuditFindingAdmin(StaffList):
    list_display = ("found_at", "kind", "in_words", "times", "repaired_at")
    list_filter = ("kind",)
    ordering = ("-pk",)
    fields = readonly_fields = (
        "found_at",
        "kind",
        "in_words",
        "viewer",
        "post",
        "details",
        "times",
        "last_found_at",
        "repaired_at",
        "run",
    )

    @admin.display(description=gettext_lazy("in plain words"))
    def in_words(self, finding: AuditFinding) -> str:
        return finding_text(finding, finding.handles)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return FindingList

    @admin.display(description=gettext_lazy("account"))
    def viewer(self, finding: AuditFinding) -> SafeString | str:
        user = User.objects.filter(pk=finding.viewer_id or 0).first()
        return user_link(user) if user else "-"

    @admin.display(description=gettext_lazy("post"))
    def post(self, finding: AuditFinding) -> SafeString | str:
        return post_link(finding.post_id)
