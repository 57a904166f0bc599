"""The API."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The API."""

    name = "apps.api"
