"""Cache servers in the admin: nodes and their health,
versions of the processes, changes and their history.
"""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.errors import DomainError, NotAllowed
from apps.events.admin import StaffList
from apps.operations import actions, wording
from apps.operations.actions import Author
from apps.operations.forms import FORMS, ChangeForm
from apps.operations.models import CacheNode, TopologyVersion
from apps.operations.queries import fleet, node_statuses, rates, topology_in_force
from feedcache.health import redis_statuses
from feedcache.topology import problems, warnings


def author_of(request: HttpRequest, seen: int | None = None) -> Author:
    return Author(request.user.get_username(), seen=seen)


@admin.register(CacheNode)
class CacheNodeAdmin(StaffList):
    """A console in place of the list: most of it does not come from the database."""

    def get_urls(self) -> list[URLPattern]:
        change = self.admin_site.admin_view(self.change_page)
        return [path("change/<slug:name>/", change, name="topology_change"), *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        if not self.has_view_permission(request):
            raise NotAllowed(_("Only staff may go here."))
        topology = topology_in_force()
        classes, tiers = rates()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Caches"),
            "topology": topology,
            "findings": wording.messages(
                [*problems(topology), *warnings(topology)] if topology.main else []
            ),
            "node_statuses": node_statuses(topology),
            "fleet": fleet(topology),
            "classes": classes,
            "tiers": tiers,
            "servers": redis_statuses(),
            "changes": [(name, form.title) for name, form in FORMS.items()],
            "may_change": self.has_intervene_permission(request),
            "history": TopologyVersion.objects.all()[:5],
        }
        return TemplateResponse(request, "topology/console.html", context)

    def change_page(self, request: HttpRequest, name: str) -> HttpResponse:
        """A form, then a confirmation, then the change."""
        if not self.has_intervene_permission(request):
            raise NotAllowed(_("You may look at the caches, but not change them."))
        if name not in FORMS:
            raise Http404
        form = FORMS[name](topology_in_force(), request.POST or None, initial=request.GET.dict())
        if form.is_valid() and "confirmed" in request.POST:
            return self._change(request, form)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": form.title,
            "form": form,
            "question": form.question() if form.is_valid() else "",
        }
        return TemplateResponse(request, "topology/change.html", context)

    def _change(self, request: HttpRequest, form: ChangeForm) -> HttpResponse:
        try:
            row = form.act(form.author(request.user.get_username()))
        except DomainError as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            self.log_change(request, row, row.detail)
            text = _("Version %(version)d: %(detail)s.") % {"version": row.pk, "detail": row.detail}
            self.message_user(request, text)
        return HttpResponseRedirect(reverse("admin:topology_cachenode_changelist"))


@admin.register(TopologyVersion)
class TopologyVersionAdmin(StaffList):
    list_display = ("version", "action", "detail", "made_by", "made_at")
    list_filter = ("action",)
    ordering = ("-version",)
    actions = ("roll_back",)
    fields = readonly_fields = ("version", "action", "detail", "made_by", "made_at", "before", "after")  # fmt: skip

    @admin.action(description=gettext_lazy("Go back to this version"), permissions=["intervene"])
    def roll_back(
        self, request: HttpRequest, queryset: QuerySet[TopologyVersion]
    ) -> TemplateResponse | None:
        rows = self.chosen(request, queryset)
        if len(rows) != 1:
            self.message_user(request, _("Choose one version to go back to."), messages.ERROR)
            return None
        question = _("Go back to the nodes of version %(version)d?") % {"version": rows[0].pk}
        if page := self.confirmation(request, rows, question=question):
            return page
        author = author_of(request)
        done = self.attempt(request, rows, lambda row: actions.roll_back(row.pk, by=author), note=question)  # fmt: skip
        if done:
            self.message_user(request, _("The nodes are those of version %(version)d again.") % {"version": rows[0].pk})  # fmt: skip
        return None
