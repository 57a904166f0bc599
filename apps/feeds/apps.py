"""The feeds app. Optional: it adds pages, endpoints, a tab, a part of archives and a step of erasures."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FeedsConfig(AppConfig):
    name = "apps.feeds"
    verbose_name = _("feeds")

    def ready(self) -> None:
        """Models are loaded by now."""
        from apps.api.hooks import ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.feeds import api, pages, privacy  # noqa: PLC0415 -- needs the models
        from apps.privacy import archive, erasure  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import PAGES, TABS  # noqa: PLC0415 -- needs the models

        PAGES.add(*pages.PAGES)
        TABS.add(pages.tabs)
        ENDPOINTS.add(*api.ENDPOINTS)
        archive.PARTS.add(privacy.ARCHIVE)
        erasure.STEPS.add(privacy.feeds)
