"""The app of the API for staff. Optional; it has no tables."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

SUBJECTS = ("accounts", "reports", "domain_allows", "domain_blocks", "ip_blocks", "email_domain_blocks",
        "canonical_email_blocks")  # fmt: skip


class AdminApiConfig(AppConfig):
    name = "apps.admin_api"
    verbose_name = _("API for staff")

    def ready(self) -> None:
        """Add Mastodon's endpoints for staff, and the scopes that they need."""
        from apps import scopes  # noqa: PLC0415 -- with the rest
        from apps.api.hooks import MASTODON_ENDPOINTS, MASTODON_V2_ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.oauth.provider import DESCRIPTIONS  # noqa: PLC0415 -- needs the models

        for module in ("accounts", "reports", "trends", "blocks"):
            MASTODON_ENDPOINTS.add(f"apps.admin_api.{module}")
        MASTODON_V2_ENDPOINTS.add("apps.admin_api.accounts_v2")
        for access in ("admin:read", "admin:write"):
            scopes.COVERED[access] = frozenset(f"{access}:{name}" for name in SUBJECTS)
            added = {access, *scopes.COVERED[access]}
            for names in (scopes.NAMES, scopes.OFFERED, scopes.STAFF):
                names.update(added)
        DESCRIPTIONS["admin:read"] = _(
            "Read what staff may read: accounts with e-mail addresses, reports"
        )
        DESCRIPTIONS["admin:write"] = _("Act as staff: decide about accounts and reports")
