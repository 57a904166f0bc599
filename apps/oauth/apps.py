"""The oauth app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OauthConfig(AppConfig):
    name = "apps.oauth"
    verbose_name = _("applications")

    def ready(self) -> None:
        import_module("apps.oauth.handlers")
