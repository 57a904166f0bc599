"""The pages of the site."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """The pages of the site."""

    name = "apps.web"
