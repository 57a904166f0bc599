"""The demo app."""

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """A populated site to look at."""

    name = "apps.demo"
