"""The app that counts a site's weekly activity. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SiteActivityConfig(AppConfig):
    name = "apps.site_activity"
    verbose_name = _("weekly statistics")

    def ready(self) -> None:
        """Count logins, and add Mastodon's endpoint."""
        from django.contrib.auth.signals import user_logged_in  # noqa: PLC0415 -- only used here

        from apps.api.hooks import MASTODON_ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.site_activity.actions import count_login  # noqa: PLC0415 -- needs the models

        MASTODON_ENDPOINTS.add("apps.site_activity.api")
        user_logged_in.connect(count_login)
