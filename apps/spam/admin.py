"""Staff pages: what happens to spam, dry runs, blocked domains, and verdicts."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.admin import SearchedByAccount, staff_of, user_link
from apps.errors import DomainError, NotFound
from apps.events.admin import StaffList, number_in
from apps.events.leases import State
from apps.posts.admin import post_link
from apps.spam.actions import CHANGE_POLICY, has_measures, save_policy
from apps.spam.dry_run import ADD_DRY_RUNS, Result, request_dry_run, shown_posts
from apps.spam.heuristics import available, sentences
from apps.spam.models import ACTS, MAX_SCORE, BlockedDomain, DryRun, Policy, Verdict
from apps.spam.queries import ACTED, DISMISSED, NONE, WAITING, policy_in_force, yesterday

OUTCOMES = {
    ACTED: gettext_lazy("Staff took a measure"),
    DISMISSED: gettext_lazy("Staff dismissed it"),
    WAITING: gettext_lazy("Reported, waiting"),
    NONE: gettext_lazy("Nobody has looked at it"),
}
MAX_RUNS = 10  # on the page of settings


class PolicyForm(forms.Form):
    """The heuristics that are used, and the three thresholds."""

    heuristics = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    report_from = forms.IntegerField(
        label=gettext_lazy("Report from a score of"),
        required=False,
        min_value=1,
        max_value=MAX_SCORE,
    )
    hide_from = forms.IntegerField(
        label=gettext_lazy("Hide the post from a score of"),
        required=False,
        min_value=1,
        max_value=MAX_SCORE,
    )
    limit_from = forms.IntegerField(
        label=gettext_lazy("Limit the account from a score of"),
        required=False,
        min_value=1,
        max_value=MAX_SCORE,
    )

    def __init__(self, policy: Policy, data: Any = None) -> None:
        known = available()
        super().__init__(
            data,
            initial={
                "heuristics": [id_ for id_ in known if id_ not in policy.switched_off],
                "report_from": policy.report_from,
                "hide_from": policy.hide_from,
                "limit_from": policy.limit_from,
            },
        )
        points = _("%(question)s %(points)d points")
        self.fields["heuristics"].choices = [  # type: ignore[attr-defined]  # of a choice field
            (one.id, points % {"question": one.question, "points": one.points})
            for one in known.values()
        ]
        if not has_measures():
            del self.fields["hide_from"], self.fields["limit_from"]

    @property
    def thresholds(self) -> dict[str, int | None]:
        names = ("report_from", "hide_from", "limit_from")
        return {name: self.cleaned_data.get(name) for name in names}

    def refuse(self, refusal: DomainError) -> None:
        """Show an error of an action next to its fields."""
        errors = refusal.errors or {"": refusal.message}
        for name, text in errors.items():
            self.add_error(name if name in self.fields else None, text)


@admin.register(DryRun)
class DryRunAdmin(StaffList):
    """The list of dry runs, the page of each, and the page on which staff choose and try what happens to spam."""

    list_display = ("id", "day", "by", "created_at", "state", "caught", "done")
    list_select_related = ("by",)
    ordering = ("-id",)
    change_list_template = "admin/spam/dry_runs.html"

    @admin.display(description=gettext_lazy("caught"))
    def caught(self, row: DryRun) -> str:
        return str(row.result.get("caught", ""))

    def get_urls(self) -> list[URLPattern]:
        page = self.admin_site.admin_view(self.settings_page)
        return [path("settings/", page, name="spam_settings"), *super().get_urls()]

    def settings_page(self, request: HttpRequest) -> HttpResponse:
        self.require_view(request)
        policy, staff = policy_in_force(), staff_of(request)
        form = PolicyForm(policy, request.POST or None)
        if request.method == "POST" and form.is_valid():
            chosen, act = form.cleaned_data["heuristics"], request.POST.get("act")
            try:
                if act == "save":
                    off = available().keys() - set(chosen)
                    save_policy(by=staff, switched_off=off, **form.thresholds)
                    self.message_user(request, _("Saved."))
                    return HttpResponseRedirect(reverse("admin:spam_settings"))
                row = request_dry_run(by=staff, heuristics=chosen, **form.thresholds)
                return HttpResponseRedirect(reverse("admin:spam_dryrun_change", args=[row.pk]))
            except DomainError as refusal:
                form.refuse(refusal)
        context = {
            **self.page_context(request, _("What happens to spam")),
            "form": form,
            "max_score": MAX_SCORE,
            "may_save": staff.has_perm(CHANGE_POLICY),
            "may_try": staff.has_perm(ADD_DRY_RUNS),
            "has_measures": has_measures(),
            "day": yesterday(),
            "runs": DryRun.objects.order_by("-pk").select_related("by")[:MAX_RUNS],
        }
        return TemplateResponse(request, "admin/spam/settings.html", context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """What a dry run found."""
        del form_url, extra_context
        self.require_view(request)
        row = DryRun.objects.select_related("by").filter(pk=number_in(object_id)).first()
        if row is None:
            raise NotFound(_("There is no such dry run."))
        known = available()
        result = Result(**row.result) if row.state == State.DONE else None
        context = {
            **self.page_context(request, _("Dry run on the posts of a day")),
            "row": row,
            "is_dead": row.state == State.DEAD,
            "result": result,
            "thresholds": [
                (ACTS[act], value, result.acts.get(act, 0) if result else 0)
                for act, value in (("report", row.report_from), ("hide", row.hide_from), ("limit", row.limit_from))
                if value is not None
            ],
            "heuristics": [
                (known[id_].question if id_ in known else id_, result.heuristics.get(id_, 0) if result else 0)
                for id_ in row.heuristics
            ],
        }  # fmt: skip
        if result is not None:
            context["outcomes"] = [
                (text, result.outcomes.get(name, 0)) for name, text in OUTCOMES.items()
            ]
            context["right"] = result.outcomes.get(ACTED, 0)
            context["posts"] = [(one, OUTCOMES[one.outcome]) for one in shown_posts(result)]
        return TemplateResponse(request, "admin/spam/dry_run.html", context)


@admin.register(BlockedDomain)
class BlockedDomainAdmin(StaffList):
    """Domains to which posts should not link. They can be added, changed and deleted."""

    list_display = ("domain", "reason", "by", "created_at")
    list_select_related = ("by",)
    search_fields = ("domain__startswith",)
    search_help_text = gettext_lazy("The beginning of a domain.")
    ordering = ("-id",)
    fields = ("domain", "reason")

    def save_model(self, request: HttpRequest, obj: BlockedDomain, form: Any, change: bool) -> None:  # noqa: FBT001 -- Django's own signature
        if not change:
            obj.by = staff_of(request)
        super().save_model(request, obj, form, change)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "change")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "delete")


@admin.register(Verdict)
class VerdictAdmin(SearchedByAccount):
    """The posts for which the site did something. Staff decide on reports' pages, and undo measures in the strikes."""

    list_display = ("id", "author_link", "post", "score", "why", "done", "report", "created_at")
    list_select_related = ("author", "report")
    list_display_links = None
    searched = "author"
    search_fields = ("=author__handle",)
    search_help_text = gettext_lazy("The full handle of an account.")
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("account"))
    def author_link(self, row: Verdict) -> SafeString:
        return user_link(row.author)

    @admin.display(description=gettext_lazy("post"))
    def post(self, row: Verdict) -> SafeString | str:
        return post_link(row.post_id)

    @admin.display(description=gettext_lazy("reasons"))
    def why(self, row: Verdict) -> str:
        return " ".join(sentences(row.reasons))

    @admin.display(description=gettext_lazy("what was done"))
    def done(self, row: Verdict) -> str:
        text = ", ".join(str(ACTS[act]) for act in row.acts if act in ACTS)
        return f"{text} ({_('waiting')})" if row.is_waiting else text
