"""Staff pages for defining segments, choosing promoted accounts, and starting campaigns once their reach is shown.

Staff do not see who is in a segment; only people themselves see which segments they are in.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import staff_of, user_link
from apps.accounts.models import User
from apps.events.admin import StaffList
from apps.promotions.actions import (
    end_campaign,
    pause_campaign,
    segments_changed,
    start_campaign,
    switch_promotions,
)
from apps.promotions.admin.forms import CampaignForm, PromotedAccountForm, RuleForm, RuleFormSet
from apps.promotions.models import (
    Campaign,
    CampaignState,
    PromotedAccount,
    PromotionSwitch,
    Segment,
    SegmentRule,
    Trait,
)
from apps.promotions.queries import Audience, preview


class EditedList(StaffList):
    """A list of rows that staff edit by hand. Staff cannot delete them, because other rows may refer to them."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "change")


@admin.register(Trait)
class TraitAdmin(EditedList):
    list_display = ("name", "slug", "is_active")
    list_filter = ("is_active",)
    ordering = ("name",)
    fields = ("name", "slug", "is_active")
    prepopulated_fields: ClassVar = {"slug": ("name",)}

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.prepopulated_fields if obj is None else {}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The name and slug of an existing trait cannot be changed, because people have chosen it by its name."""
        return () if obj is None else ("name", "slug")


class RuleInline(admin.StackedInline):
    """The rules of a segment. The permissions for the segment also apply to its rules."""

    model = SegmentRule
    form = RuleForm
    formset = RuleFormSet
    fields = ("kind", ("trait", "language"), ("handle", "tag_name"), ("days", "since"))
    extra = 1
    max_num = 8
    verbose_name_plural = gettext_lazy("rules (all of them must match)")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_new = obj is None and request.user.has_perm("promotions.add_segment")
        return is_new or self.has_change_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Rules are fixed while a campaign runs, because its start required that they match enough people."""
        runs = obj is not None and obj.campaigns.filter(state=CampaignState.RUNNING).exists()
        return not runs and request.user.has_perm("promotions.change_segment")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_change_permission(request, obj)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_change_permission(request) or request.user.has_perm(
            "promotions.view_segment"
        )


@admin.register(Segment)
class SegmentAdmin(EditedList):
    list_display = ("name", "description", "rule_texts", "is_active", "created_at")
    list_filter = ("is_active",)
    ordering = ("name",)
    fields = ("name", "slug", "description", "is_active")
    prepopulated_fields: ClassVar = {"slug": ("name",)}
    inlines = (RuleInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Segment]:
        rows: QuerySet[Segment] = super().get_queryset(request)
        return rows.prefetch_related("rules__trait", "rules__account", "rules__tag")

    @admin.display(description=gettext_lazy("rules"))
    def rule_texts(self, segment: Segment) -> str:
        return "; ".join(map(str, segment.rules.all()))

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:  # noqa: FBT001 -- Django's own signature
        """Save the rules; workers then compute who is in the segment."""
        super().save_related(request, form, formsets, change)
        segments_changed()


@admin.register(PromotedAccount)
class PromotedAccountAdmin(EditedList):
    form = PromotedAccountForm
    list_display = ("link", "sponsor", "created_at")
    list_display_links = ("sponsor",)
    list_select_related = ("user",)
    ordering = ("user__handle",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("handle", "sponsor") if obj is None else ("link", "sponsor")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else ("link",)

    @admin.display(description=gettext_lazy("account"))
    def link(self, row: PromotedAccount) -> SafeString:
        return user_link(row.user)


@admin.register(PromotionSwitch)
class PromotionSwitchAdmin(EditedList):
    """The switch is a single row, made by a migration; staff who run campaigns may change it."""

    list_display = ("__str__", "is_on")
    fields = ("is_on",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        del request
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("promotions.run_campaign")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_change_permission(request)

    def save_model(
        self,
        request: HttpRequest,
        obj: PromotionSwitch,
        form: Any,
        change: bool,  # noqa: FBT001 -- Django's own signature
    ) -> None:
        """Call the action, which also clears the cached campaigns."""
        switch_promotions(on=obj.is_on, by=staff_of(request))


@admin.register(Campaign)
class CampaignAdmin(EditedList):
    """Drafts and paused campaigns can be changed. To start one, staff must confirm how many people it reaches."""

    form = CampaignForm
    list_display = ("name", "account", "state", "shown", "starts_at", "ends_at")
    list_filter = ("state",)
    list_select_related = ("account__user", "count")
    ordering = ("-id",)
    actions = ("start", "pause", "end")
    written = (
        "name", "account", "segments", "starts_at", "ends_at", "budget_impressions", "frequency_cap",
    )  # fmt: skip
    facts = ("people", "impressions", "state", "is_live", "ended_at", "end_reason")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Campaign]:
        rows: QuerySet[Campaign] = super().get_queryset(request)
        return rows.select_related("account__user", "count")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.written if obj is None else (*self.written, *self.facts)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The account and the segments are fixed once a campaign has run, because readers have already seen them."""
        if obj is None:
            return ()
        if obj.state == CampaignState.PAUSED:
            return ("account", "segments", *self.facts)
        return self.facts

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only drafts and paused campaigns can be changed."""
        is_open = obj is None or obj.state in {CampaignState.DRAFT, CampaignState.PAUSED}
        return is_open and super().has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Campaign, form: Any, change: bool) -> None:  # noqa: FBT001 -- Django's own signature
        """Save changed fields only, because a task may change the state at the same time."""
        if change:
            columns = [name for name in form.changed_data if name != "segments"]
            obj.save(update_fields=columns)
        else:
            super().save_model(request, obj, form, change)

    def has_run_permission(self, request: HttpRequest) -> bool:
        """The permission that actions with `permissions=["run"]` require."""
        return request.user.has_perm("promotions.run_campaign")

    @admin.display(description=gettext_lazy("people"))
    def people(self, campaign: Campaign) -> str:
        """How many people the rules match now: a rounded lower bound, or that a segment has too few."""
        return _people(preview(campaign))

    @admin.display(description=gettext_lazy("impressions"))
    def impressions(self, campaign: Campaign) -> int:
        return campaign.count.impressions if hasattr(campaign, "count") else 0

    @admin.display(description=gettext_lazy("impressions"))
    def shown(self, campaign: Campaign) -> str:
        """The impressions so far, and the budget."""
        return f"{self.impressions(campaign)} / {campaign.budget_impressions}"

    def line(self, row: Campaign) -> str:
        return f"{row} ({row.account}): {_people(preview(row))}"

    @admin.action(description=gettext_lazy("Start"), permissions=["run"])
    def start(self, request: HttpRequest, queryset: QuerySet[Campaign]) -> TemplateResponse | None:
        """Start campaigns, after showing how many people they would reach."""
        question = ngettext(
            "Start %(count)d campaign for these people?",
            "Start %(count)d campaigns for these people?",
            queryset.count(),
        )
        return self._run(request, queryset, question, start_campaign)

    @admin.action(description=gettext_lazy("Pause"), permissions=["run"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Campaign]) -> TemplateResponse | None:
        question = ngettext(
            "Pause %(count)d campaign?", "Pause %(count)d campaigns?", queryset.count()
        )
        return self._run(request, queryset, question, pause_campaign)

    @admin.action(description=gettext_lazy("End"), permissions=["run"])
    def end(self, request: HttpRequest, queryset: QuerySet[Campaign]) -> TemplateResponse | None:
        question = ngettext(
            "End %(count)d campaign for good?",
            "End %(count)d campaigns for good?",
            queryset.count(),
        )
        return self._run(request, queryset, question, end_campaign)

    def _run(
        self,
        request: HttpRequest,
        queryset: QuerySet[Campaign],
        question: str,
        act: Callable[..., None],
    ) -> TemplateResponse | None:
        rows = self.chosen(request, queryset)
        text = question % {"count": len(rows)}
        if rows and (page := self.confirmation(request, rows, question=text)):
            return page
        by: User = staff_of(request)
        done = self.attempt(request, rows, lambda row: act(row.pk, by=by))
        changed = ngettext("%(count)d campaign changed.", "%(count)d campaigns changed.", done)
        self.message_user(request, changed % {"count": done})
        return None


def _people(audience: Audience) -> str:
    if audience.too_few:
        least = {"count": settings.CAMPAIGN_MIN_PEOPLE}
        return _("fewer than %(count)d people in a segment") % least
    text = ngettext("at least %(count)d person", "at least %(count)d people", audience.people)
    return text % {"count": audience.people}
