"""The routes of Mastodon's API for staff, below /api/v1/."""

from django.urls import URLPattern, path

from apps.admin_api import accounts, blocks, reports, trends

_ACCOUNT, _REPORT = "admin/accounts/<int:account_id>", "admin/reports/<int:report_id>"

urlpatterns: list[URLPattern] = [
    path("admin/accounts", accounts.accounts),
    path(_ACCOUNT, accounts.account),
    path(f"{_ACCOUNT}/action", accounts.action),
    *[
        path(f"{_ACCOUNT}/{name}", getattr(accounts, name))
        for name in ("enable", "unsuspend", "unsilence", "unsensitive", "approve", "reject")
    ],
    path("admin/reports", reports.reports),
    path(_REPORT, reports.report),
    *[
        path(f"{_REPORT}/{name}", getattr(reports, name))
        for name in ("assign_to_self", "unassign", "resolve", "reopen")
    ],
    path("admin/trends/tags", trends.tags),
    path("admin/trends/statuses", trends.statuses),
    path("admin/trends/links", trends.links),
    path("admin/trends/links/publishers", trends.publishers),
    *[
        path(
            f"admin/trends/{kind}/<str:trend_id>/{act}", trends.review(kind.replace("/", "_"), act)
        )
        for kind in ("tags", "statuses", "links", "links/publishers")
        for act in ("approve", "reject")
    ],
    path("admin/canonical_email_blocks/test", blocks.matching),
    *[path(f"admin/{kind.name}", blocks.collection(kind)) for kind in blocks.KINDS],
    *[path(f"admin/{kind.name}/<int:block_id>", blocks.one(kind)) for kind in blocks.KINDS],
]
