"""The console of the cache servers. Optional; it has no tables of its own."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ConsoleConfig(AppConfig):
    name = "apps.console"
    verbose_name = _("cache console")

    def ready(self) -> None:
        """Add an endpoint. The pages are in the admin."""
        from apps.api.hooks import ENDPOINTS  # noqa: PLC0415 -- needs the models

        ENDPOINTS.add("apps.console.api")
