"""The app of strikes and appeals, and of the queue of reports. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class StrikesConfig(AppConfig):
    name = "apps.strikes"
    verbose_name = _("strikes and appeals")

    def ready(self) -> None:
        """Record acts of staff, copy reported posts, and add pages, a file in archives, and an erasure step."""
        from apps.api.hooks import NOTIFICATION_FIELDS  # noqa: PLC0415 -- needs the models
        from apps.moderation.hooks import ACTED, FILED, WAITING  # noqa: PLC0415 -- needs the models
        from apps.notifications.hooks import ABOUT  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ARCHIVE, ERASURE  # noqa: PLC0415 -- needs the models
        from apps.strikes import privacy  # noqa: PLC0415 -- needs the models
        from apps.strikes.actions import keep_evidence, record  # noqa: PLC0415 -- needs the models
        from apps.strikes.queries import (  # noqa: PLC0415 -- needs the models
            address_of_closed,
            appeals_that_wait,
            what_notifications_are_about,
        )
        from apps.web.hooks import CLOSED, PAGES, SETTINGS, SettingsTab  # noqa: PLC0415 -- needs the models

        ACTED.add(record)
        FILED.add(keep_evidence)
        WAITING.add(appeals_that_wait)
        ABOUT.add(what_notifications_are_about)
        NOTIFICATION_FIELDS.add("apps.strikes.entities.WARNING")
        CLOSED.add(address_of_closed)
        PAGES.add("apps.strikes.pages")
        SETTINGS.add(
            SettingsTab(
                "strikes",
                _("Decisions of the moderators"),
                after="account",
                icon="triangle-alert",
                about=_("Decisions about you, and appeals"),
            )
        )
        ARCHIVE.add(privacy.ARCHIVE)
        ERASURE.add(privacy.strikes)
