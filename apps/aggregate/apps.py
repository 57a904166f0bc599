"""The aggregate feed: what followees liked, reposted and followed. Optional; it has no tables of its own."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AggregateConfig(AppConfig):
    name = "apps.aggregate"
    verbose_name = _("aggregate feed")

    def ready(self) -> None:
        """Models are loaded by now."""
        from apps.aggregate import api, pages  # noqa: PLC0415 -- needs the models
        from apps.api.hooks import ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import PAGES, TABS  # noqa: PLC0415 -- needs the models

        PAGES.add(*pages.PAGES)
        TABS.add(pages.tabs)
        ENDPOINTS.add(*api.ENDPOINTS)
