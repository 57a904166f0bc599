"""Staff pages for the delivery policies of the site and of authors, their history, and the backfills."""

from abc import abstractmethod
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.admin import user_link
from apps.accounts.models import User
from apps.accounts.queries import user_ids_by_handle
from apps.events.admin import REASON_MAX_CHARACTERS, StaffList
from apps.timeline.admin.ledger import LedgerList
from apps.timeline.fanout import backfill, cost, switch
from apps.timeline.models import AuthorPolicy, Backfill, Policy, PolicyChange, SitePolicy
from feedcache.redis_servers.connections import RedisError


class WhyForm(forms.ModelForm):
    why = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=REASON_MAX_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
        help_text=gettext_lazy("Kept in the history."),
    )


class AuthorForm(WhyForm):
    """The policy of an author, who is named by the handle when it is the first."""

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
            raise forms.ValidationError(_("The site has no site above it."))
        return policy


class PolicyAdmin(StaffList):
    """The base of both policies: a change is a switch, never a write of the row."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "change")

    @abstractmethod
    def switch(self, row: Any, data: dict[str, Any], *, by: str) -> None:
        """Choose for the row what was filled in, while everything runs."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 -- Django's own signature
        try:
            self.switch(obj, form.cleaned_data, by=request.user.get_username())
        except RedisError:
            text = _(
                "Redis does not answer, so readers cannot be told. The switch goes on by itself when it does."
            )
            self.message_user(request, text, messages.WARNING)


@admin.register(AuthorPolicy)
class AuthorPolicyAdmin(PolicyAdmin):
    form = AuthorForm
    list_display = ("author_link", "policy", "mode", "merged_since", "reason", "measured_at")
    list_filter = ("policy", "mode")
    ordering = ("author",)
    search_fields = ("=author__handle",)
    readonly_fields = ("mode", "merged_since", "reason", "figures", "measured_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """As for changes: the first choice for an author is one."""
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
        return cost.as_text(row.measured) or "-"

    def switch(self, row: AuthorPolicy, data: dict[str, Any], *, by: str) -> None:
        """By the author's handle, or of the row's author."""
        author_id = row.pk or user_ids_by_handle([data["handle"]])[data["handle"]]
        row.author = User.objects.get(pk=author_id)
        switch.set_author_policy(row.author, Policy(data["policy"]), by=by, reason=data["why"])


@admin.register(SitePolicy)
class SitePolicyAdmin(PolicyAdmin):
    form = SiteForm
    list_display = ("policy", "mode", "pulls_all", "generation", "version")
    fields = ("policy", "why", "mode", "pulls_all", "generation", "version")
    readonly_fields = ("mode", "pulls_all", "generation", "version")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SitePolicy]:
        """The row, which is there from the first look on."""
        SitePolicy.objects.get_or_create(pk=1)
        rows: QuerySet[SitePolicy] = super().get_queryset(request)
        return rows

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
    """Backfills; readers pull the authors of pending ones."""

    work = backfill

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
