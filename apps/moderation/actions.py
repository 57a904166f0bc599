"""Writes of reports."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.staff import log_action, require_permission
from apps.errors import Invalid
from apps.moderation.models import COMMENT_MAX_CHARACTERS, Category, Report, ReportedPost
from apps.moderation.rules import RULES
from apps.posts.queries import visible_posts
from apps.throttling import check_rate_limit

CHANGE_REPORTS = "moderation.change_report"  # as the admin asks
MAX_POSTS = 40  # of one report; further ones are left out


def file_report(
    reporter: User,
    target: User,
    *,
    category: str = "",
    comment: str = "",
    rule_ids: Collection[int] = (),
    post_ids: Collection[int] = (),
) -> Report:
    """Report an account to staff. Of the posts those count that are its own and that the reporter may see.

    Without a category it is a violation where it names rules, else something else.
    Invalid for oneself, an unknown category or rule, too long a comment; TooMany.
    """
    if reporter.pk == target.pk:
        raise Invalid(_("This doesn't work with your own account."), code="self")
    comment = comment.strip()
    category = category or (Category.VIOLATION if rule_ids else Category.OTHER)
    if category not in Category.values:
        raise _invalid("category", _("Choose one of the list."))
    if not RULES.keys() >= set(rule_ids):
        raise _invalid("rule_ids", _("Choose one of the list."))
    if len(comment) > COMMENT_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": COMMENT_MAX_CHARACTERS}
        raise _invalid("comment", message)
    check_rate_limit("report", str(reporter.pk))
    seen = visible_posts(reporter.pk, list(dict.fromkeys(post_ids))[:MAX_POSTS]).posts
    own = [pk for pk, post in seen.items() if post.author_id == target.pk and pk in post_ids]
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
    """Note what was done about a report. NotAllowed without the permission to change reports."""
    require_permission(by, CHANGE_REPORTS)
    report.resolved_at, report.resolved_by, report.outcome = timezone.now(), by, outcome
    report.save(update_fields=["resolved_at", "resolved_by", "outcome"])
    log_action(by, report, f"Resolved: {outcome}")


@transaction.atomic
def reopen_report(report: Report, *, by: User) -> None:
    """Look at a report again. NotAllowed as for `resolve_report`."""
    require_permission(by, CHANGE_REPORTS)
    report.resolved_at = report.resolved_by = None
    report.save(update_fields=["resolved_at", "resolved_by"])
    log_action(by, report, _("Reopened."))


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(message, errors={name: message})
