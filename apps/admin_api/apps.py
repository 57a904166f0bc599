"""The app for the staff API. Optional; it has no tables."""

from django.apps import AppConfig, apps
from django.utils.translation import gettext_lazy as _

TEXTS = {  # for the scopes that have an effect; the others concern other sites, but this site does not federate
    "admin:read": _("As staff, see accounts (with their e-mail addresses), reports and blocks"),
    "admin:read:accounts": _("As staff, see accounts with their e-mail addresses"),
    "admin:read:reports": _("As staff, see reports"),
    "admin:read:email_domain_blocks": _("As staff, see blocked mail domains"),
    "admin:read:canonical_email_blocks": _("As staff, see blocked e-mail addresses"),
    "admin:read:ip_blocks": _("As staff, see blocked IP address ranges"),
    "admin:write": _("As staff, act on accounts and reports, and block sign-ups"),
    "admin:write:accounts": _("As staff, take action on accounts"),
    "admin:write:reports": _("As staff, assign and resolve reports"),
    "admin:write:email_domain_blocks": _("As staff, block mail domains"),
    "admin:write:canonical_email_blocks": _("As staff, block e-mail addresses"),
    "admin:write:ip_blocks": _("As staff, block IP address ranges"),
}
SUBJECTS = ("accounts", "reports", "domain_allows", "domain_blocks", "ip_blocks", "email_domain_blocks",
        "canonical_email_blocks")  # fmt: skip


class AdminApiConfig(AppConfig):
    name = "apps.admin_api"
    verbose_name = _("API for staff")

    def ready(self) -> None:
        """Add Mastodon's endpoints for staff, and the scopes that they need."""
        from apps import scopes  # noqa: PLC0415 -- together with the other imports
        from apps.api.hooks import MASTODON_ENDPOINTS, MASTODON_V2_ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.oauth.provider import DESCRIPTIONS  # noqa: PLC0415 -- needs the models

        for module in ("accounts", "reports", "trends", "blocks"):
            MASTODON_ENDPOINTS.add(f"apps.admin_api.{module}")
        if apps.is_installed("apps.sign_ups"):
            MASTODON_ENDPOINTS.add("apps.admin_api.sign_up_blocks")
        MASTODON_V2_ENDPOINTS.add("apps.admin_api.accounts_v2")
        for access in ("admin:read", "admin:write"):
            scopes.COVERED[access] = frozenset(f"{access}:{name}" for name in SUBJECTS)
            added = {access, *scopes.COVERED[access]}
            for names in (scopes.NAMES, scopes.OFFERED, scopes.STAFF):
                names.update(added)
        DESCRIPTIONS.update(TEXTS)
