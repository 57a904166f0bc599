"""Pages for staff: the queue of reports, the page of a report, appeals, strikes, and the log of all acts of staff."""

import csv
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import SearchedByAccount, staff_of, user_link
from apps.accounts.staff import CHANGE_USERS, log_action
from apps.errors import BadRequest, DomainError, NotAllowed, NotFound
from apps.events.admin import StaffList, number_in, reason_of
from apps.http.requests import as_download
from apps.languages import WRITTEN
from apps.moderation.actions import (
    CHANGE_REPORTS,
    assign_report,
    reopen_report,
)
from apps.moderation.admin import ReportAdmin
from apps.moderation.house_rules import RULES
from apps.moderation.models import Measure, Report
from apps.posts.actions.publish import DELETE_POSTS
from apps.posts.models import Post
from apps.privacy.archive import escape_formula
from apps.strikes import queries
from apps.strikes.actions import add_note, answer_appeal, decide, take_back
from apps.strikes.models import PER_POST, TEXT_MAX_CHARACTERS, Appeal, Strike
from apps.strikes.queries import Filter
from apps.timeline.admin.posts import READ_RESTRICTED

CSV_MAX_LINES = 100_000
LOG_COLUMNS = ("when", "who", "kind", "number", "object", "what")


class _Line:
    """A file for `csv.writer` whose `write` returns the line."""

    def write(self, text: str) -> str:
        return text


admin.site.unregister(Report)


@admin.register(Report)
class CaseAdmin(ReportAdmin):
    """The list of reports, the queue, appeals, and a page for each report."""

    change_list_template = "admin/strikes/reports.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("queue/", view(self.queue_page), name="strikes_queue"),
            path("appeals/", view(self.appeals_page), name="strikes_appeals"),
            *super().get_urls(),
        ]

    def queue_page(self, request: HttpRequest) -> HttpResponse:
        self.require_view(request)
        chosen, staff = Filter.of(request.GET), staff_of(request)
        rows, after = queries.queue(chosen, staff)
        context = {
            **self.page_context(request, _("Report queue")),
            "rows": rows,
            "chosen": chosen,
            "states": [(name, title, _query(chosen._replace(state=name))) for name, title in queries.STATES.items()],
            "languages": [(code, dict(WRITTEN).get(code, code)) for code in queries.languages()],
            "query": _query(chosen),
            "older": f"?{urlencode({**chosen.query, 'after': after})}" if after else "",
            "is_later": bool(chosen.after),
            "reads_all": request.user.has_perm(READ_RESTRICTED),
        }  # fmt: skip
        return TemplateResponse(request, "admin/strikes/queue.html", context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of a report: its posts as they were and are, the account's history, and the possible acts."""
        del form_url, extra_context
        related = ("target__counts", "reporter", "assignee", "resolved_by")
        rows = self.get_queryset(request).select_related(*related)
        report = rows.filter(pk=number_in(object_id)).first()
        if report is None:
            raise NotFound(_("There is no such report."))
        self.require_view(request)
        chosen = Filter.of(request.GET)
        if request.method == "POST":
            return self._act(request, report, chosen)
        posts = queries.case_posts(report)
        reads_all = request.user.has_perm(READ_RESTRICTED)
        for one in posts:
            if one.post.is_restricted and reads_all:  # this is logged, as on the page of the post
                log_action(staff_of(request), one.post, _("Read."))
        staff = staff_of(request)
        may_change = staff.has_perm(CHANGE_REPORTS)
        title = _("Report %(number)s: @%(handle)s")
        context = {
            **self.page_context(
                request, title % {"number": report.pk, "handle": report.target.handle}
            ),
            "report": report,
            "rules": [_(RULES[number]) for number in report.rule_ids if number in RULES],
            "posts": posts,
            "reads_all": reads_all,
            "strikes": queries.case_strikes(report.target),
            "notes": queries.notes_of(report.target),
            "figures": queries.account_figures(report.target),
            "text_max": TEXT_MAX_CHARACTERS,
            "query": _query(chosen),
            "previous": queries.next_case(chosen, staff, report, back=True),
            "next": queries.next_case(chosen, staff, report),
            "measures": self._measures(request, report),
            "may_change": may_change,
            "may_decide": may_change and report.resolved_at is None,
        }
        return TemplateResponse(request, "admin/strikes/case.html", context)

    def _measures(self, request: HttpRequest, report: Report) -> list[tuple[str, str, bool]]:
        """The buttons that the member of staff may press: the measure, its name, and whether it closes the account."""
        has = request.user.has_perm
        buttons: list[tuple[str, Any, bool, bool]] = [
            ("", _("Dismiss"), False, True),
            (Measure.WARN, _("Warn"), False, True),
            (Measure.HIDE, _("Hide post"), False, has(DELETE_POSTS)),
            (Measure.SENSITIVE, _("Mark as sensitive"), False, has(DELETE_POSTS)),
            (Measure.LIMIT, _("Limit"), False, has(CHANGE_USERS)),
            (Measure.FREEZE, _("Freeze"), True, has(CHANGE_USERS)),
            (Measure.SUSPEND, _("Suspend"), True, has(CHANGE_USERS)),
        ]
        has_posts = report.posts.exists()
        return [
            (str(measure), name, is_grave)
            for measure, name, is_grave, is_permitted in buttons
            if is_permitted and (has_posts or measure not in PER_POST)
        ]

    def _act(self, request: HttpRequest, report: Report, chosen: Filter) -> HttpResponse:
        """Perform the action of a button. A decision redirects to the next report; refusals and other actions redirect
        back to this page.
        """
        by, text = staff_of(request), request.POST.get("text", "").strip()
        name, _colon, value = request.POST.get("act", "").partition(":")
        onward = queries.next_case(chosen, by, report)
        acts: dict[str, Callable[[], object]] = {
            "take_on": lambda: assign_report(report, by=by, to=by),
            "give_back": lambda: assign_report(report, by=by, to=None),
            "reopen": lambda: reopen_report(report, by=by),
            "note": lambda: add_note(report.target, by=by, text=request.POST.get("note", "")),
            "decide": lambda: self._decide(request, report, value, text),
            "take_back": lambda: take_back(self._strike(report, value), by=by, reason=text),
        }
        if name not in acts or (name == "decide" and value not in {"", *Measure.values}):
            raise BadRequest(_("This page has no such button."))
        try:
            acts[name]()
        except DomainError as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        if name == "decide":
            return self._onward(request, report, onward, chosen)
        self.message_user(request, _("Done."))
        return HttpResponseRedirect(request.get_full_path())

    def _decide(self, request: HttpRequest, report: Report, value: str, text: str) -> None:
        post_ids = [number_in_post(one) for one in request.POST.getlist("post")]
        closed = decide(report, value, by=staff_of(request), text=text, post_ids=post_ids)
        done = Measure(value).label if value else _("Dismissed")
        said = ngettext(
            "@%(handle)s: %(done)s. %(count)d report is closed.",
            "@%(handle)s: %(done)s. %(count)d reports are closed.",
            closed,
        )
        self.message_user(
            request, said % {"handle": report.target.handle, "done": done, "count": closed}
        )

    def _onward(
        self, request: HttpRequest, report: Report, onward: int | None, chosen: Filter
    ) -> HttpResponse:
        """Redirect to the next report that is still in the list, or else to the list."""
        still = Report.objects.filter(pk=onward, resolved_at=None).exists() if onward else False
        number = onward if still else queries.next_case(chosen, staff_of(request), report)
        if number is None:
            return HttpResponseRedirect(reverse("admin:strikes_queue") + _query(chosen))
        address = reverse("admin:moderation_report_change", args=[number])
        return HttpResponseRedirect(address + _query(chosen))

    def _strike(self, report: Report, value: str) -> Strike:
        """A strike of the reported account. Raises NotFound."""
        strike = Strike.objects.filter(user=report.target_id, pk=number_in(value)).first()
        if strike is None:
            raise NotFound(_("There is no such decision."))
        return strike

    def appeals_page(self, request: HttpRequest) -> HttpResponse:
        """Appeals without an answer, oldest first, with the strikes that they are about."""
        self.require_view(request)
        if request.method == "POST":
            self._answer(request)
            return HttpResponseRedirect(request.get_full_path())
        rows, after = queries.open_appeals(number_in(request.GET.get("after", "")))
        reads_all = request.user.has_perm(READ_RESTRICTED)
        if reads_all:
            self._log_read(request, [row.strike for row in rows])
        context = {
            **self.page_context(request, _("Appeals")),
            "appeals": rows,
            "reads_all": reads_all,
            "older": f"?after={after}" if after else "",
            "text_max": TEXT_MAX_CHARACTERS,
            "may_change": request.user.has_perm(CHANGE_REPORTS),
        }
        return TemplateResponse(request, "admin/strikes/appeals.html", context)

    def _log_read(self, request: HttpRequest, strikes: list[Strike]) -> None:
        """Log reads of restricted posts, as the page of a post does. If a post no longer exists, log the strike."""
        restricted = [one for one in strikes if one.evidence.get("is_restricted")]
        posts = Post.objects.in_bulk([one.post_id for one in restricted])
        for strike in restricted:
            log_action(staff_of(request), posts.get(strike.post_id or 0, strike), _("Read."))

    def _answer(self, request: HttpRequest) -> None:
        name, _colon, value = request.POST.get("act", "").partition(":")
        row = Appeal.objects.filter(pk=number_in(value)).first()
        if name not in {"accept", "reject"} or row is None:
            raise BadRequest(_("This page has no such button."))
        text = request.POST.get(f"text-{row.pk}", "").strip()
        try:
            answer_appeal(row, by=staff_of(request), is_accepted=name == "accept", text=text)
        except DomainError as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            self.message_user(request, _("Done."))


def number_in_post(text: str) -> int:
    """The id of a post in a form field; 0 if the text is not an id."""
    is_id = text.isascii() and text.isdecimal() and len(text) == 19
    return int(text) if is_id else 0


def _query(chosen: Filter) -> str:
    return f"?{urlencode(chosen.query)}"


@admin.register(Strike)
class StrikeAdmin(SearchedByAccount):
    """All strikes. Staff can take them back here or on a report's page; suspensions also in the list of accounts."""

    list_display = (
        "id",
        "user_link",
        "measure",
        "post_id",
        "by",
        "created_at",
        "undone_at",
        "text",
    )
    list_select_related = ("user", "by")
    list_filter = ("measure", ("undone_at", admin.EmptyFieldListFilter))
    searched = "user"
    search_fields = ("=user__handle",)
    search_help_text = gettext_lazy("The full handle of an account.")
    ordering = ("-id",)
    list_display_links = None
    # without `evidence`: reading the text of a post may need a permission, and is logged
    fields = (
        "user", "measure", "post_id", "by", "report", "rule_ids", "text", "created_at", "undone_at", "undone_by",
    )  # fmt: skip
    actions = ("take_back",)

    @admin.display(description=gettext_lazy("account"))
    def user_link(self, strike: Strike) -> Any:
        return user_link(strike.user)

    @admin.action(description=gettext_lazy("Take back"), permissions=["take_back"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[Any]) -> TemplateResponse | None:
        """Take strikes back, after asking for the reason; `actions.take_back` checks the permission for each."""
        rows = self.chosen(request, queryset.filter(undone_at=None))
        question = ngettext(
            "Take back %(count)d strike?", "Take back %(count)d strikes?", len(rows)
        )
        text = question % {"count": len(rows)}
        if rows and (page := self.confirmation(request, rows, question=text, ask_reason=True)):
            return page
        by, reason = staff_of(request), reason_of(request)
        number = self.attempt(request, rows, lambda row: take_back(row, by=by, reason=reason))
        said = ngettext("%(count)d strike taken back.", "%(count)d strikes taken back.", number)
        self.message_user(request, said % {"count": number})
        return None

    def has_take_back_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(CHANGE_REPORTS)

    def line(self, row: Strike) -> str:
        return f"{row.user}: {row.get_measure_display()}"


@admin.register(LogEntry)
class LogAdmin(StaffList):
    """All acts of staff, with filters; the filtered list can be downloaded."""

    list_display = ("action_time", "user", "content_type", "object_repr", "said")
    list_select_related = ("user", "content_type")
    list_filter = (("user", admin.RelatedOnlyFieldListFilter), "content_type")
    search_fields = ("=object_id",)
    search_help_text = gettext_lazy("The number of an account, a report or a post.")
    ordering = ("-id",)
    list_display_links = None
    change_list_template = "admin/strikes/log.html"

    @admin.display(description=gettext_lazy("what"))
    def said(self, row: LogEntry) -> str:
        return row.get_change_message()

    def get_urls(self) -> list[URLPattern]:
        export = self.admin_site.admin_view(self.export)
        return [path("log.csv", export, name="strikes_log"), *super().get_urls()]

    def export(self, request: HttpRequest) -> HttpResponseBase:
        """The filtered list as CSV: a line with `LOG_COLUMNS`, and at most `CSV_MAX_LINES` entries."""
        if not self.has_view_permission(request):
            raise NotAllowed(_("You do not have permission to do this."))
        try:
            rows = self.get_changelist_instance(request).get_queryset(request)
        except IncorrectLookupParameters:
            raise BadRequest(_("There is no such list.")) from None
        writer = csv.writer(_Line())
        lines = (map(escape_formula, line) for line in queries.log_lines(rows, CSV_MAX_LINES))
        body = (writer.writerow(line) for line in (LOG_COLUMNS, *lines))
        log_action(staff_of(request), staff_of(request), "Log exported.")
        return as_download(StreamingHttpResponse(body), "log.csv", "text/csv; charset=utf-8")
