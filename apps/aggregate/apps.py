"""The aggregate feed. Optional; it has no tables of its own."""

from collections.abc import Iterable

from django.apps import AppConfig
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy


class AggregateConfig(AppConfig):
    name = "apps.aggregate"
    verbose_name = gettext_lazy("aggregate feed")

    def ready(self) -> None:
        """Adds a page with a tab, and an endpoint."""
        from apps.api.hooks import ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import PAGES, TABS, Tab  # noqa: PLC0415 -- needs the models

        def tabs(_viewer: object) -> Iterable[Tab]:
            yield Tab(40, "aggregate", reverse("aggregate"), _("Activity"))

        PAGES.add("apps.aggregate.pages")
        ENDPOINTS.add("apps.aggregate.api")
        TABS.add(tabs)
