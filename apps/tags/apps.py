"""The tags app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TagsConfig(AppConfig):
    """Hashtags."""

    name = "apps.tags"
    verbose_name = _("tags")

    def ready(self) -> None:
        """Subscribe the app's handlers."""
        import_module("apps.tags.handlers")
