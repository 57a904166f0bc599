"""The notifications app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    """Subscribes the app's handlers when Django starts."""

    name = "apps.notifications"
    verbose_name = _("notifications")

    def ready(self) -> None:
        """Subscribe to the events of lower apps."""
        import_module("apps.notifications.handlers")
