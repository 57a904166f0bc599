"""The timeline app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TimelineConfig(AppConfig):
    name = "apps.timeline"
    verbose_name = _("timeline")

    def ready(self) -> None:
        import_module("apps.timeline.handlers")
