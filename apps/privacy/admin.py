"""Shows the progress of archives, imports and erasures in the admin, and retries failed ones."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.events.admin import StaffList
from apps.events.leases import State, revive_dead
from apps.privacy.models import Erasure, Export, Import


class WorkList(StaffList):
    list_select_related = ("user",)
    list_filter = ("state",)
    list_display_links = None
    ordering = ("-id",)
    actions = ("try_again",)

    @admin.action(description=gettext_lazy("Try dead letters again"), permissions=["intervene"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Give work that was given up (dead letters) five more attempts; a sweep enqueues it."""
        rows = self.chosen(request, queryset.filter(state=State.DEAD))
        count = len(revive_dead(self.model, pk__in=[row.pk for row in rows]))
        self.log_each(request, rows, _("Retried."))
        text = ngettext("%(count)d will be retried.", "%(count)d will be retried.", count)
        messages.success(request, text % {"count": count})


@admin.register(Export)
class ExportAdmin(WorkList):
    """Shows progress only: staff cannot download archives."""

    list_display = (
        "id", "user", "state", "done", "total", "size", "attempts", "last_error", "created_at", "expires_at",
    )  # fmt: skip


@admin.register(Import)
class ImportAdmin(WorkList):
    """Shows progress only: staff cannot see which accounts a file names."""

    list_display = (
        "id", "user", "kind", "is_undone", "state", "attempts", "last_error", "created_at", "finished_at",
    )  # fmt: skip


@admin.register(Erasure)
class ErasureAdmin(WorkList):
    list_display = (
        "id", "user", "state", "removed", "attempts", "last_error", "created_at", "finished_at",
    )  # fmt: skip
