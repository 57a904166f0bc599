"""The app for rule-based feeds. Optional."""

from django.apps import AppConfig, apps
from django.utils.translation import gettext_lazy as _


class FeedsConfig(AppConfig):
    name = "apps.feeds"
    verbose_name = _("feeds")

    def ready(self) -> None:
        """Add pages with tabs, endpoints, a file in archives, and an erasure step."""
        from apps.api.hooks import ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.feeds import privacy, tabs  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ARCHIVE, ERASURE  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import OWN_TABS, PAGES, TABS  # noqa: PLC0415 -- needs the models

        if apps.is_installed("apps.syndication"):
            # first, because a slug may contain a dot: the URL pattern of a feed's page would match these addresses too
            PAGES.add("apps.feeds.syndication")
        PAGES.add("apps.feeds.pages")
        ENDPOINTS.add("apps.feeds.api")
        TABS.add(tabs.ALL)
        OWN_TABS.add(tabs.pinned)
        ARCHIVE.add(privacy.ARCHIVE)
        ERASURE.add(privacy.feeds)
