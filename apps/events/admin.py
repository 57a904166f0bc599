"""The base class of staff pages, and the staff page that lists events and can retry and discard failed ones."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.paginator import Paginator
from django.db.models import DateTimeField, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import cached_property
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.errors import DomainError, NotAllowed
from apps.events import actions
from apps.events.leases import State
from apps.events.models import Event

PER_PAGE = 50
MAX_COUNTED = 10_000  # counting the millions of rows of some tables would take longer than the rest of the page
MAX_AT_A_TIME = 100  # the maximum number of objects that one action changes
REASON_MAX_CHARACTERS = 500

admin.site.site_header = admin.site.site_title = settings.SITE_NAME
admin.site.enable_nav_sidebar = False  # because lists need the width


class AtLeast(int):
    """The number at which counting stopped, displayed as "10000+"."""

    def __str__(self) -> str:
        return f"{int(self)}+"


class BoundedPaginator(Paginator):
    """A paginator that counts at most 10,000 rows. People search instead of paging further."""

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # the admin paginates only QuerySets
        number = rows.order_by()[: MAX_COUNTED + 1].count()
        return number if number <= MAX_COUNTED else AtLeast(MAX_COUNTED)


class MomentInput(forms.DateTimeInput):
    """The browser's own field for a date and a time, to the minute."""

    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


class StaffList(admin.ModelAdmin):
    """A list of rows with a bounded cost per page. Rows change only through the apps' actions."""

    paginator = BoundedPaginator
    list_per_page = PER_PAGE
    list_max_show_all = PER_PAGE
    show_full_result_count = False
    sortable_by: ClassVar[tuple[str, ...]] = ()
    # One field with a label, in the reader's time zone, instead of Django's two fields without labels.
    formfield_overrides: ClassVar = {
        DateTimeField: {"form_class": forms.DateTimeField, "widget": MomentInput}
    }

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False, because Django's own deletion would not update counts and timelines."""
        return False

    def has_discard_permission(self, request: HttpRequest) -> bool:
        """Permission for actions that delete: `permissions=["discard"]`."""
        return self._may(request, "delete")

    def has_intervene_permission(self, request: HttpRequest) -> bool:
        """Permission for actions that change rows: `permissions=["intervene"]`."""
        return self._may(request, "change")

    def require_view(self, request: HttpRequest) -> None:
        """Raise NotAllowed without the permission to see the rows; for staff pages other than Django's."""
        if not self.has_view_permission(request):
            raise NotAllowed(_("You do not have permission to do this."))

    def page_context(self, request: HttpRequest, title: str) -> dict[str, Any]:
        """The context that the templates of pages other than Django's need."""
        return {**self.admin_site.each_context(request), "opts": self.opts, "title": title}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Set the title to the name of the listed rows, instead of "Select event to view"."""
        title = {"title": capfirst(self.opts.verbose_name_plural)}
        return super().changelist_view(request, {**title, **(extra_context or {})})

    def chosen(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """The selected rows. If there are more than `MAX_AT_A_TIME`, shows an error message and returns none."""
        rows = list(queryset[: MAX_AT_A_TIME + 1])
        if len(rows) <= MAX_AT_A_TIME:
            return rows
        message = _("At most %(count)d at once.") % {"count": MAX_AT_A_TIME}
        self.message_user(request, message, messages.ERROR)
        return []

    def confirmation(
        self,
        request: HttpRequest,
        rows: Sequence[Model],
        *,
        question: str,
        ask_reason: bool = False,
    ) -> TemplateResponse | None:
        """The page that asks to confirm an action; None if the request confirms it (with a reason if `ask_reason`)."""
        reason = reason_of(request)
        confirmed = "confirmed" in request.POST
        if confirmed and (reason or not ask_reason):
            return None
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": question,
            "rows": [(row.pk, self.line(row)) for row in rows],
            "action": request.POST.get("action", ""),
            "checkbox": ACTION_CHECKBOX_NAME,
            "ask_reason": ask_reason,
            "reason_missing": confirmed,
            "reason_max": REASON_MAX_CHARACTERS,
        }
        return TemplateResponse(request, "admin/confirm_action.html", context)

    def line(self, row: Any) -> str:
        """The text for a row on the confirmation page."""
        return str(row)

    def attempt(
        self,
        request: HttpRequest,
        rows: Sequence[Any],
        act: Callable[[Any], object],
        *,
        note: str = "",
    ) -> int:
        """Call `act` for each row, show refusals, add the `note` to the history, and return the number of successes."""
        done = 0
        for row in rows:
            try:
                act(row)
            except DomainError as error:
                self.message_user(request, f"{row}: {error.message}", messages.ERROR)
            else:
                self.log_each(request, [row] if note else [], note)
                done += 1
        return done

    def log_each(self, request: HttpRequest, rows: Sequence[Any], note: str) -> None:
        """Add a note to the history of rows."""
        for row in rows:
            self.log_change(request, row, note)

    def _may(self, request: HttpRequest, verb: str) -> bool:
        permission = f"{self.opts.app_label}.{verb}_{self.opts.model_name}"
        return request.user.has_perm(permission)


def reason_of(request: HttpRequest) -> str:
    """The reason given on the confirmation page."""
    return " ".join(request.POST.get("reason", "").split())[:REASON_MAX_CHARACTERS]


@admin.register(Event)
class EventAdmin(StaffList):
    list_display = ("id", "name", "subscriber", "state", "attempts", "created_at", "finished_at")
    list_filter = ("state", "name", "subscriber")
    search_fields = ("=id",)
    search_help_text = gettext_lazy("The number of an event.")
    ordering = ("-id",)
    actions = ("retry", "discard")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        return queryset.filter(pk=number_in(search_term)), False

    @admin.action(description=gettext_lazy("Retry dead letters"), permissions=["intervene"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Event]) -> None:
        dead = self.chosen(request, queryset.filter(state=State.DEAD))
        number = actions.retry_dead([event.pk for event in dead])
        self.log_each(request, dead, _("Retried."))
        text = ngettext(
            "%(count)d event will be retried.",
            "%(count)d events will be retried.",
            number,
        )
        self.message_user(request, text % {"count": number})

    @admin.action(description=gettext_lazy("Discard dead letters"), permissions=["discard"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Event]) -> TemplateResponse | None:
        dead = self.chosen(request, queryset.filter(state=State.DEAD))
        question = ngettext(
            "Discard %(count)d dead letter? Its work will never be done.",
            "Discard %(count)d dead letters? Their work will never be done.",
            len(dead),
        ) % {"count": len(dead)}
        if dead and (page := self.confirmation(request, dead, question=question)):
            return page
        number = actions.discard_dead([event.pk for event in dead])
        self.log_each(request, dead, _("Discarded."))
        text = ngettext("%(count)d event discarded.", "%(count)d events discarded.", number)
        self.message_user(request, text % {"count": number})
        return None


def number_in(text: str) -> int:
    """The row id in a search term; 0, which is no row's id, for anything else."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 18 else 0
