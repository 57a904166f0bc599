"""The aggregate feed. Optional; it has no tables of its own."""

from django.apps import AppConfig
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


class AggregateConfig(AppConfig):
    name = "apps.aggregate"
    verbose_name = _("aggregate feed")

    def ready(self) -> None:
        """Add a page with a tab, and an endpoint."""
        from apps.api.hooks import ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import PAGES, TABS, Tab  # noqa: PLC0415 -- needs the models

        PAGES.add("apps.aggregate.pages")
        ENDPOINTS.add("apps.aggregate.api")
        TABS.add(Tab(40, "aggregate", reverse_lazy("aggregate"), _("Activity")))
