"""The lists app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ListsConfig(AppConfig):
    """Lists of people to read."""

    name = "apps.lists"
    verbose_name = _("lists")

    def ready(self) -> None:
        """Subscribe the app's handlers."""
        import_module("apps.lists.handlers")
