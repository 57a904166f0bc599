"""The events app."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """News from lower apps to higher ones."""

    name = "apps.events"
