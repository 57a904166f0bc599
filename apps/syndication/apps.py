"""The syndication app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SyndicationConfig(AppConfig):
    """Feeds, pictures of posts, sitemaps."""

    name = "apps.syndication"
    verbose_name = _("syndication")

    def ready(self) -> None:
        """Subscribe the app's handlers."""
        import_module("apps.syndication.handlers")
