"""Files, assigns, resolves and reopens reports; warns, suspends and restores accounts."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.cache import card_changed
from apps.accounts.models import User
from apps.accounts.signals import access_revoked, announce_account_visibility
from apps.accounts.staff import CHANGE_USERS, log_action, require_permission
from apps.errors import Invalid, NotAllowed, invalid
from apps.graph.queries import exact_relations
from apps.moderation.house_rules import RULES
from apps.moderation.models import COMMENT_MAX_CHARACTERS, Category, Report, ReportedPost
from apps.posts.actions.drafts import Draft
from apps.posts.models import Visibility
from apps.posts.queries import visible_posts
from apps.throttling import check_rate_limit
from apps.timeline.publishing import delete, publish

CHANGE_REPORTS = "moderation.change_report"  # the admin asks for the same permission
MAX_POSTS = 40  # per report; more are ignored


def file_report(
    reporter: User,
    target: User,
    *,
    category: str = "",
    comment: str = "",
    rule_ids: Collection[int] = (),
    post_ids: Collection[int] = (),
) -> Report:
    """Report an account to staff, with those posts that the account wrote and the reporter can see.

    The default category is VIOLATION if there are rules, else OTHER.
    Invalid for the reporter's own account, an unknown category or rule, or too long a comment; TooMany.
    """
    if reporter.pk == target.pk:
        raise Invalid(_("This doesn't work with your own account."), code="self")
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
    visible = visible_posts(reporter.pk, list(dict.fromkeys(post_ids))[:MAX_POSTS]).posts
    own = [pk for pk, post in visible.items() if post.author_id == target.pk and pk in post_ids]
    with transaction.atomic():
        report = Report.objects.create(
            reporter=reporter,
            target=target,
            category=category,
            comment=comment,
            rule_ids=sorted(set(rule_ids)),
        )
        ReportedPost.objects.bulk_create(ReportedPost(report=report, post_id=pk) for pk in own)
    return report


@transaction.atomic
def resolve_report(report: Report, *, by: User, outcome: str) -> None:
    """Close a report with an outcome. NotAllowed without the permission to change reports."""
    require_permission(by, CHANGE_REPORTS)
    report.resolved_at, report.resolved_by, report.outcome = timezone.now(), by, outcome
    report.save(update_fields=["resolved_at", "resolved_by", "outcome"])
    log_action(by, report, f"Resolved: {outcome}")


@transaction.atomic
def reopen_report(report: Report, *, by: User) -> None:
    """Open a resolved report again. NotAllowed like `resolve_report`."""
    require_permission(by, CHANGE_REPORTS)
    report.resolved_at = report.resolved_by = None
    report.save(update_fields=["resolved_at", "resolved_by"])
    log_action(by, report, _("Reopened."))


@transaction.atomic
def assign_report(report: Report, *, by: User, to: User | None) -> None:
    """Assign a report to a member of staff, or to nobody. NotAllowed like `resolve_report`."""
    require_permission(by, CHANGE_REPORTS)
    report.assignee = to
    report.save(update_fields=["assignee"])
    log_action(by, report, f"Taken on by @{to.handle}." if to else "Given back.")


@transaction.atomic
def warn_user(user: User, *, by: User, reason: str) -> None:
    """Send an account a private message with the reason, from the member of staff, who can be answered.

    NotAllowed without the permission to change reports, for a superuser, or if one of them blocks the other.
    """
    require_permission(by, CHANGE_REPORTS, over=user)
    if exact_relations(by.pk, [user.pk]).severed:
        raise NotAllowed(_("You can't write to this account."))
    publish(by, Draft(f"@{user.handle} {reason}", visibility=Visibility.MENTIONED))
    log_action(by, user, f"Warned: {reason}")


@transaction.atomic
def take_down(post_id: int, report: Report, *, by: User, reason: str) -> None:
    """Delete a reported post for a reason. NotFound, NotAllowed without the permission to delete posts."""
    delete(post_id, by=by)
    log_action(by, report, f"Post {post_id} taken down: {reason}")


@transaction.atomic
def suspend_user(user: User, *, by: User, reason: str) -> None:
    """Hide an account and its posts, and end its sessions and tokens, from the next request on.

    NotAllowed without the permission to change accounts, and for a superuser unless `by` is one.
    """
    require_permission(by, CHANGE_USERS, over=user)
    user.suspended_at, user.suspension_reason, user.is_active = timezone.now(), reason, False
    _save_suspension(user)
    access_revoked.send(User, user_id=user.pk)
    announce_account_visibility(user.pk)
    log_action(by, user, f"Suspended: {reason}")


@transaction.atomic
def restore_user(user: User, *, by: User, reason: str) -> None:
    """End a suspension; sessions and tokens stay revoked. NotAllowed like `suspend_user`, and for deleted
    accounts.
    """
    require_permission(by, CHANGE_USERS, over=user)
    if user.erased_at is not None:
        raise NotAllowed(_("Its owner has deleted this account."))
    user.suspended_at, user.suspension_reason, user.is_active = None, "", True
    _save_suspension(user)
    announce_account_visibility(user.pk)
    log_action(by, user, f"Restored: {reason}")


def _save_suspension(user: User) -> None:
    user.save(update_fields=["suspended_at", "suspension_reason", "is_active"])
    card_changed(user.pk)
