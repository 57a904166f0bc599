"""Actions of staff through the API. Most lock the account or report, and do nothing if it is already in the new state.

The functions that they call (in `apps.moderation.actions`, and in `apps.strikes` if it is installed) check permissions
and write the history and strikes. The permission to change accounts is therefore not checked if an account is already
in the new state. Nobody may act on their own account.
"""

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.staff import log_action, require_permission
from apps.admin_api.queries import account_by_id, report_by_id
from apps.errors import Invalid, NotFound
from apps.moderation import actions as acts
from apps.moderation.actions import CHANGE_REPORTS, require_other
from apps.moderation.models import Measure, Report

# Mastodon's names for the measures against an account.
MEASURES = {
    "none": Measure.WARN,
    "silence": Measure.LIMIT,
    "disable": Measure.FREEZE,
    "suspend": Measure.SUSPEND,
}


@transaction.atomic
def take_measure(
    user_id: int, measure: Measure, *, by: User, text: str = "", report_id: int | None = None
) -> None:
    """Take a measure against an account; with `report_id`, this also decides that report.

    Raises NotFound, Conflict for a resolved report, NotAllowed for one's own account or without the permissions (for
    the measure, and with a report to change reports), and Invalid for a warning if `apps.strikes` is not installed.
    """
    require_other(by, user_id)
    if report_id is not None:
        report = report_by_id(report_id, by)
        if report.target_id != user_id:
            raise NotFound(_("There is no such report."))
        _decide(report, measure, by=by, text=text)
    elif measure == Measure.WARN:
        _strikes().warn(account_by_id(user_id), by=by, reason=text)
    else:
        _take(measure, user_id, by=by, text=text)


def _decide(report: Report, measure: Measure, *, by: User, text: str) -> None:
    """Decide a report through `apps.strikes`. If that is not installed, take the measure and resolve the report."""
    if measure == Measure.WARN or apps.is_installed("apps.strikes"):
        _strikes().decide(
            report, measure, by=by, text=text
        )  # `decide` locks the reports first, then the account
        return
    acts.resolve_report(report, by=by, outcome=text)
    _take(measure, report.target_id, by=by, text=text, report=report)


def _take(
    measure: Measure, user_id: int, *, by: User, text: str, report: Report | None = None
) -> None:
    user = _locked_account(user_id, by)
    if not acts.is_taken(measure, user):
        acts.ABOUT_ACCOUNT[measure](user, by=by, reason=text, report=report)


def _strikes() -> Any:
    if not apps.is_installed("apps.strikes"):
        raise Invalid(_("This site has no warnings."), code="no_warnings")
    from apps.strikes import actions  # noqa: PLC0415 -- an optional app

    return actions


@transaction.atomic
def unsilence(user_id: int, *, by: User) -> None:
    """Lift the limit of an account. Raises NotFound, or NotAllowed without the permission."""
    user = _locked_account(user_id, by)
    if user.limited_at is not None:
        acts.unlimit_user(user, by=by)


@transaction.atomic
def enable(user_id: int, *, by: User) -> None:
    """Lift the freeze of an account. Raises NotFound, or NotAllowed without the permission or while it is suspended."""
    user = _locked_account(user_id, by)
    if not user.is_active:
        acts.unfreeze_user(user, by=by)


@transaction.atomic
def unsuspend(user_id: int, *, by: User) -> None:
    """Lift a suspension. Raises NotFound, or NotAllowed without the permission or if the owner deleted the account."""
    user = _locked_account(user_id, by)
    if user.is_suspended:
        acts.restore_user(user, by=by, reason="")


def _locked_account(user_id: int, by: User) -> User:
    require_other(by, user_id)
    User.objects.select_for_update(no_key=True).filter(pk=user_id).first()
    return account_by_id(user_id)


@transaction.atomic
def assign(report_id: int, *, by: User, to: User | None) -> None:
    """Assign a report to staff, or to nobody. Raises NotFound, or NotAllowed without permission to change reports."""
    acts.assign_report(_locked_report(report_id, by), by=by, to=to)


@transaction.atomic
def resolve(report_id: int, *, by: User) -> None:
    """Close a report without a measure. Raises NotFound, or NotAllowed without permission to change reports."""
    report = _locked_report(report_id, by)
    if report.resolved_at is None:
        acts.resolve_report(report, by=by, outcome="")


@transaction.atomic
def reopen(report_id: int, *, by: User) -> None:
    report = _locked_report(report_id, by)
    if report.resolved_at is not None:
        acts.reopen_report(report, by=by)


@transaction.atomic
def classify(
    report_id: int, *, by: User, category: str | None = None, rule_ids: Sequence[int] | None = None
) -> None:
    """Correct the category of a report and the rules that it names; None leaves a value unchanged."""
    report = _locked_report(report_id, by)
    report.category = report.category if category is None else category
    report.rule_ids = report.rule_ids if rule_ids is None else sorted(set(rule_ids))
    report.save(update_fields=["category", "rule_ids"])
    rules = ", ".join(map(str, report.rule_ids)) or "none"
    log_action(by, report, f"Category: {report.category}; rules: {rules}.")


def _locked_report(report_id: int, by: User) -> Report:
    """A report that `by` may change, locked. Raises NotAllowed or NotFound."""
    require_permission(by, CHANGE_REPORTS)
    Report.objects.select_for_update(of=("self",)).filter(pk=report_id).first()
    return report_by_id(report_id, by)
