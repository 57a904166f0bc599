"""Staff see what is waiting, what failed, and can try again or discard."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from apps.events import leases
from apps.events.models import Event


@admin.register(Event)
class EventAdmin(admin.ModelAdmin):
    """The event outbox."""

    list_display = ("id", "name", "subscriber", "state", "attempts", "created_at", "finished_at")
    list_filter = ("state", "name", "subscriber")
    search_fields = ("=id",)
    show_full_result_count = False
    list_per_page = 50
    actions = ("retry",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Events are recorded by changes, never by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Event | None = None) -> bool:
        """Events are read-only; the actions below are what can be done."""
        return False

    @admin.action(description=_("Retry dead letters"), permissions=["view"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Event]) -> None:
        """Give dead letters five more tries."""
        dead = list(queryset.filter(state=leases.State.DEAD))
        for event in dead:
            leases.revive(event)
        self.message_user(
            request, _("%(count)d events will be tried again.") % {"count": len(dead)}
        )
