"""Pages that explain why a post is or is not on the home page, and the auditor's public report."""

from collections import Counter
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy, pgettext
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.accounts.staff import is_permitted, log_action
from apps.audit.explain import Assembly, assembly, checklist, explain, post_id_in
from apps.audit.hooks import SECTIONS
from apps.audit.models import AuditRound, Kind, Subject
from apps.audit.report import KEEP_DAYS, audit_report, history
from apps.errors import NotFound
from apps.http.requests import AuthenticatedRequest, SiteRequest, View, login_required
from apps.http.verification import may_act_as_staff, redirect_to_second_factor
from apps.pagination import Cursor
from apps.timeline.fanout.author_receipts import duration
from apps.timeline.pipeline.reasons import Reason
from apps.web.plots import bars
from apps.web.templatetags.amounts import exact

ADDRESS_MAX_CHARACTERS = 300
EXAMPLE_ID = 1611570114275049488


@require_safe
@login_required
def post(request: AuthenticatedRequest, post_id: int) -> HttpResponse:
    explanation = explain(request.user, post_id)
    context: dict[str, Any] = {"explanation": explanation, "here": "home"}
    context["sections"] = [part for make in SECTIONS if (part := make(request.user, post_id))]
    return render(request, "audit/explain.html", context)


_COMPARED = {
    "pages": gettext_lazy("home pages as people saw them"),
    "windows": gettext_lazy("home pages prepared for the next visit"),
    "deliveries": gettext_lazy("posts: whether their delivery began and was finished"),
    "receipts": gettext_lazy("records of deliveries: whether anybody changed them"),
    "follows": gettext_lazy("follows: whether both people’s lists agree"),
    "counts": gettext_lazy("counts of likes, reposts, followers and so on"),
    "cached": gettext_lazy("posts, profiles and lists of posts that are kept in fast memory"),
}
_ROUNDS = {
    Subject.WINDOWS: gettext_lazy("Prepared home pages"),
    Subject.DELIVERIES: gettext_lazy("Deliveries of posts"),
    Subject.RECEIPTS: gettext_lazy("Records of deliveries"),
    Subject.FOLLOWING: gettext_lazy("Follows, by follower"),
    Subject.FOLLOWERS: gettext_lazy("Follows, by followee"),
    Subject.POST_COUNTS: gettext_lazy("Counters of posts"),
    Subject.USER_COUNTS: gettext_lazy("Counters of people"),
    Subject.POSTS: gettext_lazy("Posts in fast memory"),
    Subject.ACCOUNTS: gettext_lazy("Profiles and lists in fast memory"),
}
_KINDS = {  # for the other kinds, the page shows their labels
    Kind.WINDOW: gettext_lazy("missing from a prepared page"),
    Kind.RECEIPT: gettext_lazy("changed record of a delivery"),
    Kind.MIRROR: gettext_lazy("follow that is in only one of the two lists"),
}
_PLOTS = {
    "violations": gettext_lazy("Mistakes found each day"),
    "pages": gettext_lazy("Home pages compared each day"),
    "p95": gettext_lazy("Seconds until 95% of the deliveries had arrived"),
}


@require_safe
def audit(request: SiteRequest) -> HttpResponse:
    """The report of the auditor's comparisons and findings. Everybody may read it; it names no account."""
    report = audit_report()
    plots = []
    for name, title in _PLOTS.items():
        values = history(report.days, name, until=report.made_at.date())
        days = sum(value > 0 for value in values)
        plots.append({"title": title, "bars": bars(values), "highest": max(values), "days": days})
    p50, p95 = report.speed["p50"], report.speed["p95"]
    waited = report.backlog["oldest_seconds"]
    context = {
        "report": report,
        "sampling": _sampling(),
        "p50": duration(p50) if p50 is not None else "",
        "p95": duration(p95) if p95 is not None else "",
        "waited": duration(waited) if waited is not None else "",
        "compared": [(label, report.figures[name]) for name, label in _COMPARED.items()],
        "rounds": [_round_text(progress) for progress in report.rounds],
        "kinds": [(_KINDS.get(kind, kind.label), *counts) for kind, *counts in report.kinds],
        "plots": plots,
        "keep_days": KEEP_DAYS,
        "version": settings.VERSION,
        "here": "about",
    }
    return render(request, "audit/audit.html", context)


def _round_text(progress: AuditRound) -> tuple[Any, str]:
    """The name of a round, which compares all rows of one kind, and a text about its progress.

    In the first round, the text has the number of rows compared so far; later, the total and the duration of a round.
    """
    if progress.seconds is None or progress.total is None:
        text = _("%(compared)s so far, in the first round") % {"compared": exact(progress.compared)}
    else:
        text = _("all %(total)s in %(time)s") % {
            "total": exact(progress.total),
            "time": duration(progress.seconds),
        }
    return _ROUNDS.get(Subject(progress.subject), progress.subject), text


def _sampling() -> str:
    rate = settings.AUDIT_SAMPLE_RATE
    if not rate:
        return _("This site does not compare the home pages that people open.")
    if rate == 1:
        return _("Every home page that somebody opens is compared.")
    return _("One in %(rate)s of the home pages that people open is compared.") % {"rate": rate}


@require_safe
@login_required
def home(request: AuthenticatedRequest) -> HttpResponse:
    """How a page of the viewer's home timeline was assembled; with `post` (a URL), why that post is or is not there."""
    if "post" not in request.GET:
        return _home_page(request, request.user, {})
    address = request.GET["post"][:ADDRESS_MAX_CHARACTERS]
    context: dict[str, Any] = {"address": address, "here": "home"}
    post_id = post_id_in(address, host=request.get_host())
    if post_id is not None:
        context["checked"] = checklist(request.user, post_id)
    elif address.strip():
        example = request.build_absolute_uri(f"{request.user.url}/{EXAMPLE_ID}")
        text = _("That is not the address of a post here. It should look like this: %(example)s")
        context["error"] = text % {"example": example}
    else:
        context["error"] = _("Paste the address of a post first.")
    return render(request, "audit/home.html", context)


def staff_view_of_account(view: View) -> View:
    """Decorate a page about another account's home. Only staff who may view accounts can open it; visits are logged."""

    @wraps(view)
    @require_safe
    @login_required
    def inner(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
        if not is_permitted(request.user, "accounts.view_user"):
            raise NotFound(
                _("This page isn't here. It may have been deleted or the address is wrong.")
            )
        if not may_act_as_staff(request):
            return redirect_to_second_factor(request)
        owner = user_by_handle(handle)
        log_action(request.user, owner, f"read {request.get_full_path()[:ADDRESS_MAX_CHARACTERS]}")
        return view(request, owner)

    return inner


@staff_view_of_account
def home_of(request: AuthenticatedRequest, owner: User) -> HttpResponse:
    """The explained home page of another account, for staff, without the texts of restricted posts."""
    return _home_page(request, owner, {"owner": owner})


def _home_page(
    request: AuthenticatedRequest, reader: User, context: dict[str, Any]
) -> HttpResponse:
    assembled = assembly(reader, Cursor.from_query(request.GET, by_time=True))
    on_page = [row for row in assembled.rows if row.is_on_page]
    context |= {
        "assembly": assembled,
        "left_out": [row for row in assembled.rows if not row.is_on_page],
        "on_page": on_page,
        "summary": _summary(assembled),
        "ways": Counter(row.explanation.reason.short for row in on_page).most_common(),
        "here": "home",
        "feed_url": request.path,
    }
    return render(request, "audit/home.html", context)


_OTHER, _GONE = "other", "gone"
_SAME = {Reason.FAILED: Reason.WAITING, Reason.LOST: Reason.WAITING}
_LEFT_OUT = {
    Reason.MUTED: ngettext_lazy("%(count)d by a mute", "%(count)d by mutes", "count"),
    Reason.FILTERED: ngettext_lazy("%(count)d by a filter", "%(count)d by filters", "count"),
    Reason.HIDDEN_REPOST: ngettext_lazy(
        "%(count)d repost by somebody whose reposts you hide",
        "%(count)d reposts by people whose reposts you hide",
        "count",
    ),
    Reason.LANGUAGE: ngettext_lazy(
        "%(count)d for its language", "%(count)d for their languages", "count"
    ),
    Reason.REPLY: ngettext_lazy(
        "%(count)d reply to somebody you do not follow",
        "%(count)d replies to people you do not follow",
        "count",
    ),
    Reason.LISTED: ngettext_lazy(
        "%(count)d shown only in an exclusive list",
        "%(count)d shown only in exclusive lists",
        "count",
    ),
    Reason.READ: ngettext_lazy(
        "%(count)d you have already read", "%(count)d you have already read", "count"
    ),
    Reason.WAITING: ngettext_lazy(
        "%(count)d still on its way", "%(count)d still on their way", "count"
    ),
    _OTHER: ngettext_lazy("%(count)d for another reason", "%(count)d for other reasons", "count"),
    _GONE: ngettext_lazy(
        "%(count)d deleted or not visible to you",
        "%(count)d deleted or not visible to you",
        "count",
    ),
}


def _summary(assembled: Assembly) -> str:
    """A sentence such as "3 posts were left out: 2 by mutes, 1 by a filter"."""
    sources = [row.explanation.reason for row in assembled.rows if not row.is_on_page]
    reasons = Counter[str](_SAME.get(source, source) for source in sources)
    for source in reasons.keys() - _LEFT_OUT.keys():
        reasons[_OTHER] += reasons.pop(source)
    reasons[_GONE] = assembled.invisible
    total = reasons.total()
    if not total:
        return _("Nothing was left out: every post that was fetched for this page is on it.")
    parts = [
        str(_LEFT_OUT[reason] % {"count": number})
        for reason, number in reasons.most_common()
        if number
    ]
    text = ngettext(
        "%(count)d post was left out: %(reasons)s.",
        "%(count)d posts were left out: %(reasons)s.",
        total,
    )
    return text % {"count": total, "reasons": pgettext("between parts of a list", ", ").join(parts)}
