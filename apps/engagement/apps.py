"""The engagement app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EngagementConfig(AppConfig):
    """Likes and bookmarks; subscribes the app's handlers when Django starts."""

    name = "apps.engagement"
    verbose_name = _("engagement")

    def ready(self) -> None:
        """Subscribe to events."""
        import_module("apps.engagement.handlers")
