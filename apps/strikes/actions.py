"""Takes measures and undoes them; records strikes, appeals, notes and evidence.

Except for `warn`, measures are taken by `apps.moderation.actions`, whose functions the admin and the API also call.
`record` adds the strike in the transaction of the measure.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from functools import partial

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps import sql
from apps.accounts.models import User
from apps.accounts.staff import log_action, require_permission
from apps.errors import Conflict, Invalid, NotAllowed, NotFound, invalid
from apps.moderation import actions as acts
from apps.moderation.actions import CHANGE_REPORTS, require_other, resolve_report
from apps.moderation.hooks import Act
from apps.moderation.models import Measure, Report
from apps.notifications.actions import tell_of_moderation
from apps.posts.actions.publish import DELETE_POSTS
from apps.posts.cache import load_contents
from apps.posts.content.post import PostContent
from apps.posts.models import OPEN, Kind, Post
from apps.strikes.models import PER_POST, TEXT_MAX_CHARACTERS, Appeal, Evidence, Note, Strike

PURGE_BATCH = 1000
EVIDENCE_KEPT = timedelta(days=90)  # after the report was resolved, or after the strike


def record(act: Act) -> None:
    """Record a strike, or the fact that its measure was taken back, and notify the person."""
    if act.is_taken_back:
        _in_force(act).update(undone_at=timezone.now(), undone_by=act.by)
    else:
        content = load_contents([act.post_id]).get(act.post_id) if act.post_id else None
        Strike.objects.create(
            user=act.user,
            measure=act.measure,
            post_id=act.post_id,
            by=act.by,
            report=act.report,
            rule_ids=act.report.rule_ids if act.report else [],
            text=act.reason[:TEXT_MAX_CHARACTERS],
            evidence=seen(content) if content else {},
        )
    tell_of_moderation(act.user)


def _in_force(act: Act) -> QuerySet[Strike]:
    """The strikes that an act takes back. The end of a suspension also ends a freeze."""
    measures = [act.measure]
    if act.measure == Measure.SUSPEND:
        measures.append(Measure.FREEZE)
    rows = Strike.objects.filter(user=act.user, measure__in=measures, undone_at=None)
    return rows.filter(post_id=act.post_id)


def seen(content: PostContent) -> dict[str, object]:
    """A post as people saw it, with the descriptions of its pictures (their files are deleted with the post)."""
    return {
        "body": content.body,
        "content_warning": content.content_warning,
        "pictures": [picture.alt for picture in content.pictures],
        "poll": list(content.poll.options) if content.poll else [],
        "is_restricted": content.visibility not in OPEN,
    }


def keep_evidence(
    report: Report, posts: Sequence[PostContent], _collection_ids: Sequence[int]
) -> None:
    """Store copies of reported posts, because their authors may edit or delete them."""
    Evidence.objects.bulk_create(
        Evidence(report=report, post_id=post.id, seen=seen(post)) for post in posts
    )


def purge() -> None:
    """Delete evidence after `EVIDENCE_KEPT`, unless a decision about it is pending."""
    before = timezone.now() - EVIDENCE_KEPT
    waiting = Appeal.objects.filter(decided_at=None)
    appealed = Report.objects.filter(strikes__appeal__in=waiting)
    reported = Evidence.objects.filter(report__resolved_at__lt=before)
    sql.purge(reported.exclude(report__in=appealed).order_by("pk"))
    old = Strike.objects.filter(created_at__lt=before).exclude(evidence={})
    decided = old.exclude(appeal__in=waiting).order_by("created_at")
    ids = list(decided.values_list("pk", flat=True)[:PURGE_BATCH])
    Strike.objects.filter(pk__in=ids).update(evidence={})


# -- measures ------------------------------------------------------------------------------------


@transaction.atomic
def decide(
    report: Report, measure: str, *, by: User, text: str = "", post_ids: Collection[int] = ()
) -> int:
    """Take a measure about a report; close this report and others that the measure answers, and return their number.

    The measure "" dismisses the report; the reported person sees the `text` of any other measure. Measures about posts
    need `post_ids` of the report; deleted posts and reposts are left out. Raises Invalid, NotFound, Conflict for a
    resolved report, and NotAllowed without the measure's permissions and for reports about oneself.
    """
    require_permission(by, CHANGE_REPORTS)
    require_other(by, report.target_id)
    _check_length(text)
    opened = _locked_reports(report.target_id)
    if report.pk not in opened:
        raise Conflict(_("This report has been resolved already. Reopen it to decide again."))
    report = opened[report.pk]
    named = _posts_of(report)
    if not named.issuperset(post_ids):
        raise NotFound(_("There is no such post."))
    if measure:
        _take(Measure(measure), report, by=by, text=text, post_ids=post_ids)
    decided = set(post_ids) if measure in PER_POST else named
    closed = [one for one in opened.values() if one == report or _answers(measure, one, decided)]
    for one in closed:
        resolve_report(one, by=by, outcome=text)
    return len(closed)


def _locked_reports(target_id: int) -> dict[int, Report]:
    """The open reports about an account with their posts. The locks serialise decisions about one account."""
    rows = Report.objects.select_for_update(of=("self",)).filter(target=target_id, resolved_at=None)
    found = rows.select_related("target").prefetch_related("posts").order_by("pk")
    return {row.pk: row for row in found}


def _posts_of(report: Report) -> set[int]:
    return {row.post_id for row in report.posts.all()}


def _answers(measure: str, other: Report, decided: Collection[int]) -> bool:
    """Whether a measure also answers another report about the same account: every report if the account is now closed,
    and otherwise only reports whose posts are all in `decided`. A dismissal answers no other report.
    """
    if measure in {Measure.FREEZE, Measure.SUSPEND}:
        return True
    posts = _posts_of(other)
    return bool(measure and posts) and posts.issubset(decided)


def _take(
    measure: Measure, report: Report, *, by: User, text: str, post_ids: Collection[int]
) -> None:
    """Take a measure. A measure about the account that is in force already is not taken again, except a warning."""
    if measure in PER_POST:
        there = Post.objects.filter(pk__in=post_ids, deleted_at=None).exclude(kind=Kind.REPOST)
        posts = sorted(there.values_list("pk", flat=True))
        if not posts:
            raise Invalid(_("Choose a post."), code="no_post")
        for post_id in posts:
            _ABOUT_POST[measure](post_id, by=by, reason=text, report=report)
    elif measure == Measure.WARN:
        warn(report.target, by=by, reason=text, report=report)
    else:
        acts.take_once(measure, report.target, by=by, reason=text, report=report)


@transaction.atomic
def warn(user: User, *, by: User, reason: str = "", report: Report | None = None) -> None:
    """Record a strike without other consequences. Raises NotAllowed without the permission to change reports, and for a
    superuser unless `by` is one.
    """
    require_permission(by, CHANGE_REPORTS, over=user)
    log_action(by, user, f"Warned: {reason}" if reason else "Warned.")
    record(Act(Measure.WARN, user, by, reason, report))


@transaction.atomic
def take_back(strike: Strike, *, by: User, reason: str = "") -> None:
    """Undo the measure of a strike; does nothing if it has been undone. Raises NotAllowed without the measure's
    permission, for one's own strikes, and in the cases of `unfreeze_user` and `restore_user`.
    """
    require_other(by, strike.user_id)
    rows = Strike.objects.select_for_update(of=("self",)).select_related("user")
    strike = rows.get(pk=strike.pk)
    if strike.undone_at is None:
        _UNDO[Measure(strike.measure)](strike, by=by, reason=reason)


def _withdraw_warning(strike: Strike, *, by: User, reason: str) -> None:
    _close(strike, "Warning withdrawn", CHANGE_REPORTS, by=by, reason=reason)


def _close(strike: Strike, what: str, permission: str, *, by: User, reason: str) -> None:
    require_permission(by, permission, over=strike.user)
    log_action(by, strike.user, f"{what}: {reason}" if reason else f"{what}.")
    Strike.objects.filter(pk=strike.pk).update(undone_at=timezone.now(), undone_by=by)
    tell_of_moderation(strike.user)


def _about_account(act: Callable[..., None], strike: Strike, *, by: User, reason: str) -> None:
    act(strike.user, by=by, reason=reason)


def _about_post(act: Callable[..., None], strike: Strike, *, by: User, reason: str) -> None:
    if Post.objects.filter(pk=strike.post_id or 0, deleted_at=None).exists():
        act(strike.post_id, by=by, reason=reason)
    else:  # the post has been deleted: only the strike is taken back
        _close(strike, "Strike withdrawn", DELETE_POSTS, by=by, reason=reason)


_ABOUT_POST: dict[Measure, Callable[..., None]] = {
    Measure.HIDE: acts.hide_post,
    Measure.SENSITIVE: acts.mark_sensitive,
}
_UNDO: dict[Measure, Callable[..., None]] = {
    Measure.WARN: _withdraw_warning,
    Measure.HIDE: partial(_about_post, acts.show_post),
    Measure.SENSITIVE: partial(_about_post, acts.unmark_sensitive),
    Measure.LIMIT: partial(_about_account, acts.unlimit_user),
    Measure.FREEZE: partial(_about_account, acts.unfreeze_user),
    Measure.SUSPEND: partial(_about_account, acts.restore_user),
}
_TAKEN = {Measure.WARN, *acts.ABOUT_ACCOUNT, *_ABOUT_POST}
if untaken := set(Measure) - _UNDO.keys() or set(Measure) - _TAKEN:
    raise TypeError(f"no function takes or undoes {', '.join(untaken)}")


@transaction.atomic
def add_note(user: User, *, by: User, text: str) -> Note:
    """Add a note for staff about an account. Raises Invalid, or NotAllowed without the permission to change reports."""
    require_permission(by, CHANGE_REPORTS)
    return Note.objects.create(user=user, by=by, text=_clean(text))


# -- appeals -------------------------------------------------------------------------------------


def appeal(strike: Strike, *, text: str) -> Appeal:
    """Appeal against a strike. Raises Invalid, or NotAllowed unless `strike.may_be_appealed`."""
    text = _clean(text)
    if not strike.may_be_appealed:
        raise NotAllowed(_("This decision was taken back, has an appeal, or is too old to appeal."))
    try:
        with transaction.atomic():
            return Appeal.objects.create(strike=strike, text=text)
    except IntegrityError:
        raise NotAllowed(_("You have appealed against this decision already.")) from None


@transaction.atomic
def answer_appeal(row: Appeal, *, by: User, is_accepted: bool, text: str = "") -> None:
    """Accept an appeal, which takes the measure back, or reject it. Notifies the person.

    Raises Invalid for a text that is too long; NotAllowed without the permission to change reports, for one's own
    appeals, if the appeal has been answered already and, when accepting, in the cases of `take_back`.
    """
    require_permission(by, CHANGE_REPORTS)
    _check_length(text)
    rows = Appeal.objects.select_for_update(of=("self",)).select_related("strike__user")
    row = rows.get(pk=row.pk)
    require_other(by, row.strike.user_id)
    if row.decided_at is not None:
        raise NotAllowed(_("This appeal has been answered already."))
    row.decided_at, row.decided_by = timezone.now(), by
    row.is_accepted, row.answer = is_accepted, text
    row.save()
    what = "Appeal accepted" if is_accepted else "Appeal rejected"
    log_action(by, row.strike.user, f"{what}: {text}" if text else f"{what}.")
    if is_accepted and row.strike.undone_at is None:
        take_back(row.strike, by=by, reason=text)
    else:
        tell_of_moderation(row.strike.user)


def _clean(text: str) -> str:
    text = text.strip()
    if not text:
        raise invalid("text", _("Write something."), "blank")
    _check_length(text)
    return text


def _check_length(text: str) -> None:
    if len(text) > TEXT_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": TEXT_MAX_CHARACTERS}
        raise invalid("text", message)
