"""The base of the staff lists of deliveries: the sums of the receipts, and the retry of dead chunks."""

from types import ModuleType
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.events.admin import StaffList
from apps.timeline.fanout import ledger


class LedgerList(StaffList):
    work: ModuleType  # where `retry_dead` is

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return ledger.with_receipts(super().get_queryset(request))

    @admin.display(description=gettext_lazy("followers"))
    def expected(self, job: Any) -> int:
        """For how many readers it is: delivered, dormant and pending together."""
        return ledger.delivery_progress(job).expected

    @admin.display(description=gettext_lazy("delivered"))
    def delivered(self, job: Any) -> int:
        return ledger.delivery_progress(job).delivered

    @admin.display(description=gettext_lazy("dormant"))
    def dormant(self, job: Any) -> int:
        """How many readers will rebuild when they return."""
        return ledger.delivery_progress(job).dormant

    @admin.display(description=gettext_lazy("pending"))
    def pending(self, job: Any) -> int:
        return ledger.delivery_progress(job).pending

    @admin.action(description=gettext_lazy("Retry dead letters"), permissions=["intervene"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        jobs = self.chosen(request, queryset)
        number = self.work.retry_dead([job.pk for job in jobs])
        self.log_each(request, jobs, _("Retried."))
        text = ngettext(
            "%(count)d chunk will be tried again.", "%(count)d chunks will be tried again.", number
        )
        self.message_user(request, text % {"count": number})
