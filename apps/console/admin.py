"""Cache servers in the admin: nodes, their health, each process's topology version, and changes with their history."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.forms import (
    FORMS,
    REDIS_FORMS,
    WITHOUT_BUTTON,
    BurstPolicyForm,
    ChangeForm,
    MoveSlotForm,
)
from apps.console.queries import class_statuses, described, redis_calls, slot_maps
from apps.console.series import SPANS_AN_HOUR, charts_of, hours_of
from apps.errors import DomainError, NotAllowed
from apps.events.admin import StaffList
from apps.operations import actions
from apps.operations.actions import Author
from apps.operations.bursts import BURST_SECONDS, burst_policy, heat
from apps.operations.models import CacheNode, TopologyVersion
from apps.operations.objectives import results
from apps.operations.queries import (
    finding_texts,
    fleet,
    node_statuses,
    rates,
    service_level,
    topology_in_force,
)
from apps.operations.resizing import progress
from feedcache.connections import RedisError
from feedcache.servers import totals
from feedcache.servers.health import redis_statuses
from feedcache.stats import Counts
from feedcache.topology import problems, warnings

CONSOLE = "admin:operations_cachenode_changelist"
REPR_MAX_CHARACTERS = 200  # Django's limit of LogEntry.object_repr


@admin.register(CacheNode)
class CacheNodeAdmin(StaffList):
    """Shows a console instead of a list of rows, because most of its data does not come from the database."""

    def get_urls(self) -> list[URLPattern]:
        change = self.admin_site.admin_view(self.change_page)
        level = self.admin_site.admin_view(self.service_level_page)
        redis = self.admin_site.admin_view(self.redis_page)
        hot = self.admin_site.admin_view(self.hot_keys_page)
        rules = self.admin_site.admin_view(self.burst_rules_page)
        move_slot = self.admin_site.admin_view(self.move_slot_page)
        return [
            path("change/<slug:name>/", change, name="operations_change"),
            path("service-level/", level, name="operations_service_level"),
            path("redis/", redis, name="operations_redis"),
            path("hot-keys/", hot, name="operations_hot_keys"),
            path("hot-keys/rules/", rules, name="operations_bursts"),
            path("redis/move-slot/", move_slot, name="operations_move_slot"),
            *super().get_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        if not self.has_view_permission(request):
            raise NotAllowed(_("Only staff may open this page."))
        topology = topology_in_force()
        classes, tiers = rates()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Caches"),
            "topology": topology,
            "findings": finding_texts(
                [*problems(topology), *warnings(topology)] if topology.main else []
            ),
            "node_statuses": node_statuses(topology),
            "fleet": fleet(topology),
            "resizes": progress(),
            "classes": classes,
            "tiers": tiers,
            "changes": [(name, form.title) for name, form in FORMS.items()],
            "may_change": self.has_intervene_permission(request),
            "history": TopologyVersion.objects.all()[:5],
        }
        return TemplateResponse(request, "console/console.html", context)

    def service_level_page(self, request: HttpRequest) -> TemplateResponse:
        """Requests, backend calls and hit rates of all processes: charts for a day, and figures for the last hour."""
        if not self.has_view_permission(request):
            raise NotAllowed(_("Only staff may open this page."))
        try:
            day = totals.last_day()
        except RedisError:
            day = []
        last_hour = sum((counts for _began, counts in day[-SPANS_AN_HOUR:]), Counts())
        whole_day = sum((counts for _began, counts in day), Counts())
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Service level"),
            "level": service_level(last_hour) if day else None,
            "objectives": list(zip(results(last_hour), results(whole_day), strict=True)),
            "charts": charts_of(day, settings.SERVICE_TARGETS) if day else [],
            "hours": hours_of(day),
            "targets": settings.SERVICE_TARGETS,
        }
        return TemplateResponse(request, "console/service_level.html", context)

    def hot_keys_page(self, request: HttpRequest) -> TemplateResponse:
        """The most-read keys, and the change to L1 that their load requires, if any."""
        if not self.has_view_permission(request):
            raise NotAllowed(_("Only staff may open this page."))
        try:
            found = heat()
        except RedisError:
            found = None
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Hot keys"),
            "heat": found,
            "keys": described(found.keys, topology_in_force()) if found else [],
            "policy": burst_policy(),
            "seconds": BURST_SECONDS,
            "may_change": self.has_intervene_permission(request),
        }
        return TemplateResponse(request, "console/hot_keys.html", context)

    def burst_rules_page(self, request: HttpRequest) -> HttpResponse:
        """The rules for automatic changes to L1 during a burst of reads."""
        if not self.has_intervene_permission(request):
            raise NotAllowed(_("You may look at the caches, but not change them."))
        form = BurstPolicyForm(request.POST or None, instance=burst_policy())
        if form.is_valid():
            policy = form.save()
            self.log_change(request, policy, form.summary())
            self.message_user(request, _("The rules for bursts have been saved."))
            return HttpResponseRedirect(reverse("admin:operations_hot_keys"))
        return self._form_page(request, form, back="admin:operations_hot_keys")

    def redis_page(self, request: HttpRequest) -> TemplateResponse:
        """Redis servers, classes of data, slots of clusters, and calls in the last hour. Works while Redis is down."""
        if not self.has_view_permission(request):
            raise NotAllowed(_("Only staff may open this page."))
        servers = redis_statuses()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Redis",
            "servers": servers,
            "down": [server for server in servers if not server.is_well],
            "classes": class_statuses(servers, topology_in_force()),
            "slot_maps": slot_maps(),
            "calls": redis_calls(),
            "targets": settings.SERVICE_TARGETS,
            "may_change": self.has_intervene_permission(request),
        }
        return TemplateResponse(request, "console/redis.html", context)

    def move_slot_page(self, request: HttpRequest) -> HttpResponse:
        """Show a form, ask for confirmation, then move keys for a few seconds. Staff repeat it until all have moved."""
        if not self.has_intervene_permission(request):
            raise NotAllowed(_("You may look at the caches, but not change them."))
        form = MoveSlotForm(request.POST or None, initial=request.GET.dict())
        if form.is_valid() and "confirmed" in request.POST:
            try:
                text = form.act()
            except DomainError as refusal:
                self.message_user(request, refusal.message, messages.ERROR)
            else:
                user: Any = request.user
                LogEntry.objects.create(
                    user=user,
                    object_repr=text[:REPR_MAX_CHARACTERS],
                    action_flag=CHANGE,
                )
                self.message_user(request, text)
            return HttpResponseRedirect(reverse("admin:operations_redis"))
        return self._form_page(request, form, back="admin:operations_redis")

    def _form_page(self, request: HttpRequest, form: Any, *, back: str) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": form.title,
            "form": form,
            "question": form.question() if form.is_valid() else "",
            "back": reverse(back),
        }
        return TemplateResponse(request, "console/change.html", context)

    def change_page(self, request: HttpRequest, name: str) -> HttpResponse:
        """Show a form, ask for confirmation, then make the change."""
        if not self.has_intervene_permission(request):
            raise NotAllowed(_("You may look at the caches, but not change them."))
        forms = FORMS | WITHOUT_BUTTON | REDIS_FORMS
        if name not in forms:
            raise Http404
        back = "admin:operations_redis" if name in REDIS_FORMS else CONSOLE
        form = forms[name](topology_in_force(), request.POST or None, initial=request.GET.dict())
        if form.is_valid() and "confirmed" in request.POST:
            return self._change(request, form, back=back)
        return self._form_page(request, form, back=back)

    def _change(self, request: HttpRequest, form: ChangeForm, *, back: str) -> HttpResponse:
        try:
            row = form.act(form.author(request.user.get_username()))
        except DomainError as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            self.log_change(request, row, row.detail)
            text = _("Version %(version)d: %(detail)s.") % {"version": row.pk, "detail": row.detail}
            self.message_user(request, text)
        return HttpResponseRedirect(reverse(back))


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
        author = Author(request.user.get_username())
        done = self.attempt(request, rows, lambda row: actions.roll_back(row.pk, by=author), note=question)  # fmt: skip
        if done:
            text = _("The nodes of version %(version)d are in use again.") % {"version": rows[0].pk}
            self.message_user(request, text)
        return None
