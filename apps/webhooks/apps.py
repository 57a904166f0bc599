"""The app of webhooks. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WebhooksConfig(AppConfig):
    name = "apps.webhooks"
    verbose_name = _("webhooks")

    def ready(self) -> None:
        """Register a notification hook, API endpoints, pages, a settings tab, an archive file and an erasure step."""
        from apps.api.hooks import ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.notifications.hooks import CREATED  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ARCHIVE, ERASURE  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import PAGES, SETTINGS, SettingsTab  # noqa: PLC0415 -- needs the models
        from apps.webhooks import privacy  # noqa: PLC0415 -- needs the models
        from apps.webhooks.sending import queue_notifications  # noqa: PLC0415 -- needs the models

        CREATED.add(queue_notifications)
        ENDPOINTS.add("apps.webhooks.api")
        PAGES.add("apps.webhooks.pages")
        SETTINGS.add(
            SettingsTab(
                "webhooks",
                _("Webhooks"),
                after="applications",
                icon="share-2",
                about=_("Messages to your own programs about notifications and your posts"),
            )
        )
        ARCHIVE.add(privacy.ARCHIVE)
        ERASURE.add(privacy.webhooks)
