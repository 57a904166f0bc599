"""The streaming app."""

from importlib import import_module

from django.apps import AppConfig


class StreamingConfig(AppConfig):
    """Subscribes the app's handlers when Django starts."""

    name = "apps.streaming"

    def ready(self) -> None:
        """Subscribe to the events of lower apps."""
        import_module("apps.streaming.handlers")
