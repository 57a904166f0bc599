"""The demo app."""

from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "apps.demo"
