"""Staff review reports, resolve or reopen them, and suspend reported accounts."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import SearchedByAccount, staff_of, user_link
from apps.accounts.models import User
from apps.accounts.staff import log_action
from apps.errors import DomainError, Invalid, NotAllowed, NotFound
from apps.events.admin import REASON_MAX_CHARACTERS, number_in, reason_of
from apps.moderation.actions import (
    assign_report,
    reopen_report,
    resolve_report,
    suspend_user,
    take_down,
    warn_user,
)
from apps.moderation.house_rules import RULES
from apps.moderation.models import Report
from apps.moderation.records import reported_posts
from apps.timeline.admin.posts import EXCERPT_CHARACTERS, READ_RESTRICTED

WITH_REASON = {"delete", "warn", "suspend", "dismiss"}


class OpenFilter(admin.SimpleListFilter):
    """Open or resolved reports."""

    title = gettext_lazy("resolved")
    parameter_name = "resolved"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", gettext_lazy("Yes")), ("no", gettext_lazy("No"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in {"yes", "no"}:
            return queryset.filter(resolved_at__isnull=self.value() == "no")
        return queryset


@admin.register(Report)
class ReportAdmin(SearchedByAccount):
    """The list of reports, and a page for each report with everything needed to decide."""

    list_display = (
        "id", "target_link", "category", "excerpt", "reporter_link", "created_at", "assignee", "resolved_at", "outcome",
    )  # fmt: skip
    list_select_related = ("target", "reporter", "assignee")
    list_filter = (OpenFilter, "category")
    searched = "target"
    search_fields = ("=target__handle",)
    search_help_text = gettext_lazy("The whole handle of the reported account.")
    ordering = ("-id",)
    actions = ("resolve", "reopen", "suspend")

    @admin.display(description=gettext_lazy("account"))
    def target_link(self, report: Report) -> SafeString:
        return user_link(report.target)

    @admin.display(description=gettext_lazy("by"))
    def reporter_link(self, report: Report) -> SafeString:
        return user_link(report.reporter)

    @admin.display(description=gettext_lazy("comment"))
    def excerpt(self, report: Report) -> str:
        return Truncator(report.comment).chars(EXCERPT_CHARACTERS)

    def line(self, row: Report) -> str:
        return f"{row.target}: {row.get_category_display()}"

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of a report: its posts as they were and are, the account's history, and the possible actions."""
        del form_url, extra_context
        related = ("target__counts", "reporter", "assignee", "resolved_by")
        rows = self.get_queryset(request).select_related(*related)
        report = rows.filter(pk=number_in(object_id)).first()
        if report is None:
            raise NotFound(_("There is no such report."))
        if not self.has_view_permission(request, report):
            raise NotAllowed(_("You may not do this."))
        if request.method == "POST":
            self._act(request, report)
            return HttpResponseRedirect(request.path)
        posts = reported_posts(report)
        reads_all = request.user.has_perm(READ_RESTRICTED)
        for one in posts:
            if one.post.is_restricted and reads_all:  # logged, as on the page of the post
                log_action(staff_of(request), one.post, _("Read."))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Report %(number)s: @%(handle)s") % {"number": report.pk, "handle": report.target.handle},
            "report": report,
            "rules": [_(RULES[number]) for number in report.rule_ids if number in RULES],
            "posts": posts,
            "reads_all": reads_all,
            "reason_max": REASON_MAX_CHARACTERS,
            "may_change": self.has_intervene_permission(request),
            "may_suspend": self.has_suspend_permission(request),
            "may_delete": request.user.has_perm("posts.delete_post"),
        }  # fmt: skip
        return TemplateResponse(request, "admin/moderation/report.html", context)

    def _act(self, request: HttpRequest, report: Report) -> None:
        """Do what a button of the page says. Some need a reason (`WITH_REASON`). Refusals are shown as messages."""
        by, reason = staff_of(request), reason_of(request)
        name, _colon, number = request.POST.get("act", "").partition(":")
        acts: dict[str, Callable[[], None]] = {
            "take_on": lambda: assign_report(report, by=by, to=by),
            "give_back": lambda: assign_report(report, by=by, to=None),
            "reopen": lambda: reopen_report(report, by=by),
            "delete": lambda: take_down(self._reported(report, number), report, by=by, reason=reason),
            "warn": lambda: self._close_with(report, by, reason, warn_user),
            "suspend": lambda: self._close_with(report, by, reason, suspend_user),
            "dismiss": lambda: resolve_report(report, by=by, outcome=reason),
        }  # fmt: skip
        try:
            if name in WITH_REASON and not reason:
                raise Invalid(_("A reason is needed."))
            acts[name]()
        except KeyError:
            self.message_user(request, _("You may not do this."), messages.ERROR)
        except DomainError as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            self.message_user(request, _("Done."))

    def _reported(self, report: Report, number: str) -> int:
        """The id of one of the report's posts. NotFound."""
        ids = {str(row.post_id): int(row.post_id) for row in report.posts.all()}
        if number not in ids:
            raise NotFound(_("There is no such post."))
        return ids[number]

    @transaction.atomic
    def _close_with(self, report: Report, by: User, reason: str, act: Callable[..., None]) -> None:
        act(report.target, by=by, reason=reason)
        resolve_report(report, by=by, outcome=reason)

    @admin.action(description=gettext_lazy("Resolve"), permissions=["intervene"])
    def resolve(self, request: HttpRequest, queryset: QuerySet[Any]) -> TemplateResponse | None:
        """Resolve reports, after asking for the outcome."""
        rows = self.chosen(request, queryset)
        question = ngettext("Resolve %(count)d report?", "Resolve %(count)d reports?", len(rows))
        text = question % {"count": len(rows)}
        if rows and (page := self.confirmation(request, rows, question=text, ask_reason=True)):
            return page
        by, outcome = staff_of(request), reason_of(request)

        def act(report: Report) -> None:
            resolve_report(report, by=by, outcome=outcome)

        self._say(request, self.attempt(request, rows, act))
        return None

    @admin.action(description=gettext_lazy("Reopen"), permissions=["intervene"])
    def reopen(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        by = staff_of(request)

        def act(report: Report) -> None:
            reopen_report(report, by=by)

        rows = self.chosen(request, queryset)
        self._say(request, self.attempt(request, rows, act))

    @admin.action(description=gettext_lazy("Suspend the account"), permissions=["suspend"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[Any]) -> TemplateResponse | None:
        """Suspend the reported accounts and resolve the reports, after asking for the reason."""
        rows = self.chosen(request, queryset)
        question = ngettext("Suspend %(count)d account?", "Suspend %(count)d accounts?", len(rows))
        text = question % {"count": len(rows)}
        if rows and (page := self.confirmation(request, rows, question=text, ask_reason=True)):
            return page
        by, reason = staff_of(request), reason_of(request)

        def act(report: Report) -> None:
            self._close_with(report, by, reason, suspend_user)

        self._say(request, self.attempt(request, rows, act))
        return None

    def has_suspend_permission(self, request: HttpRequest) -> bool:
        """Permission to suspend, as on the page of accounts."""
        return self.has_intervene_permission(request) and request.user.has_perm(
            "accounts.change_user"
        )

    def _say(self, request: HttpRequest, number: int) -> None:
        text = ngettext("%(count)d report changed.", "%(count)d reports changed.", number)
        self.message_user(request, text % {"count": number})
