"""Queries for the queue, for strikes and appeals, and for the log of staff's acts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.admin.models import LogEntry
from django.core import signing
from django.db.models import Count, Prefetch, Q, QuerySet
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import User
from apps.errors import BadRequest, NotFound
from apps.moderation.models import Measure, Report, ReportedPost
from apps.moderation.records import MAX_SHOWN, Version, reported_posts
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification
from apps.posts.models import Poll, Post
from apps.strikes.models import PER_POST, Appeal, Evidence, Note, Strike

PER_PAGE = 20
MAX_COUNTED = 1000
SALT, TOKEN_SECONDS = "apps.strikes", 24 * 3600
STATES = {
    "open": gettext_lazy("Open"),
    "mine": gettext_lazy("Mine"),
    "unassigned": gettext_lazy("Unassigned"),
    "resolved": gettext_lazy("Resolved"),
}


class Filter(NamedTuple):
    """The reports that a page of the queue shows. `after` is the number of the last report on the previous page."""

    state: str = "open"
    language: str = ""
    after: int = 0

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Filter":
        """Read request parameters. Raises BadRequest for an unknown state or an invalid number."""
        state, after = query.get("state") or "open", query.get("after") or "0"
        if state not in STATES:
            raise BadRequest(_("There is no such list."), code="bad_parameter")
        if not (after.isascii() and after.isdecimal()) or len(after) > 18:
            raise BadRequest(_("This is not a number."), code="bad_cursor")
        return cls(state, (query.get("language") or "")[:10].lower(), int(after))

    def rows(self, staff: User) -> QuerySet[Report]:
        """All reports of the list, except those about `staff`. Open reports are sorted oldest first, so that nobody
        waits forever; resolved reports are sorted newest first.
        """
        rows = Report.objects.filter(resolved_at__isnull=self.state != "resolved")
        rows = rows.exclude(target=staff)
        if self.state == "mine":
            rows = rows.filter(assignee=staff)
        elif self.state == "unassigned":
            rows = rows.filter(assignee=None)
        if self.language:
            rows = rows.filter(language=self.language)
        return rows.order_by("-pk" if self.state == "resolved" else "pk")

    def rest(self, staff: User) -> QuerySet[Report]:
        """The reports that follow `after`."""
        beyond = {"pk__lt" if self.state == "resolved" else "pk__gt": self.after}
        rows = self.rows(staff)
        return rows.filter(**beyond) if self.after else rows

    @property
    def query(self) -> dict[str, str]:
        """The filter as request parameters, without `after`."""
        chosen = {"state": self.state, "language": self.language}
        return {name: value for name, value in chosen.items() if value}


@dataclass(frozen=True, slots=True)
class QueueRow:
    report: Report
    post: Post | None  # the first reported post
    posts: int


def queue(chosen: Filter, staff: User) -> tuple[list[QueueRow], int]:
    """A page of the queue, from at most four queries, and the `after` of the next page (0 at the end)."""
    named = Prefetch("posts", ReportedPost.objects.order_by("pk"))
    found = list(
        chosen.rest(staff)
        .select_related("target", "reporter", "assignee")
        .prefetch_related(named, "strikes")[: PER_PAGE + 1]
    )
    shown = found[:PER_PAGE]
    first = {row.pk: row.posts.all()[0].post_id for row in shown if row.posts.all()}
    posts = Post.objects.in_bulk(list(first.values()))
    rows = [QueueRow(row, posts.get(first.get(row.pk, 0)), len(row.posts.all())) for row in shown]
    return rows, shown[-1].pk if len(found) > PER_PAGE else 0


def languages() -> list[str]:
    """The languages of the open reports (only of the oldest thousand)."""
    oldest = Report.objects.filter(resolved_at=None).order_by("pk")[:MAX_COUNTED]
    return sorted({row for row in oldest.values_list("language", flat=True) if row})


@dataclass(frozen=True, slots=True)
class CasePost:
    """A reported post as it is and, if that differs, as it was when it was reported.

    `seen` is the evidence, if the post has been deleted. `strikes` are the strikes in force for this post.
    """

    post: Post
    now: Version
    then: Version | None
    options: Sequence[str]
    seen: dict[str, Any] | None
    strikes: Sequence[Strike]


def case_posts(report: Report) -> list[CasePost]:
    """The posts of a report. The number of queries does not depend on the number of posts."""
    shown = reported_posts(report)
    ids = [one.post.pk for one in shown]
    kept = dict(Evidence.objects.filter(report=report).values_list("post_id", "seen"))
    polls = dict(Poll.objects.filter(post__in=ids).values_list("post", "options"))
    strikes = list(Strike.objects.filter(user=report.target_id, post_id__in=ids, undone_at=None))
    return [
        CasePost(
            one.post,
            one.now,
            one.then,
            polls.get(one.post.pk, ()),
            kept.get(one.post.pk) if one.post.deleted_at else None,
            [strike for strike in strikes if strike.post_id == one.post.pk],
        )
        for one in shown
    ]


def case_strikes(user: User) -> list[Strike]:
    """The newest strikes of an account, with their appeals."""
    rows = Strike.objects.filter(user=user).select_related("by", "undone_by", "appeal")
    return list(rows.order_by("-pk")[:MAX_SHOWN])


def notes_of(user: User) -> list[Note]:
    return list(Note.objects.filter(user=user).select_related("by").order_by("-pk")[:MAX_SHOWN])


def account_figures(user: User) -> dict[str, int]:
    """The numbers of all and of open reports about an account and of reports by it (each at most MAX_COUNTED), and of
    its strikes, all and in force.
    """
    against = Report.objects.filter(target=user)
    strikes = Strike.objects.filter(user=user).aggregate(
        all=Count("pk"), in_force=Count("pk", filter=Q(undone_at=None))
    )
    return {
        "reported": against[:MAX_COUNTED].count(),
        "open": against.filter(resolved_at=None)[:MAX_COUNTED].count(),
        "filed": Report.objects.filter(reporter=user)[:MAX_COUNTED].count(),
        "strikes": strikes["all"],
        "in_force": strikes["in_force"],
    }


def next_case(chosen: Filter, staff: User, report: Report, *, back: bool = False) -> int | None:
    """The number of the report after this one in the queue or, with `back`, before it; None at the end."""
    rows = chosen.rows(staff)
    is_up = (chosen.state == "resolved") == back
    if back:
        rows = rows.reverse()
    rows = rows.filter(**{"pk__gt" if is_up else "pk__lt": report.pk})
    return rows.values_list("pk", flat=True).first()


def open_appeals(after: int = 0) -> tuple[list[Appeal], int]:
    """A page of unanswered appeals, oldest first, and the `after` of the next page (0 at the end)."""
    rows = Appeal.objects.filter(decided_at=None, pk__gt=after).order_by("pk")
    found = list(rows.select_related("strike__user", "strike__by")[: PER_PAGE + 1])
    shown = found[:PER_PAGE]
    return shown, shown[-1].pk if len(found) > PER_PAGE else 0


# -- for the person -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnStrike:
    """A strike as the person reads it, in the language of the request."""

    strike: Strike

    @property
    def url(self) -> str:
        return f"{reverse('settings_strikes')}#strike-{self.strike.pk}"

    @property
    def what(self) -> str:
        texts = _WHAT if self.strike.undone_at is None else _FORMER
        return texts[Measure(self.strike.measure)]()

    @property
    def appeal(self) -> Appeal | None:
        return getattr(self.strike, "appeal", None)

    @property
    def is_about_post(self) -> bool:
        return self.strike.measure in PER_POST


_WHAT = {
    Measure.WARN: lambda: _("You have been warned. Nothing else has changed."),
    Measure.HIDE: lambda: _("One of your posts is hidden. Only you can still see it."),
    Measure.SENSITIVE: lambda: _(
        "The pictures of one of your posts are hidden behind a button that you cannot remove."
    ),
    Measure.LIMIT: lambda: _(
        "Your account is limited. Only your followers see your posts on their pages and get notifications from you."
    ),
    Measure.FREEZE: lambda: _(
        "Your account is frozen. Nobody can log in to it; your posts are still here."
    ),
    Measure.SUSPEND: lambda: _(
        "Your account is suspended. Nobody can log in to it, and nobody sees it or its posts."
    ),
}
_FORMER = {  # for strikes that were taken back
    Measure.WARN: lambda: _("You were warned."),
    Measure.HIDE: lambda: _("One of your posts was hidden."),
    Measure.SENSITIVE: lambda: _("The pictures of one of your posts were hidden behind a button."),
    Measure.LIMIT: lambda: _("Your account was limited."),
    Measure.FREEZE: lambda: _("Your account was frozen."),
    Measure.SUSPEND: lambda: _("Your account was suspended."),
}


def own_strikes(user: User) -> list[OwnStrike]:
    """The newest strikes of an account, at most MAX_COUNTED, newest first."""
    rows = Strike.objects.filter(user=user).select_related("appeal").order_by("-pk")
    return [OwnStrike(row) for row in rows[:MAX_COUNTED]]


def own_strike(user: User, number: int) -> Strike:
    """One of an account's strikes. Raises NotFound for other accounts' strikes."""
    strike = Strike.objects.filter(user=user, pk=number).select_related("appeal").first()
    if strike is None:
        raise NotFound(_("There is no such decision."))
    return strike


def token_of(user: User) -> str:
    """A token with which the owner of a closed account can read its strikes and appeal against them. The token gives no
    other access, and is valid for a day, unless the account gets a new password or is reopened.
    """
    return signing.dumps([user.pk, _fingerprint(user)], salt=SALT)


def _fingerprint(user: User) -> str:
    """A string that changes with the password."""
    return salted_hmac(SALT, user.password).hexdigest()


def address_of_closed(user: User) -> str:
    """The address that shows the owner why an account is closed; empty if no strike closed it."""
    closing = (Measure.FREEZE, Measure.SUSPEND)
    if Strike.objects.filter(user=user, measure__in=closing, undone_at=None).exists():
        return reverse("strikes_closed", args=[token_of(user)])
    return ""


def appeals_that_wait() -> Iterator[tuple[str, str]]:
    """A sentence about waiting appeals, with a link, for the first staff page."""
    if number := Appeal.objects.filter(decided_at=None)[:MAX_COUNTED].count():
        text = ngettext(
            "%(count)s appeal is waiting for an answer.",
            "%(count)s appeals are waiting for an answer.",
            number,
        )
        yield text % {"count": number}, reverse("admin:strikes_appeals")


def owner_of(token: str) -> User:
    """The owner for whom `token_of` made a token. Raises NotFound if the token is invalid or has expired."""
    try:
        number, password = signing.loads(token, salt=SALT, max_age=TOKEN_SECONDS)
    except signing.BadSignature:
        number, password = 0, ""
    user = User.objects.filter(pk=number, is_active=False).first()
    if user is None or not constant_time_compare(password, _fingerprint(user)):
        raise NotFound(_("This link no longer works. Log in to get a new one."))
    return user


def what_notifications_are_about(
    viewer: User, rows: Sequence[Notification]
) -> dict[int, OwnStrike]:
    """Maps the ids of those notifications in `rows` that are about strikes to the viewer's newest strike, if any."""
    told = [row.pk for row in rows if row.kind == NotificationKind.STRIKE]
    newest = (
        Strike.objects.filter(user=viewer).select_related("appeal").order_by("-pk").first()
        if told
        else None
    )
    return {} if newest is None else dict.fromkeys(told, OwnStrike(newest))


# -- the log -------------------------------------------------------------------------------------


def log_lines(rows: QuerySet[LogEntry], maximum: int) -> Iterator[list[str]]:
    """Entries of the log as lines of a table, newest first."""
    found = rows.select_related("user", "content_type").order_by("-pk")[:maximum]
    for row in found.iterator(chunk_size=1000):
        kind = row.content_type.model if row.content_type else ""
        when, number = row.action_time.isoformat(), row.object_id or ""
        yield [when, row.user.handle, kind, number, row.object_repr, row.get_change_message()]
