"""Staff pages for the delivery policies of the site and of authors, their history, and the backfills."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.admin import user_link
from apps.accounts.models import User
from apps.accounts.queries import user_ids_by_handle
from apps.events.admin import REASON_MAX_CHARACTERS, StaffList
from apps.timeline.admin.fanout import LedgerList
from apps.timeline.fanout import auto_policy, switch
from apps.timeline.models import AuthorPolicy, Backfill, Mode, Policy, PolicyChange, SitePolicy
from feedcache.connections import RedisError

Press = tuple[str, Callable[..., object]]


class WhyForm(forms.ModelForm):
    why = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=REASON_MAX_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
        help_text=gettext_lazy("Kept in the history."),
    )


class AuthorForm(WhyForm):
    """The policy of an author. The form for a new policy has a field for the author's handle."""

    handle = forms.CharField(label=gettext_lazy("Handle"), required=False, max_length=40)

    class Meta:
        model = AuthorPolicy
        fields = ("policy",)

    def clean_handle(self) -> str:
        handle = str(self.cleaned_data["handle"]).strip().removeprefix("@").lower()
        if self.instance.pk is None and handle not in user_ids_by_handle([handle]):
            raise forms.ValidationError(_("Nobody has this handle."))
        return handle


class SiteForm(WhyForm):
    class Meta:
        model = SitePolicy
        fields = ("policy",)

    def clean_policy(self) -> str:
        policy = str(self.cleaned_data["policy"])
        if policy == Policy.SITE:
            raise forms.ValidationError(_("This policy is only for single authors."))
        return policy


class PolicyAdmin(StaffList):
    """Base class of both policy pages. Saving the form switches the policy; the row is never written directly.

    A page with the current cost of deliveries asks for confirmation. A button reverts the last switch by staff.
    """

    change_form_template = "admin/policy_form.html"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "change")

    @abstractmethod
    def switch(self, row: Any, data: dict[str, Any], *, by: str) -> None:
        """Switch to the submitted policy, while the site runs."""

    @abstractmethod
    def costs(self, row: Any, data: dict[str, Any]) -> dict[str, Any]:
        """The measured costs of deliveries, for the confirmation page."""

    @abstractmethod
    def presses(self, row: Any) -> dict[str, Press]:
        """The buttons that need no form, by name: each has a label and a function that takes `by` and `reason`."""

    def get_urls(self) -> list[URLPattern]:
        press = self.admin_site.admin_view(self.press)
        name = f"{self.opts.app_label}_{self.opts.model_name}_press"
        return [path("<path:object_id>/press/", press, name=name), *super().get_urls()]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = None if object_id is None else self.get_object(request, unquote(object_id))
        may_change = self.has_change_permission(request, row)
        if request.method == "POST" and "confirmed" not in request.POST and may_change:
            form = self.get_form(request, row, change=row is not None)(request.POST, instance=row)
            if form.is_valid():
                return self._ask(request, row, form.cleaned_data)
        labels = {name: label for name, (label, _act) in self.presses(row).items()} if row else {}
        context = {**(extra_context or {}), "presses": labels if may_change else {}}
        page: HttpResponse = super().changeform_view(request, object_id, form_url, context)
        return page

    def _ask(self, request: HttpRequest, row: Any, data: dict[str, Any]) -> TemplateResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Before the switch"),
            "after": Policy(data["policy"]).label,
            "fields": {name: data[name] for name in ("handle", "policy", "why") if name in data},
            **self.costs(row, data),
        }
        return TemplateResponse(request, "admin/policy_switch.html", context)

    def press(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Run the action of a button. 403 for staff without the permission, and if the row does not exist."""
        row = self.get_object(request, unquote(object_id))
        if row is None or not self.has_change_permission(request, row):
            raise PermissionDenied
        presses = self.presses(row)
        pressed = [name for name in presses if name in request.POST]
        if request.method == "POST" and pressed:
            label, act = presses[pressed[0]]
            by = request.user.get_username()
            if self._attempt(request, partial(act, by=by, reason=label)):
                self.message_user(request, _("Done: %(what)s.") % {"what": label})
            self.log_change(request, row, label)
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        return HttpResponseRedirect(reverse(name, args=(row.pk,)))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 -- Django's own signature
        by = request.user.get_username()
        self._attempt(request, partial(self.switch, obj, form.cleaned_data, by=by))

    def _attempt(self, request: HttpRequest, act: Callable[[], object]) -> bool:
        try:
            act()
        except RedisError:
            text = _(
                "Redis does not answer, so the new policy cannot be announced to readers yet. The switch of policy "
                "continues automatically when Redis answers again."
            )
            self.message_user(request, text, messages.WARNING)
            return False
        return True


@admin.register(AuthorPolicy)
class AuthorPolicyAdmin(PolicyAdmin):
    form = AuthorForm
    list_display = (
        "author_link",
        "policy",
        "mode",
        "pulled_since",
        "reason",
        "measured_at",
    )
    list_filter = ("policy", "mode")
    ordering = ("author",)
    search_fields = ("=author__handle",)
    readonly_fields = ("mode", "pulled_since", "reason", "figures", "measured_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """To add a policy, the permission to change policies is enough, because a first policy is a change."""
        return self._may(request, "change")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuthorPolicy]:
        rows: QuerySet[AuthorPolicy] = super().get_queryset(request)
        return rows.select_related("author")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (
            ("handle", "policy", "why") if obj is None else ("policy", "why", *self.readonly_fields)
        )

    @admin.display(description=gettext_lazy("author"))
    def author_link(self, row: AuthorPolicy) -> SafeString:
        return user_link(row.author)

    @admin.display(description=gettext_lazy("measured"))
    def figures(self, row: AuthorPolicy) -> str:
        return auto_policy.as_text(row.measured) or "-"

    def costs(self, row: AuthorPolicy | None, data: dict[str, Any]) -> dict[str, Any]:
        author, reason = _author(row, data), ""
        if data["policy"] == Policy.AUTO:
            now = Mode(row.mode) if row and row.mode else None
            reason = auto_policy.choose(auto_policy.measure(author.pk), now).reason
        return {
            "whose": f"@{author.handle}",
            "rows": auto_policy.before_switch(author),
            "reason": reason,
        }

    def presses(self, row: AuthorPolicy) -> dict[str, Press]:
        before = switch.policy_before(row.pk)
        if before is None:
            return {}
        return {"back": (_back_to(before), partial(switch.set_author_policy, row.author, before))}

    def switch(self, row: AuthorPolicy, data: dict[str, Any], *, by: str) -> None:
        row.author = _author(row, data)
        switch.set_author_policy(row.author, Policy(data["policy"]), by=by, reason=data["why"])


def _back_to(policy: Policy) -> str:
    return _("Back to “%(policy)s”") % {"policy": policy.label}


def _author(row: AuthorPolicy | None, data: dict[str, Any]) -> User:
    """The author of the row, or for a new row the author with the handle in the form."""
    pk = row.pk if row else None
    return User.objects.get(pk=pk or user_ids_by_handle([data["handle"]])[data["handle"]])


@admin.register(SitePolicy)
class SitePolicyAdmin(PolicyAdmin):
    form = SiteForm
    list_display = ("policy", "mode", "pulls_all", "generation", "version")
    fields = ("policy", "why", "mode", "pulls_all", "generation", "version")
    readonly_fields = ("mode", "pulls_all", "generation", "version")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SitePolicy]:
        """The single row, created here if it does not exist."""
        SitePolicy.objects.get_or_create(pk=1)
        rows: QuerySet[SitePolicy] = super().get_queryset(request)
        return rows

    def costs(self, row: SitePolicy, data: dict[str, Any]) -> dict[str, Any]:
        return {"whose": _("the whole site"), "rows": auto_policy.before_switch()}

    def presses(self, row: SitePolicy) -> dict[str, Press]:
        before = switch.policy_before(None)
        if before is None:
            return {}
        return {"back": (_back_to(before), partial(switch.set_site_policy, before))}

    def switch(self, row: SitePolicy, data: dict[str, Any], *, by: str) -> None:
        switch.set_site_policy(Policy(data["policy"]), by=by, reason=data["why"])


@admin.register(PolicyChange)
class PolicyChangeAdmin(StaffList):
    """The history of policies, including the choices of `auto`."""

    list_display = ("made_at", "of", "before", "after", "reason", "made_by")
    list_filter = ("after", "made_by")
    ordering = ("-pk",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PolicyChange]:
        rows: QuerySet[PolicyChange] = super().get_queryset(request)
        return rows.select_related("author")

    @admin.display(description=gettext_lazy("author"))
    def of(self, row: PolicyChange) -> str:
        return str(row.author) if row.author else _("the whole site")


@admin.register(Backfill)
class BackfillAdmin(LedgerList):
    """Backfills. Until a backfill is done, readers pull its author."""

    work = switch

    list_display = (
        "id",
        "author",
        "posts",
        "expected",
        "delivered",
        "dormant",
        "pending",
        "state",
        "created_at",
    )
    list_filter = ("state",)
    ordering = ("-id",)
    actions = ("retry",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Backfill]:
        rows: QuerySet[Backfill] = super().get_queryset(request)
        return rows.select_related("author")

    @admin.display(description=gettext_lazy("posts"))
    def posts(self, job: Backfill) -> int:
        return len(job.post_ids)
