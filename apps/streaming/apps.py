"""The streaming app."""

from importlib import import_module

from django.apps import AppConfig


class StreamingConfig(AppConfig):
    name = "apps.streaming"

    def ready(self) -> None:
        import_module("apps.streaming.handlers")
