"""The events app."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class EventsConfig(AppConfig):
    name = "apps.events"

    def ready(self) -> None:
        """Import the `handlers` modules of all apps, which subscribe to events and signals."""
        autodiscover_modules("handlers")
