"""Accounts, reports, trends and blocks as JSON, in the shapes of Mastodon's API for staff."""

from collections.abc import Collection
from typing import Annotated, Literal, TypedDict

from apps.accounts.models import User
from apps.admin_api.queries import MEMBER, OWNER, STAFF
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import DateTime, optional_timestamp, timestamp
from apps.api.entities.search import TagDayJson, TagJson, tag_json
from apps.api.entities.status import PreviewCardJson, StatusJson, status_json
from apps.moderation.house_rules import RuleJson, rules_json
from apps.moderation.models import Category, Report
from apps.tags.queries import TagUsage
from apps.timeline.pipeline.items import FeedItem


class StaffRoleJson(TypedDict):
    """The role of an account: 0 for members, 2 for staff, 1 for staff with all rights."""

    id: Annotated[str, [MEMBER, OWNER, STAFF]]
    name: str
    color: str
    permissions: Annotated[
        str, "1 (all) or 0: the other rights of this site's staff have no counterpart in Mastodon."
    ]
    highlighted: bool


class AdminIpJson(TypedDict):
    """Only for the schema: the site does not store its members' IP addresses."""

    ip: str
    used_at: DateTime


class AdminAccountJson(TypedDict):
    """An account as staff see it."""

    id: str
    username: str
    domain: Annotated[str | None, "Always null: there are no other sites."]
    created_at: DateTime
    email: Annotated[str, "Empty if there is none."]
    ip: Annotated[str | None, "Always null: the site does not keep addresses."]
    ips: Annotated[list[AdminIpJson], "Always empty."]
    locale: Annotated[str | None, "Null if it follows the browser."]
    invite_request: Annotated[str | None, "Always null: nobody has to apply."]
    role: StaffRoleJson
    confirmed: Annotated[bool, "Whether the address was confirmed."]
    approved: Annotated[bool, "Always true."]
    disabled: Annotated[bool, "Frozen, and not suspended."]
    silenced: Annotated[bool, "Limited: its posts reach followers only."]
    suspended: Annotated[bool, "By staff, or deleted by its owner."]
    sensitized: Annotated[bool, "Always false: posts are marked as sensitive, not accounts."]
    account: AccountJson


def admin_account_json(user: User) -> AdminAccountJson:
    """The JSON of an account, whose `counts` must be loaded."""
    return {
        "id": str(user.pk),
        "username": user.handle,
        "domain": None,
        "created_at": timestamp(user.created_at),
        "email": user.email or user.pending_email,
        "ip": None,
        "ips": [],
        "locale": user.interface_language or None,
        "invite_request": None,
        "role": _role_json(user),
        "confirmed": bool(user.email),
        "approved": True,
        "disabled": not user.is_active and not user.is_suspended,
        "silenced": user.limited_at is not None,
        "suspended": user.is_suspended,
        "sensitized": False,
        "account": account_json(user),
    }


def _role_json(user: User) -> StaffRoleJson:
    number, name = MEMBER, ""
    if user.is_superuser:
        number, name = OWNER, "Owner"
    elif user.is_staff:
        number, name = STAFF, "Staff"
    return {
        "id": number,
        "name": name,
        "color": "",
        "permissions": "1" if user.is_superuser else "0",
        "highlighted": False,
    }


class AdminReportJson(TypedDict):
    """A report as staff see it."""

    id: str
    action_taken: bool
    action_taken_at: DateTime | None
    category: Annotated[str, Category]
    comment: str
    forwarded: Annotated[bool, "Always false: there are no other sites."]
    created_at: DateTime
    updated_at: Annotated[DateTime, "When it was resolved, else when it was filed."]
    account: Annotated[AdminAccountJson, "The account that filed it."]
    target_account: AdminAccountJson
    assigned_account: AdminAccountJson | None
    action_taken_by_account: AdminAccountJson | None
    statuses: Annotated[
        list[StatusJson],
        "Hidden posts too. Restricted posts only in a single report, with the permission to read them; that is logged.",
    ]
    rules: list[RuleJson]


def admin_report_json(report: Report, items: Collection[FeedItem]) -> AdminReportJson:
    assignee, resolver = report.assignee, report.resolved_by
    numbers = {str(number) for number in report.rule_ids}
    return {
        "id": str(report.pk),
        "action_taken": report.resolved_at is not None,
        "action_taken_at": optional_timestamp(report.resolved_at),
        "category": report.category,
        "comment": report.comment,
        "forwarded": False,
        "created_at": timestamp(report.created_at),
        "updated_at": timestamp(report.resolved_at or report.created_at),
        "account": admin_account_json(report.reporter),
        "target_account": admin_account_json(report.target),
        "assigned_account": admin_account_json(assignee) if assignee else None,
        "action_taken_by_account": admin_account_json(resolver) if resolver else None,
        "statuses": [status_json(item) for item in items],
        "rules": [rule for rule in rules_json() if rule["id"] in numbers],
    }


class AdminTagJson(TagJson):
    """A trending tag. Nobody has to review it."""

    listable: bool
    trendable: bool
    usable: bool
    requires_review: bool


def admin_tag_json(usage: TagUsage) -> AdminTagJson:
    return {
        **tag_json(usage),
        "listable": True,
        "trendable": True,
        "usable": True,
        "requires_review": False,
    }


class AdminTrendingStatusJson(StatusJson):
    """A trending status. Nobody has to review it."""

    requires_review: bool


def admin_trending_status_json(item: FeedItem) -> AdminTrendingStatusJson:
    return {**status_json(item), "requires_review": False}


class AdminTrendsLinkJson(PreviewCardJson):
    """A trending link. Nobody has to review it."""

    id: str
    history: list[TagDayJson]
    requires_review: bool


class AdminTrendsLinkPublisherJson(TypedDict):
    """Only for the schema: the sites that links lead to are not reviewed."""

    id: str
    domain: str
    requires_review: bool


# The following entities exist only for the schema: the site has no such blocks, and their lists are always empty.


class AdminDomainAllowJson(TypedDict):
    """A site with which this one may exchange posts."""

    id: str
    domain: str
    created_at: DateTime


class AdminDomainBlockJson(TypedDict):
    """A site whose posts this one refuses or limits."""

    id: str
    domain: str
    digest: str
    created_at: DateTime
    severity: Literal["silence", "suspend", "noop"]
    reject_media: bool
    reject_reports: bool
    private_comment: str | None
    public_comment: str | None
    obfuscate: bool
