"""Files, assigns, resolves and reopens reports, and takes measures against posts and accounts.

The admin, pages and the API call these functions. Those that take or undo a measure check the permission, write
the history of the account, and notify optional apps (`hooks.ACTED`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.cache import card_changed
from apps.accounts.models import User
from apps.accounts.signals import access_revoked, announce_account_visibility
from apps.accounts.staff import CHANGE_USERS, log_action, require_permission
from apps.errors import Conflict, Invalid, NotAllowed, NotFound, invalid
from apps.moderation.hooks import ACTED, FILED, Act
from apps.moderation.house_rules import RULES
from apps.moderation.models import (
    COMMENT_MAX_CHARACTERS,
    Category,
    Measure,
    Report,
    ReportedPost,
)
from apps.posts.actions.publish import DELETE_POSTS
from apps.posts.content.post import PostContent
from apps.posts.models import Post
from apps.posts.queries import visible_posts
from apps.posts.store import lock_author
from apps.throttling import check_rate_limit
from apps.timeline import publishing

CHANGE_REPORTS = "moderation.change_report"  # the admin requires the same permission
MAX_POSTS = 40  # per report; more are ignored


def file_report(  # noqa: PLR0913 -- the fields of a report; only two are positional
    reporter: User,
    target: User,
    *,
    category: str = "",
    comment: str = "",
    rule_ids: Collection[int] = (),
    post_ids: Collection[int] = (),
    collection_ids: Sequence[int] = (),
    contents: Mapping[int, PostContent] | None = None,
) -> Report:
    """Report an account to staff. Posts that the account did not write or the reporter cannot see are left out. Only
    the site itself passes the `contents` that it has read, because it may have hidden the posts.

    The default category is VIOLATION with `rule_ids`, else OTHER. Raises Invalid for the reporter's own account, an
    unknown category or rule, or a comment that is too long; also TooMany, and what functions in `FILED` raise.
    """
    if reporter.pk == target.pk:
        raise Invalid(_("You can't do this to your own account."), code="self")
    comment = comment.strip()
    category = category or (Category.VIOLATION if rule_ids else Category.OTHER)
    if category not in Category.values:
        raise invalid("category", _("Choose one of the options."))
    if not RULES.keys() >= set(rule_ids):
        raise invalid("rule_ids", _("Choose one of the options."))
    if len(comment) > COMMENT_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": COMMENT_MAX_CHARACTERS}
        raise invalid("comment", message)
    check_rate_limit("report", str(reporter.pk))
    if contents is None:
        contents = visible_posts(reporter.pk, list(dict.fromkeys(post_ids))[:MAX_POSTS]).posts
    own = [
        post
        for pk, post in sorted(contents.items())
        if post.author_id == target.pk and pk in post_ids
    ]
    with transaction.atomic():
        report = Report.objects.create(
            reporter=reporter,
            target=target,
            category=category,
            comment=comment,
            rule_ids=sorted(set(rule_ids)),
            language=_language_of(reporter, target, own),
        )
        ReportedPost.objects.bulk_create(
            ReportedPost(report=report, post_id=post.id) for post in own
        )
        for tell in FILED:
            tell(report, own, collection_ids)
    return report


def _language_of(reporter: User, target: User, posts: Collection[PostContent]) -> str:
    """The language of a report, without the region, so that staff who read the language find the report."""
    said = (
        *(post.language for post in posts),
        target.post_language,
        target.interface_language,
        reporter.interface_language,
    )
    return next(filter(None, said), "").partition("-")[0].lower()


def require_other(by: User, user_id: int) -> None:
    """Raise NotAllowed if `by` is the account that a decision is about."""
    if by.pk == user_id:
        raise NotAllowed(_("You can't do this to your own account."))


@transaction.atomic
def resolve_report(report: Report, *, by: User, outcome: str) -> None:
    """Close a report with an outcome. Raises NotAllowed without the permission to change reports, or if the report is
    about `by`; Conflict if it has been resolved already.
    """
    require_permission(by, CHANGE_REPORTS)
    require_other(by, report.target_id)
    report.resolved_at, report.resolved_by, report.outcome = timezone.now(), by, outcome
    rows = Report.objects.filter(pk=report.pk, resolved_at=None)
    if not rows.update(resolved_at=report.resolved_at, resolved_by=by, outcome=outcome):
        raise Conflict(_("This report has been resolved already. Reopen it to decide again."))
    log_action(by, report, f"Resolved: {outcome}")


@transaction.atomic
def reopen_report(report: Report, *, by: User) -> None:
    """Open a resolved report again; an open one stays as it is. Raises NotAllowed like `resolve_report`."""
    require_permission(by, CHANGE_REPORTS)
    require_other(by, report.target_id)
    report.resolved_at = report.resolved_by = None
    rows = Report.objects.filter(pk=report.pk, resolved_at__isnull=False)
    if rows.update(resolved_at=None, resolved_by=None):
        log_action(by, report, _("Reopened."))


@transaction.atomic
def assign_report(report: Report, *, by: User, to: User | None) -> None:
    """Assign a report to a member of staff, or to nobody. Raises NotAllowed in the same cases as `resolve_report`."""
    require_permission(by, CHANGE_REPORTS)
    require_other(by, report.target_id)
    report.assignee = to
    report.save(update_fields=["assignee"])
    log_action(by, report, f"Assigned to @{to.handle}." if to else "Unassigned.")


@transaction.atomic
def hide_post(post_id: int, *, by: User, reason: str = "", report: Report | None = None) -> None:
    """Hide a post from everybody except its author.

    Raises NotFound, and NotAllowed without the permission to delete posts.
    """
    post = _locked_post(post_id, by)
    if not post.is_hidden:
        publishing.hide(post.author, post_id, is_hidden=True)
        act = Act(Measure.HIDE, post.author, by, reason, report, post_id)
        _record(act, f"Post {post_id} hidden")


@transaction.atomic
def show_post(post_id: int, *, by: User, reason: str = "") -> None:
    """Show a hidden post again; does nothing if it is not hidden. Raises the same errors as `hide_post`."""
    post = _locked_post(post_id, by)
    if post.is_hidden:
        publishing.hide(post.author, post_id, is_hidden=False)
        act = Act(Measure.HIDE, post.author, by, reason, post_id=post_id, is_taken_back=True)
        _record(act, f"Post {post_id} shown again")


@transaction.atomic
def mark_sensitive(
    post_id: int, *, by: User, reason: str = "", report: Report | None = None
) -> None:
    """Put a post's pictures behind a button that its author cannot remove. Raises the same errors as `hide_post`."""
    post = _locked_post(post_id, by)
    if not post.is_marked_sensitive:
        publishing.mark_sensitive(post.author, post_id, is_marked=True)
        act = Act(Measure.SENSITIVE, post.author, by, reason, report, post_id)
        _record(act, f"Post {post_id} marked as sensitive")


@transaction.atomic
def unmark_sensitive(post_id: int, *, by: User, reason: str = "") -> None:
    """Undo `mark_sensitive`; does nothing if the post is not marked. Raises the same errors as `hide_post`."""
    post = _locked_post(post_id, by)
    if post.is_marked_sensitive:
        publishing.mark_sensitive(post.author, post_id, is_marked=False)
        act = Act(Measure.SENSITIVE, post.author, by, reason, post_id=post_id, is_taken_back=True)
        _record(act, f"Post {post_id} not marked as sensitive any more")


@transaction.atomic
def limit_user(user: User, *, by: User, reason: str = "", report: Report | None = None) -> None:
    """Limit an account: timelines and search show its posts to followers only. Raises NotAllowed like `freeze_user`."""
    require_permission(by, CHANGE_USERS, over=user)
    _set_limit(user, timezone.now())
    _record(Act(Measure.LIMIT, user, by, reason, report), "Limited")


@transaction.atomic
def unlimit_user(user: User, *, by: User, reason: str = "") -> None:
    """End the limit of an account. Raises NotAllowed in the same cases as `freeze_user`."""
    require_permission(by, CHANGE_USERS, over=user)
    _set_limit(user, None)
    _record(Act(Measure.LIMIT, user, by, reason, is_taken_back=True), "Not limited any more")


def _set_limit(user: User, since: datetime | None) -> None:
    user.limited_at = since
    user.save(update_fields=["limited_at"])
    card_changed(user.pk)
    announce_account_visibility(user.pk)


@transaction.atomic
def freeze_user(user: User, *, by: User, reason: str = "", report: Report | None = None) -> None:
    """End the sessions and tokens of an account, and prevent logins; its posts stay visible.

    Raises NotAllowed without the permission to change accounts, and for a superuser unless `by` is one.
    """
    require_permission(by, CHANGE_USERS, over=user)
    user.is_active = False
    user.save(update_fields=["is_active"])
    access_revoked.send(User, user_id=user.pk)
    _record(Act(Measure.FREEZE, user, by, reason, report), "Frozen")


@transaction.atomic
def unfreeze_user(user: User, *, by: User, reason: str = "") -> None:
    """Let the owner of a frozen account log in again. Raises NotAllowed in the same cases as `freeze_user`, and while
    the account is suspended or deleted.
    """
    require_permission(by, CHANGE_USERS, over=user)
    if user.is_suspended:
        raise NotAllowed(_("This account is suspended or deleted."))
    user.is_active = True
    user.save(update_fields=["is_active"])
    card_changed(user.pk)
    _record(Act(Measure.FREEZE, user, by, reason, is_taken_back=True), "Not frozen any more")


@transaction.atomic
def suspend_user(user: User, *, by: User, reason: str, report: Report | None = None) -> None:
    """Hide an account and its posts, and end its sessions and tokens, from the next request on.

    Raises NotAllowed without the permission to change accounts, and for a superuser unless `by` is one.
    """
    require_permission(by, CHANGE_USERS, over=user)
    user.suspended_at, user.suspension_reason, user.is_active = timezone.now(), reason, False
    _save_suspension(user)
    access_revoked.send(User, user_id=user.pk)
    announce_account_visibility(user.pk)
    _record(Act(Measure.SUSPEND, user, by, reason, report), "Suspended")


# The measures that change the state of an account.
ABOUT_ACCOUNT: dict[Measure, Callable[..., None]] = {
    Measure.LIMIT: limit_user,
    Measure.FREEZE: freeze_user,
    Measure.SUSPEND: suspend_user,
}


def is_taken(measure: Measure, user: User) -> bool:
    """Whether an account is already in the state that `measure`, one of `ABOUT_ACCOUNT`, leads to."""
    states = {
        Measure.LIMIT: user.limited_at is not None,
        Measure.FREEZE: not user.is_active,
        Measure.SUSPEND: user.is_suspended,
    }
    return states[measure]


@transaction.atomic
def take_once(measure: Measure, user: User, *, by: User, reason: str, report: Report) -> None:
    """Take one of `ABOUT_ACCOUNT`, unless it is in force already. Raises NotAllowed in the same cases as `freeze_user`,
    even then, because the measure closes reports.
    """
    # locked, because somebody may close the account now without a report
    user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    require_permission(by, CHANGE_USERS, over=user)
    if not is_taken(measure, user):
        ABOUT_ACCOUNT[measure](user, by=by, reason=reason, report=report)


@transaction.atomic
def restore_user(user: User, *, by: User, reason: str) -> None:
    """End a suspension, and a freeze if there is one; sessions and tokens stay revoked.

    Raises NotAllowed in the same cases as `suspend_user`, and if the account was deleted.
    """
    require_permission(by, CHANGE_USERS, over=user)
    if user.erased_at is not None:
        raise NotAllowed(_("The owner has deleted this account."))
    user.suspended_at, user.suspension_reason, user.is_active = None, "", True
    _save_suspension(user)
    announce_account_visibility(user.pk)
    _record(Act(Measure.SUSPEND, user, by, reason, is_taken_back=True), "Restored")


def _save_suspension(user: User) -> None:
    user.save(update_fields=["suspended_at", "suspension_reason", "is_active"])
    card_changed(user.pk)


def _locked_post(post_id: int, by: User) -> Post:
    """A post with its author, whose counts row is locked. Raises NotFound, or NotAllowed if `by` may not act on it."""
    post = Post.objects.filter(pk=post_id, deleted_at=None).select_related("author").first()
    require_permission(by, DELETE_POSTS, over=post.author if post else None)
    if post is None:
        raise NotFound(_("There is no such post."))
    lock_author(post.author)
    post.refresh_from_db(fields=["hidden_at", "is_marked_sensitive"])
    return post


def _record(act: Act, what: str) -> None:
    log_action(act.by, act.user, f"{what}: {act.reason}" if act.reason else f"{what}.")
    for tell in ACTED:
        tell(act)
