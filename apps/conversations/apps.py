"""The conversations app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ConversationsConfig(AppConfig):
    """Threads among mentioned people."""

    name = "apps.conversations"
    verbose_name = _("conversations")

    def ready(self) -> None:
        """Subscribe the app's handlers."""
        import_module("apps.conversations.handlers")
