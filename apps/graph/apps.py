"""The graph app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class GraphConfig(AppConfig):
    """Follows, blocks, mutes."""

    name = "apps.graph"
    verbose_name = _("graph")

    def ready(self) -> None:
        """Subscribe the app's handlers."""
        import_module("apps.graph.handlers")
