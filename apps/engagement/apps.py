"""The engagement app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EngagementConfig(AppConfig):
    name = "apps.engagement"
    verbose_name = _("engagement")

    def ready(self) -> None:
        """Register the system check for marks."""
        import_module("apps.engagement.checks")
