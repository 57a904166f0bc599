"""The syndication app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SyndicationConfig(AppConfig):
    name = "apps.syndication"
    verbose_name = _("syndication")

    def ready(self) -> None:
        import_module("apps.syndication.handlers")
