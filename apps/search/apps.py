"""The search app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SearchConfig(AppConfig):
    """Search, trends, suggestions."""

    name = "apps.search"
    verbose_name = _("search")

    def ready(self) -> None:
        """Subscribe the app's handlers."""
        import_module("apps.search.handlers")
